"""Runs first in a function's process: ties its life to its starter's, then hands over to the runtime client.

Standard input is a pipe whose other end only the starter holds. It ends when the starter does, however that dies, and
the function goes with it, and so does every process that it has started: they are one process group. (The parent-death
signal of Linux would not do: it comes at the end of the *thread* that started the process.)

Started as a file, without the package around it: nothing of `local` is imported into a function's process.
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
