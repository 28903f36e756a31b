"""Runs first in a function's process: makes sure that it ends with its parent, then starts the runtime client.

Standard input is a pipe whose other end only the parent holds. It is closed when the parent ends, for any reason. Then
the function ends, too, with every process that it has started: they are one process group. (The parent-death signal of
Linux does not work for this: it is sent at the end of the *thread* that started the process.)

This file is started as a script, without its package: nothing of `local` is imported into a function's process.
"""

import os
import signal
import sys
import threading


def end_with_the_starter() -> None:
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with_the_starter()
    from awslambdaric.__main__ import main

    main(sys.argv)
