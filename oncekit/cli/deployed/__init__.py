"""Commands that work on a deployed stack, or on the local cloud that `once up` keeps up.

    ls.py               listing.py reads open operations, finished.py finished ones
    show.py             inspection.py, with owners.py: who had the lock; fast_owners.py: those that cannot be asked
    history.py          states.py
    logs.py             log_lines.py
    retry.py, resolve.py, release.py    interventions.py
    replay_rejected.py  rejected.py
    send.py             sending.py, waiting.py
    console.py          stack_source.py what its page shows, stack_log.py the logs that it reads

A command's module has its options, and says what it prints; the one beside it does the work. on_stack.py connects,
prints and gives the exit code; place.py and stack.py know where the stack is, surroundings.py what must not lead
elsewhere. records.py and attributes.py read and write records, originals.py and kept_request.py find the requests of
those, reading.py reads files that people give.
"""
