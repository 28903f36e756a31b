"""The request of a record, wherever it still is: kept in the record or the bucket, or the input of an execution that
had the lock.

`once retry` starts it again as the text that it is. A record that recovery quarantined because it could not read the
request names none in the bucket: no state of a state machine takes more than 256 KiB, but this command does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oncekit.cli.deployed.records.record import Record
from oncekit.cli.deployed.requests import kept
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import short
from oncekit.console.requests import id_in


@dataclass(frozen=True)
class Original:
    """A request as text; without one, `missing` says where it is not."""

    text: str | None
    missing: str = ""


def find(stack: Stack, record: Record) -> Original:
    """The request of a record, looked for where it was put last, first."""
    missing = []
    for text, why in _places(stack, record):
        if text is None:
            missing.append(why)
        elif (about := id_in(text)) == record["id"]:
            return Original(text)
        else:
            missing.append(f"{why}, which has another request: {short(about or 'none')}")
    return Original(None, missing="; ".join(missing))


def demand(stack: Stack, record: Record) -> Original:
    """The request of a record. Raises Problem when it is nowhere."""
    found = find(stack, record)
    if found.text is None:
        raise Problem(
            f"{record['id']}: its request is {found.missing}; "
            "use `once resolve` if you know how it ended, or `once release`, and let its sender send it again"
        )
    return found


def _places(stack: Stack, record: Record) -> Iterator[tuple[str | None, str]]:
    """Text, and where that is, or why nothing is there."""
    if isinstance(record.get("request"), str):
        yield record["request"], "not in the record"
    # Where a record should name its request and does not, an object of its key may be an earlier life's of this id.
    in_flight = kept.in_flight(stack, record)
    named = not in_flight and ("requestRef" in record or record["status"] == "IN_PROGRESS")
    if in_flight:  # for as long as the bucket's rule says; an operator's retry keeps it again
        found = kept.read_at(stack, in_flight)
        yield found.text, found.missing or "not in the bucket"
    if named:
        yield _in_bucket(stack, record)
    owner = record["owner"]
    text = input_of(stack, owner)
    yield text, f"not with the execution {owner}" + (f" ({_why_not(stack, owner)})" if text is None else "")
    if not named:
        yield _in_bucket(stack, record)


def _why_not(stack: Stack, execution: str) -> str:
    if stack.fast_execution(execution):
        return "it ran in the fast lane, which keeps none"
    return "it is gone" if stack.has_execution(execution) else "it is none of this stack's operations"


def _in_bucket(stack: Stack, record: Record) -> tuple[str | None, str]:
    found = kept.read(stack, record)
    return found.text, found.missing or "not in the bucket"


def input_of(stack: Stack, execution: str) -> str | None:
    """The text that an execution was started with; None when it is gone, never was, or is none of this stack's."""
    if not stack.has_execution(execution):
        return None
    client = stack.client("stepfunctions")
    try:
        return str(client.describe_execution(executionArn=execution)["input"])
    except (client.exceptions.ExecutionDoesNotExist, client.exceptions.InvalidArn):
        return None
