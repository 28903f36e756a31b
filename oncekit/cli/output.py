"""What functions print, made readable: on AWS it is in their log groups, here it goes to standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

MOST_LINES = 40
"""Of one function, the newest."""
_OF_RUNTIME = "[ERROR] "
_AGAIN = "(the same traceback as above)"


def lines_of(function: str, line: str) -> Iterator[str]:
    """A line that a function printed, as lines for people; metrics are left out.

    A line of Powertools' logger, and the library's about an attempt that failed, becomes its level, its message and its
    traceback; any other stays as it is.
    """
    told = _fields(line)
    if "_aws" in told and "message" not in told:  # metrics, and the library's line about an attempt that succeeded
        return
    if "level" in told and "message" in told:
        line = "\n".join(str(part) for part in (f"{told['level']} {told['message']}", told.get("exception")) if part)
    # The runtime client puts a traceback on one line, for CloudWatch, and tabs between level, time and message.
    for each in line.replace("\r", "\n").splitlines():
        yield f"{function} | {each.expandtabs()}"


class Repeats:
    """Finds what was printed before: the runtime client logs an error that the library has logged, and each attempt may
    fail as the one before did.
    """

    def __init__(self) -> None:
        self._tracebacks: set[str] = set()
        self._last = ""

    def left_of(self, line: str) -> str | None:
        """The line; without a traceback that was shown; None for the runtime client's copy of the error before it."""
        told = _fields(line)
        traceback = told.get("exception")
        if isinstance(traceback, str):
            self._last = traceback.rstrip().rpartition("\n")[2]
            if self._is_shown(traceback):
                return json.dumps({**told, "message": f"{told.get('message', '')} {_AGAIN}", "exception": None})
        elif line.startswith(_OF_RUNTIME):
            if self._last.endswith(_error_in(line)):
                return None
            if self._is_shown(line):
                return f"{_OF_RUNTIME}{_error_in(line)} {_AGAIN}"
        return line

    def _is_shown(self, traceback: str) -> bool:
        """Whether it was; it is now."""
        shown = traceback in self._tracebacks
        self._tracebacks.add(traceback)
        return shown


def _error_in(line: str) -> str:
    """`ValueError: the message` out of `[ERROR] ValueError: the message`, which the traceback follows."""
    return line.removeprefix(_OF_RUNTIME).split("\r", 1)[0].split("\n", 1)[0]


def printed(cloud: LocalCloud) -> Iterator[str]:
    """What the functions that were started printed and logged, the newest last."""
    for operation in sorted({each.operation for each in cloud.invocations()}):
        repeats = Repeats()
        kept = (left for line in cloud.logs(operation) if (left := repeats.left_of(line)) is not None)
        lines = [new for line in kept for new in lines_of(operation, line)]
        if (left_out := len(lines) - MOST_LINES) > 0:
            yield f"{operation} | … {left_out:,} earlier lines"
        yield from lines[-MOST_LINES:]


def _fields(line: str) -> dict[str, object]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
