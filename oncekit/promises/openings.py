"""Where the life of an operation begins: who may have a closed record opened again, and what counts as a new life."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oncekit.local import Execution
from oncekit.promises.faults import Fault
from oncekit.promises.journal import Item, Write
from oncekit.promises.owners import execution_of_owner, name_of

BY_RECOVERY = re.compile(r"(recover|handover)-[0-9a-f]{32}-[0-9a-f]{8}-[0-9]+-[0-9]+|again-[0-9a-f]{40}")
"""Names that recovery gives, and the fast lane to whom it hands a lock over.

Such an execution finishes what others began, and asks for nothing itself.
"""


def is_expired(record: Item, now: float) -> bool:
    return "expiresAt" in record and record["expiresAt"] < now


def is_tried_again(write: Write) -> bool:
    """A failure that is tried again by who gets its lock; whether a sender asked for that, `retry_faults` says."""
    old, new, actor = write.old, write.new, write.actor
    if old is None or new is None or actor is None or (old["status"], new["status"]) != ("FAILED", "IN_PROGRESS"):
        return False
    return (actor.kind, actor.state, actor.owner) == ("execution", "RetryFailed", new["owner"])


def openings(writes: Sequence[Write]) -> dict[str, list[int]]:
    """By id: the fences under which an operation began again.

    Its answer had expired, its sender asked for another try of a failure, or an operator said so. Whatever else opens
    a closed record is not a new life: what business logic does then, it does a second time.
    """
    opened: dict[str, list[int]] = defaultdict(list)
    for write in writes:
        old, new = write.old, write.new
        if old is None or new is None or new["status"] != "IN_PROGRESS":
            continue
        if is_expired(old, write.at) or is_tried_again(write):
            opened[write.id].append(int(new["fence"]))
        elif old["status"] == "QUARANTINED":
            opened[write.id].append(int(new["fence"]) + 1)
    return opened


def retry_faults(writes: Sequence[Write], executions: Sequence[Execution]) -> Iterator[Fault]:
    """P2: a failure is tried again only for a request that says `onFailed: retry`, and never by recovery."""
    inputs = {execution.arn: execution.input for execution in executions}
    for write in writes:
        if not is_tried_again(write):
            continue
        assert write.actor is not None
        name = name_of(write.actor.owner)
        if BY_RECOVERY.fullmatch(name):
            yield Fault("P2", "twice", f"{write.id}: recovery tried a failure again: {name}")
        elif request_of(inputs.get(execution_of_owner(write.actor.owner))).get("onFailed") != "retry":
            yield Fault("P2", "twice", f"{write.id}: a failure was tried again for {name}, which did not ask for it")


def request_of(given: Any) -> Mapping[str, Any]:
    """The request in the input of an execution, out of its envelope."""
    first = given[0] if isinstance(given, list) and given else given
    first = first.get("body", first) if isinstance(first, dict) else {}
    return first if isinstance(first, dict) else {}
