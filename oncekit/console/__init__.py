"""The local console, and what it shows: one model of a run for the page and `once show`.

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
    rows.py       what is listed: executions, calls, what waits; actions.py: what can be done from the page
    local_source.py   what the pages read of the local cloud; local_log.py: what functions printed there
    kept_result.py    a result that a record refers to
    listing.py    which requests are listed, and in which order
    pages/        templates, style and script
    server/       addresses, guard, live events

Importing this package imports nothing else: each command pays for what it uses.
"""
