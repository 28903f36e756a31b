"""Rules of what business logic decided: a quarantine has a true reason, and a decision is never made again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oncekit.local import Execution
from oncekit.promises.faults import Fault
from oncekit.promises.journal import Refusal, Start, Write
from oncekit.promises.owners import is_fast, lock_of
from oncekit.promises.writes import DEAD

DIED = ("ABORTED", "TIMED_OUT")
DECISIONS = ("PermanentError", "NeedsAttention")
REFUSED = ("ExecutionNotRedrivable", "ExecutionDoesNotExist")
FINISHING = {"IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure", "KeepRequest", "RecordQuarantine"}
"""From these states a redrive finishes what was decided."""


@dataclass(frozen=True)
class Ended:
    """How one call of business logic ended, for the execution that made it."""

    owner: str
    id: str
    fence: int
    error: str
    """Empty for a success."""
    is_unknown: bool = False
    """Its owner was in the fast lane and died: nobody can ask what its business logic did, so that it may run again."""


def ends_of(execution: Execution) -> Iterator[Ended]:
    """Each call of business logic whose end is in the history."""
    state, lock = "", lock_of({})
    for event in execution.events:
        if "stateEnteredEventDetails" in event:
            state = event["stateEnteredEventDetails"]["name"]
        elif state != "ExecuteBusinessLogic":
            continue
        elif "taskScheduledEventDetails" in event:
            lock = lock_of(json.loads(event["taskScheduledEventDetails"]["parameters"]).get("Payload", {}))
        elif lock and ("taskSucceededEventDetails" in event or "taskFailedEventDetails" in event):
            error = str(event.get("taskFailedEventDetails", {}).get("error", ""))
            owner = str(lock["owner"])
            yield Ended(owner, lock["id"], int(lock["fence"]), error, is_fast(owner) and execution.status in DIED)


def decision_faults(starts: Sequence[Start], ended: Sequence[Ended], opened: dict[str, list[int]]) -> Iterator[Fault]:
    """P2: what business logic decided is not asked for again, unless the operation began again meanwhile."""
    for each in ended:
        if each.error not in DECISIONS or each.is_unknown:
            continue
        anew = min((fence for fence in opened.get(each.id, ()) if fence > each.fence), default=None)
        if any(s.id == each.id and each.fence < s.fence and (anew is None or s.fence < anew) for s in starts):
            yield Fault("P2", "twice", f"{each.id}: started again after its {each.error} under fence {each.fence}")


def quarantine_faults(
    writes: Sequence[Write], executions: Sequence[Execution], ended: Sequence[Ended], refusals: Sequence[Refusal]
) -> Iterator[Fault]:
    """P5: no live owner is quarantined by another, none quarantines its own answer, and each reason given is true."""
    states = {execution.arn: execution.states for execution in executions}  # an owner in the fast lane is a run of one
    for write in writes:
        old, new = write.old, write.new
        if old is None or new is None or (old["status"], new["status"]) != ("IN_PROGRESS", "QUARANTINED"):
            continue
        name, owner, id = new["error"]["name"], old["owner"], write.id
        mine = [each for each in ended if (each.owner, each.id) == (owner, id)]
        if write.actor is not None and write.actor.owner == owner:
            if mine and not mine[-1].error and not name.startswith("States."):
                yield Fault("P5", "broken", f"{id}: its owner threw its own answer away, as {name}")
            continue
        finishing = bool(FINISHING & set(states.get(owner, ())[-1:]))
        if name == "OwnerCannotFinish" and finishing and not _refused(owner, refusals):
            yield Fault("P5", "broken", f"{id}: given up as {name}, though no redrive of a dead owner was refused")
        if name == "OwnerCrashed" and owner in states and "ExecuteBusinessLogic" not in states[owner]:
            yield Fault("P5", "broken", f"{id}: quarantined as {name}, though its owner never started business logic")


def _refused(owner: str, refusals: Sequence[Refusal]) -> bool:
    return any(each.owner == owner and each.code in REFUSED and each.status in DEAD for each in refusals)
