"""Mutants: definitions and templates with one thing changed that a promise needs, and who must notice it.

changes.py says which there are, judges.py who judges them: the crash matrix, scenarios, tests of permissions.
"""
