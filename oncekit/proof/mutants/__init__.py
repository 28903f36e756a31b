"""Mutants: definitions and templates with one thing changed that a promise needs, and who must notice it.

changes.py says which there are, equivalent.py which of them nobody can notice, judges.py who judges the others: tests
of single states, the crash matrix, the model, scenarios, tests of permissions.
"""
