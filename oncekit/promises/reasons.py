"""What business logic decided; none throws its own answer away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oncekit.local import Execution
from oncekit.promises.journal import Fault, Write
from oncekit.promises.owners import lock_of

DIED = ("ABORTED", "TIMED_OUT")
DECISIONS = ("", "PermanentError", "NeedsAttention")
"""Errors by which business logic decides; none is a success."""
PENDING = "Pending"
"""In place of an error: it has started work elsewhere, so that nothing is decided yet."""


@dataclass(frozen=True)
class Ended:
    """How one call of business logic ended, for the execution that made it."""

    owner: str
    id: str
    fence: int
    error: str
    """Empty for a success; PENDING."""
    is_unknown: bool = False
    """Its owner died before it could write that down, and nobody reads histories: business logic may run again."""


def ends_of(execution: Execution) -> Iterator[Ended]:
    """Each call of business logic whose end is in the history."""
    # AWS ended it by a time limit, or for an error that no state catches: a machine's own errors have no dot.
    has_died = execution.status in DIED or "." in str(execution.error)
    state, lock, token = "", lock_of({}), None
    for event in execution.events:
        if "stateEnteredEventDetails" in event:
            state = event["stateEnteredEventDetails"]["name"]
        elif state != "ExecuteBusinessLogic":
            continue
        elif "taskScheduledEventDetails" in event:
            sent = json.loads(event["taskScheduledEventDetails"]["parameters"]).get("Payload", {})
            lock, token = lock_of(sent), sent.get("replyToken")
        elif lock and ("taskSucceededEventDetails" in event or "taskFailedEventDetails" in event):
            failed = event.get("taskFailedEventDetails")
            error = _told(event, token) if failed is None else str(failed.get("error") or "without a name")
            yield Ended(str(lock["owner"]), lock["id"], int(lock["fence"]), error, has_died)


def _told(event: Mapping[str, Any], token: Any) -> str:
    """PENDING, or nothing: whatever else a function answers with is its result."""
    reply = json.loads(event["taskSucceededEventDetails"].get("output", "{}")).get("Payload")
    is_pending = isinstance(reply, dict) and set(reply) == {"replyToken", "oncePending"}
    return PENDING if is_pending and reply["replyToken"] == token else ""


def quarantine_faults(writes: Sequence[Write], ended: Sequence[Ended]) -> Iterator[Fault]:
    """P5: none quarantines its own answer, and none that may be started again is taken for a careful one.

    That a careful operation is quarantined whose owner died before business logic began is no fault any more: that
    could only be read in a history, and a careful request asks the operator.
    """
    for write in writes:
        old, new = write.old, write.new
        if old is None or new is None or (old["status"], new["status"]) != ("IN_PROGRESS", "QUARANTINED"):
            continue
        name, owner, id = new["error"]["name"], old["owner"], write.id
        mine = [each for each in ended if each.owner == owner]
        if write.actor is not None and write.actor.owner == owner:
            # What another put where the answer goes is left there, and the answer cannot be kept.
            is_in_the_way = name == "NeedsAttention" and "business logic succeeded" in new["error"]["message"]
            if mine and not mine[-1].error and name != "ResultUnreadable" and not is_in_the_way:
                yield Fault("P5", "broken", f"{id}: its owner threw its own answer away, as {name}")
        elif name in ("OwnerCrashed", "PendingTimedOut"):
            if old["onCrash"] != "quarantine" or not old["leaseExpiresAt"]:
                yield Fault("P5", "broken", f"{id}: quarantined as {name}, though it may be started again")
            if (name == "PendingTimedOut") != ("pendingSince" in old):
                yield Fault("P5", "broken", f"{id}: quarantined as {name}, since {old.get('pendingSince')} pending")
