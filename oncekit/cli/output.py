"""What functions print, made readable: on AWS it is in their log groups, here it goes to standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

MOST_LINES = 40
"""Of one function, the newest."""
_NEWS = ("attempt begins", "business logic succeeded")
"""What the library logs of every attempt: the path and the result of its execution say it, too."""


def lines_of(function: str, line: str) -> Iterator[str]:
    """A line that a function printed, as lines for people; metrics and the library's own news are left out.

    A line of Powertools' logger becomes its level, its message and its traceback; any other stays as it is.
    """
    told = _fields(line)
    if "_aws" in told:  # metrics
        return
    if "level" in told and "message" in told:
        if told["level"] == "INFO" and told["message"] in _NEWS:
            return
        line = "\n".join(str(part) for part in (f"{told['level']} {told['message']}", told.get("exception")) if part)
    # The runtime client puts a traceback on one line, for CloudWatch.
    for each in line.replace("\r", "\n").splitlines():
        yield f"{function} | {each}"


def printed(cloud: LocalCloud) -> Iterator[str]:
    """What the functions that were started printed and logged, the newest last."""
    for operation in sorted({each.operation for each in cloud.invocations()}):
        lines = [new for line in cloud.logs(operation) for new in lines_of(operation, line)]
        if (left_out := len(lines) - MOST_LINES) > 0:
            yield f"{operation} | … {left_out:,} earlier lines"
        yield from lines[-MOST_LINES:]


def _fields(line: str) -> dict[str, object]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
