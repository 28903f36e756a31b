"""The local console, and what it shows: one model of a run for the page, the export, `once graph` and `once history`.

    visible.py    characters that can be seen
    requests.py   what a request says of itself
    run.py        a run, made of the events of GetExecutionHistory
    events.py     how these events name what they say
    machine.py    the states of a definition, and the ways between them
    drawing/      the picture of a state machine, with the path of a run
    picture.py    the picture of a run

Importing this package imports nothing else: each command pays for what it uses.
"""
