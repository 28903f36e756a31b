"""Mutants: definitions, template and library with one thing changed that a promise needs, and who must notice it.

changes.py    which there are of the definitions and of the template
judges.py     who judges them: the crash matrix, scenarios, tests of permissions
library.py    those of shared/once, by mutmut

"""
