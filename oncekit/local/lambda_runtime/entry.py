"""Runs first in a function's process: ties its life to its parent's, hides what it would not have on Lambda, and
starts the runtime client.

Standard input is a pipe whose other end only the parent holds. It is closed when the parent ends, for any reason. Then
the function ends, too, with every process that it has started: they are one process group. (The parent-death signal of
Linux does not work for this: it is sent at the end of the *thread* that started the process.)

This file is started as a script, without its package: nothing of `local` is imported into a function's process.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

LIBRARY, DISTRIBUTION = "once", "oncekit"


def has_library(code: Path, layers: Sequence[Path]) -> bool:
    """Whether a function has the library on Lambda: by a layer, a copy, or a requirement that its build installs."""
    return any((each / LIBRARY / "__init__.py").is_file() or _requires_it(each) for each in (code, *layers))


def _requires_it(folder: Path) -> bool:
    requirements = folder / "requirements.txt"
    return requirements.is_file() and DISTRIBUTION in requirements.read_text(errors="replace")


class NoLibrary:
    """Stands before what is installed on this machine, where a function without its layer would find the library."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == LIBRARY:
            raise ModuleNotFoundError(
                f"No module named '{LIBRARY}': the function has no layer with the library, such as Layers: "
                "[!Ref OnceLibrary]; it fails on AWS, too",
                name=name,
            )


def hide_the_library() -> None:
    """From a function that does not have it on Lambda, which says `No module named 'once'`, too."""
    code, *layers = (Path(each) for each in os.environ["PYTHONPATH"].split(os.pathsep))
    if not has_library(code, layers):
        sys.meta_path.insert(0, NoLibrary())


def end_with_the_starter() -> None:
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def run(prepare: Callable[[], None] = lambda: None) -> None:
    """Until the process ends. `prepare` is called when imports are those of the function."""
    end_with_the_starter()
    hide_the_library()
    prepare()
    from awslambdaric.__main__ import main

    main(sys.argv)


if __name__ == "__main__":
    run()
