"""Mutants: the definitions and the template with one thing changed, by rule, and the tests that must see it.

definitions.py, template.py            which mutants there are of a document
expressions.py, conditions.py          of an expression: JSONata's, DynamoDB's
velocity.py                            of a mapping template of the HTTP API
tokens.py, change.py                   how an expression is taken apart
mutant.py                              a mutant, its name, and what it changes
suite.py, visits.py                    which tests judge it: those that visit what it changes
hunt.py, copies.py, worker.py          how it is judged, in a copy of the repository
excuses.py, results.py, __main__.py    what may survive, what became of all of them, the command

"""
