"""What functions print, made readable: on AWS it is in their log groups, here it goes to standard error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

MOST_LINES = 40
"""Of one function whose attempts failed."""
_QUIET = ("DEBUG", "INFO")


def lines_of(function: str, line: str, *, only_trouble: bool = False) -> Iterator[str]:
    """A line that a function printed, as lines for people; metrics are left out, and with `only_trouble` plain news.

    A line of Powertools' logger becomes its level, its message and its traceback; any other stays as it is.
    """
    told = _fields(line)
    if "_aws" in told:  # metrics
        return
    if "level" in told and "message" in told:
        if only_trouble and told["level"] in _QUIET:
            return
        line = "\n".join(str(part) for part in (f"{told['level']} {told['message']}", told.get("exception")) if part)
    # The runtime client puts a traceback on one line, for CloudWatch.
    for each in line.replace("\r", "\n").splitlines():
        yield f"{function} | {each}"


def trouble(cloud: LocalCloud) -> Iterator[str]:
    """What the functions printed whose attempts failed, the newest last."""
    failed = {each.operation for each in cloud.invocations() if each.outcome not in ("succeeded", "running")}
    for operation in sorted(failed):
        shown = [new for line in cloud.logs(operation) for new in lines_of(operation, line, only_trouble=True)]
        yield from shown[-MOST_LINES:]


def _fields(line: str) -> dict[str, object]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
