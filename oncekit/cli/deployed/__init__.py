"""Commands that work on a deployed stack, or on the local cloud that `once up` keeps up.

A command is a module of its name, with its options and what it prints. What they share:

    session.py, stack.py    how AWS or the local cloud is reached; which stack is meant
    on_stack.py             connects, prints, and gives the exit code; aws_errors.py says what AWS refuses
    records.py, listing.py  records of ids: read, written as they were shown, listed
    decisions.py            what an operator does to one record: retry, resolve, release
    executions.py           owners, and the path that one took; attempts.py finds what each attempt logged
    kept.py, rejected.py    where a stack keeps a request; refused ones: listed, started again, deleted
    facts.py, forget.py     all that is known of an id; all that is kept of it, removed
    ways.py                 ways to send a request
"""
