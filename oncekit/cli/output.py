"""What functions print, made readable: on AWS it is in their log groups, here it goes to standard error."""

from __future__ import annotations

import json
import re
from typing import Any

_OF_NODE = re.compile(
    r"[^\t]+\t[^\t]+\tERROR\t(?:Invoke Error|Uncaught Exception|Unhandled Promise Rejection) \t(\{.*\})"
)
"""An error as the runtime client of Node.js logs it."""
_NOT_THEIRS = ("node:internal", "/lambda_runtime/", "(<anonymous>)")


def lines_of(line: str) -> list[str]:
    """A line that a function printed, as lines for people; metrics are left out.

    A line of Powertools' logger, and the library's about an attempt that failed, becomes its level, its message and its
    traceback, and so does an error in Node.js; any other stays as it is.
    """
    if of_node := _OF_NODE.fullmatch(line):
        error = _fields(of_node[1])
        stack = [str(each) for each in error["stack"]] if isinstance(error.get("stack"), list) else []
        frames = [each for each in stack if each.startswith("    at ") and not any(i in each for i in _NOT_THEIRS)]
        cause = f" (cause: {error['cause']})" if isinstance(error.get("cause"), str) else ""
        line = "\n".join([f"[ERROR] {error.get('errorType')}: {error.get('errorMessage')}{cause}", *frames])
    told = _fields(line)
    if "_aws" in told and "message" not in told:  # metrics, and the library's line about an attempt that succeeded
        return []
    if "level" in told and "message" in told:
        line = "\n".join(str(part) for part in (f"{told['level']} {told['message']}", told.get("exception")) if part)
    # The runtime client puts a traceback on one line, for CloudWatch, and tabs between level, time and message.
    return [each.expandtabs() for each in line.replace("\r", "\n").splitlines()]


def is_of_lambda(line: str) -> bool:
    """Whether Lambda's runtime client says what an error that nobody caught may come from: none of that is here."""
    return "LAMBDA_WARNING: Unhandled exception." in line


class Attempts:
    """Makes the lines of attempts readable, each traceback once: an attempt may fail as the one before did, and the
    runtime client logs an error that the library has logged.
    """

    def __init__(self) -> None:
        self._tracebacks: set[str] = set()
        self._error = ""

    def lines_of(self, line: str) -> list[str]:
        head, *traceback = lines_of(line) or [""]
        if not (text := "\n".join(traceback)).startswith(("Traceback", "    at ")):
            return [head, *traceback] if head else []
        if head.startswith("[ERROR] ") and self._error.endswith(head.removeprefix("[ERROR] ")):
            return []
        self._error = traceback[-1]
        if text in self._tracebacks:
            return [f"{head} (the same traceback as above)"]
        self._tracebacks.add(text)
        return [head, *traceback]


def _fields(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
