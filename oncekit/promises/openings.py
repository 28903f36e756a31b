"""Where the life of an operation begins: who may open a closed record again, and what counts as a new life."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oncekit.contract.lanes import DIRECT
from oncekit.contract.picked_request import picked
from oncekit.local import Execution
from oncekit.promises.journal import Fault, Item, Start, Write
from oncekit.promises.owners import RECOVERY, execution_of_owner, handed_over, name_of

OPEN = ("IN_PROGRESS", "QUARANTINED")


def is_expired(record: Item, now: float) -> bool:
    return "expiresAt" in record and record["expiresAt"] < now


def is_new_lock(write: Write) -> bool:
    """A lock that was free: there was no record, or a closed one."""
    is_free = write.old is None or write.old["status"] not in OPEN
    return is_free and write.new is not None and write.new["status"] == "IN_PROGRESS"


def is_tried_again(write: Write) -> bool:
    """A failure that is tried again by who gets its lock; whether a sender asked for that, `opening_faults` says."""
    old, new, actor = write.old, write.new, write.actor
    assert new is not None, "whoever asks has seen that there is a record"
    if old is None or actor is None or (old["status"], new["status"]) != ("FAILED", "IN_PROGRESS"):
        return False
    by_its_owner = actor.is_in("AcquireLock") and actor.owner == new["owner"]
    return by_its_owner and not is_expired(old, write.at)


def is_forgotten(write: Write) -> bool:
    """`once release --forget`, in either of its writes: an operator removes what a record has of its request.

    Also of a record that has ended. Until the second write the record has not expired, so nobody takes the lock while
    the operator deletes objects.
    """
    new, actor = write.new or {}, write.actor
    by_operator = actor is not None and actor.kind == "operator"
    said = str(new.get("error", {}).get("message"))
    return by_operator and said.startswith("what was kept of its request was removed")


def unseen_starts(writes: Sequence[Write]) -> Iterator[Start]:
    """Those of the direct lane, where functions have processes of their own and no event tells of business logic.

    Each lock is one, unless its owner gave it back with the attempt. An owner that died in between began nothing, but
    that nobody knows, and who decides what is done then must take it for a start.
    """
    taken_back = {each.new["owner"] for each in writes if each.new and not each.new["attempts"]}
    for write in writes:
        if is_new_lock(write) and write.actor is not None and write.actor.kind == DIRECT:
            assert write.new is not None
            if write.new["owner"] not in taken_back:
                yield Start(write.id, write.new["owner"], int(write.new["fence"]))


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
        by_operator = write.actor is not None and write.actor.kind == "operator"
        if by_operator or is_expired(old, write.at) or is_tried_again(write):
            opened[write.id].append(int(new["fence"]))
    return opened


def opening_faults(writes: Sequence[Write], executions: Sequence[Execution]) -> Iterator[Fault]:
    """P2: recovery takes no free lock, nobody takes one anew, and a failure is tried again for who asks, once."""
    by_arn = {execution.arn: execution for execution in executions}
    for write in writes:
        if not is_new_lock(write) or write.actor is None or write.actor.kind not in ("execution", DIRECT):
            continue
        name, asking = name_of(write.actor.owner), by_arn.get(execution_of_owner(write.actor.owner))
        if RECOVERY.fullmatch(name):
            yield Fault("P2", "twice", f"{write.id}: recovery took a free lock: {name}")
        if not is_tried_again(write):
            continue
        assert write.old is not None
        if asking is None and write.actor.kind == DIRECT:
            continue  # nobody tells what it was asked for
        if asking is None or request_of(asking.input).get("onFailed") != "retry":
            yield Fault("P2", "twice", f"{write.id}: a failure was tried again for {name}, which did not ask for it")
        elif _seconds(write.old["finishedAt"]) >= came_at(asking):
            yield Fault("P2", "twice", f"{write.id}: a failure was tried again for {name}, which had come before it")
    for execution in executions:
        if _takes_it_anew(execution):
            yield Fault("P2", "twice", f"{execution.name} took a lock anew after it had held or seen one")


def _takes_it_anew(execution: Execution) -> bool:
    """Or has it taken in the full lane. A record that was in progress does not go away by itself: it was released.

    By the history: an AcquireLock that comes late, after all that, is the one exception that the design accepts. A
    recovery, which is what a released lock is handed over to, takes no free one.
    """
    seen, state = False, ""
    for event in execution.events:
        if "stateEnteredEventDetails" in event:
            state = event["stateEnteredEventDetails"]["name"]
        elif "taskSucceededEventDetails" in event and state in ("AcquireLock", "HandOver", "ReadRecord"):
            told = json.loads(event["taskSucceededEventDetails"]["output"])
            recovers = state == "HandOver" and RECOVERY.fullmatch(name_of(told["ExecutionArn"]))
            if state != "ReadRecord" and seen and not recovers:
                return True
            item = told.get("Item", {})
            seen = seen or state == "AcquireLock" or item.get("status") == {"S": "IN_PROGRESS"}
    return False


def began_at(execution: Execution) -> float:
    """Epoch seconds."""
    return _seconds(execution.events[0]["timestamp"])


def came_at(execution: Execution) -> float:
    """When its request came; of one that the fast lane handed over, when it came there."""
    found = handed_over(execution.name)
    return (found and found[1]) or began_at(execution)


def _seconds(at: str) -> float:
    return datetime.datetime.fromisoformat(at).timestamp()


def request_of(given: Any) -> Mapping[str, Any]:
    """The request in the input of an execution, out of its envelope, or as it is picked there."""
    first = picked(given[0] if isinstance(given, list) and given else given)
    first = first.get("body", first) if isinstance(first, dict) else {}
    return first if isinstance(first, dict) else {}
