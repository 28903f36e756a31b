"""Results and messages that may outgrow 256 KiB, the limit of every input, output, variable and message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State, of_each_machine
from oncekit.gate.reasons import BOUNDED_RESULTS, Excused

DEFINITION_LIMIT_BYTES = 1024 * 1024
TOO_LARGE = "States.DataLimitExceeded"
_PAGES = {
    "aws-sdk:sfn:getExecutionHistory": ("MaxResults", 200),
    "aws-sdk:sfn:listExecutions": ("MaxResults", 200),
    "aws-sdk:dynamodb:query": ("Limit", 100),
    "aws-sdk:dynamodb:scan": ("Limit", 100),
}
"""How many entries of about 1 KB a page may hold."""


@of_each_machine
def check(machine: Machine) -> Iterator[Finding]:
    size = len(json.dumps(machine.definition).encode())
    if size > DEFINITION_LIMIT_BYTES:
        yield machine.finding(None, f"the definition has {size} bytes, and AWS takes {DEFINITION_LIMIT_BYTES}; cut it")
    excused = Excused(BOUNDED_RESULTS, machine.name)
    for state in machine.tasks():
        if (problem := _result(state)) and not excused(state.name):
            yield machine.finding(state, problem)
        if problem := _page(state) or _message(state) or _whole(state):
            yield machine.finding(state, problem)
    for state in machine.states:
        if state.type == "Map" and not _catches_too_large(state) and not excused(state.name):
            yield machine.finding(
                state,
                f"its branches' outputs may have more than 256 KiB together, and nothing catches the {TOO_LARGE} "
                "that follows; catch it by name, or give the reason why they stay small in oncekit/gate/reasons.py",
            )
    for name in excused.unused():
        yield Finding(
            machine.file,
            name,
            "is listed in BOUNDED_RESULTS in oncekit/gate/reasons.py for nothing; remove it there",
        )


def _argument(state: State, name: str) -> str | None:
    """An argument as text, wherever the arguments are an object or an expression that makes one."""
    arguments = state.raw.get("Arguments", {})
    if isinstance(arguments, Mapping):
        return str(arguments[name]) if name in arguments else None
    found = re.search(rf"['\"]{name}['\"]\s*:\s*([^,}}\s]+)", str(arguments))
    return found[1].strip("'\"") if found else None


def _result(state: State) -> str | None:
    """A result that no argument bounds: States.ALL does not catch what comes of one that is too large."""
    unbounded = {
        "lambda:invoke": "a function may return more than 256 KiB",
        "aws-sdk:sfn:describeExecution": "an input may have 256 KiB, and more once it is quoted",
        "aws-sdk:sfn:getExecutionHistory": "an event may carry the parameters of a task, of 256 KiB",
        "aws-sdk:s3:getObject": "an object may have more than 256 KiB",
    }.get(state.resource)
    if state.resource == "dynamodb:getItem":
        unbounded = "an item may have 400 KB, and a member of it, too"
    if unbounded is None or _catches_too_large(state):
        return None
    return (
        f"{unbounded}, and States.ALL does not match the {TOO_LARGE} that follows; "
        "catch it by name, or give the reason why it stays small in oncekit/gate/reasons.py"
    )


def _whole(state: State) -> str | None:
    """A read of every member of an item, of which a few are needed."""
    if state.resource != "dynamodb:getItem" or _argument(state, "ProjectionExpression"):
        return None
    return "an item may have 400 KB, and there is no ProjectionExpression; name the members that are needed"


def _catches_too_large(state: State) -> bool:
    return any(TOO_LARGE in clause.get("ErrorEquals", []) for clause in state.raw.get("Catch", []))


def _page(state: State) -> str | None:
    if state.resource == "aws-sdk:sfn:getExecutionHistory" and _argument(state, "IncludeExecutionData") not in (
        "False",
        "false",
    ):
        return "reads a history with its data, of which one event may have 256 KiB; set IncludeExecutionData: false"
    if state.resource not in _PAGES or _argument(state, "Select") == "COUNT":
        return None
    name, most = _PAGES[state.resource]
    given = _argument(state, name)
    if given is not None and not given.isdigit() and _catches_too_large(state):
        return None  # a page size that an expression makes smaller when a page was too large
    if given is None or not given.isdigit() or int(given) > most:
        return f"{name} is {given or 'not given'}, and more than {most} entries may outgrow 256 KiB; set it lower"
    return None


def _message(state: State) -> str | None:
    body = _argument(state, "MessageBody") if state.resource.startswith("sqs:sendMessage") else None
    members = len(re.findall(r"'input(?:Text)?'\s*:", body or ""))
    if body and re.search(r"\b[Ii]nput\b", body) and body.count("$length(") < max(1, members):
        return (
            "sends an input of up to 256 KiB with more around it, and a queue refuses a message that is larger; "
            "ask for its $length first, and leave it out beyond 220,000 bytes"
        )
    return None
