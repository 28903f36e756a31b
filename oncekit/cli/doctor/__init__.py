"""What `once doctor` looks at: the deployed stack, held against what template.yaml means it to be.

    stack.py        the stack's status, and whether everything is there
    table.py        time to live, recovery, index, protection and key of the table of locks
    bucket.py       access, encryption, lifecycle and policy of the bucket of answers
    machines.py     state, type, log, role, alias and timeouts of the state machines, of both lanes
    executions.py   executions that were throttled or ran out of time, in both lanes
    functions.py    state, alias, timeout, concurrency, layer and alarms of the functions
    lanes.py        which lane the triggers start, and the operations that never run in the fast one
    triggers.py     rules, pipe and schedule: on, and aimed at what they should start
    queues.py       messages that somebody must look at, and the request queue
    alarms.py       whether an alarm rings, and whether anybody would hear it
    operations.py   what waits for an operator or for recovery

Each module gives checks; each check gives one verdict (verdict.py). deployment.py asks AWS, examination.py runs all
of it and turns what AWS refuses into findings. policies.py and timeouts.py read what AWS gives as text. Nothing here
writes.
"""
