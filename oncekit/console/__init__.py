"""The local console, and what it shows: one model of a run for the page and `once show`.

    visible.py    characters that can be seen
    parts.py      what one execution did for its operation; starts.py: each start of business logic
    story.py      what happened, moment by moment: one text for the page, `once show`, `once run` and `once up`
    decided.py    what operators decided, and when
    moments.py    these moments, and what they come to: how long it took, what it waited for, and all in sentences
    run.py        a run, made of the events of GetExecutionHistory
    drawing/      a state machine as SVG
    picture.py    the path of a run in one, and how a run is shown
    json_text.py  JSON as people read it, and its members; words.py: times and durations
    actions.py    what can be done from the page
    listing.py    operations as they are listed: one for each id; asked.py: which of them
    beside.py     payloads under one key, side by side
    pages/        templates, style and script

Five of them know the local cloud, and nothing else here does:

    here.py           its runs
    written.py        what functions wrote to tables of their own; logs.py: what they printed
    local_source.py   what the pages read of it
    server/           what serves them

Importing this package imports nothing else: each command pays for what it uses.
"""
