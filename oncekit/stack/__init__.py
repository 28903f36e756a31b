"""What operators do with a stack, on AWS or on the local cloud. It returns what it finds, and prints nothing.

session.py, stack.py      how AWS or the local cloud is reached; which stack is meant
aws_errors.py             what AWS refuses, as problems
records.py, listing.py    records of ids: read, written as they were shown, listed
decisions.py              what an operator does to one record: retry, resolve, release
executions.py             owners, and the path that one took; attempts.py finds what each attempt logged
kept.py, rejected.py      where a stack keeps a request; refused ones: listed, started again, deleted
facts.py, forget.py       all that is known of an id; all that is kept of it, removed
ways.py                   ways to send a request
health/                   what is wrong with a stack
"""
