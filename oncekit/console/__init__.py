"""The local console, and what it shows: one model of a run for the page, the export, `once graph` and `once history`.

    visible.py    characters that can be seen
    requests.py   what a request says of itself
    run.py        a run, made of the events of GetExecutionHistory
    events.py     how these events name what they say
    machine.py    the states of a definition, and the ways between them
    drawing/      the picture of a state machine, with the path of a run
    picture.py    the picture of a run
    here.py       runs of the local cloud
    run_view.py   what a page says of a run; record_view.py: of a record
    json_text.py  JSON as people read it, and its members; words.py: times and durations
    export.py     a run as one file
    source.py     what the console needs of a place where operations run, and of who changes something there
    changes.py    a count of changes; kept_result.py: a result that a record refers to
    local_source.py   the local cloud as such a place, local_log.py: what functions printed there
                  (a stack as such a place is oncekit/cli/deployed/stack_source.py, with stack_log.py)
    tour.py       a story that the pages tell step by step
    listing.py    which requests are listed, and in which order
    pages/        templates, style and script
    server/       addresses, guard, live events

Importing this package imports nothing else: each command pays for what it uses.
"""
