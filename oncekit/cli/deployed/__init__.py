"""Commands that work on a deployed stack, or on the local cloud that `once up` keeps up.

A command is a module of its name, with its options and what it prints.

    stack.py, place.py    where the stack is; nested_stacks.py finds it inside another, local_environment.py keeps
                          away from the local cloud what is set for real accounts
    on_stack.py           connects, prints, and gives the exit code
    decisions.py          what an operator does to one record: retry, resolve, release
    records/              records of ids: read, written as they were shown, listed
    executions/           owners, the path that one took, and what each attempt logged
    requests/             files, ways to send one, how it ended, and where a stack keeps it
    rejected/             refused requests: listed, started again, deleted
    sam_local.py          what `once env` prints for `sam local invoke`
"""
