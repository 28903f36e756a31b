"""Commands that work here, on a local cloud of their own.

    run.py     runs requests, and counts what happened
    demo.py    story.py has the chapters, telling.py shows them; without_once/ is the other side of it
    up.py      ends.py says how executions end, files.py follows the files, kept_logs.py keeps what functions print

opening.py opens the local cloud; report.py shows executions.
"""
