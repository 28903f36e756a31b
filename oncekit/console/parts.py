"""What one execution did for its operation: made of its run, and small enough to be kept for each that is listed."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oncekit.console import starts
from oncekit.console.json_text import members_of
from oncekit.console.run import RUNNING, Run, Visit
from oncekit.console.starts import WORK, Start
from oncekit.contract.words import OPERATOR, TICKET

Role = Literal["owner", "duplicate", "refused", "passed on", "running", "died"]
"""`passed on`: it had nothing to do but to start, or to leave it to, another execution; `died`: it ended before it had
a lock, and not as a duplicate does."""

TIMED_OUT = "PendingTimedOut"
"""The error of an operation that work elsewhere did not end in time."""
RECOVERY = "recover-"
LONGEST = 300
"""Characters of an error that are told."""
NAMED = re.compile(r"arn:[\w-]+:states:(?:[^\s:]+:){4}")
"""The part of an execution's ARN before its name, which says enough in a sentence."""
OF_DUPLICATES = {
    "ReturnStoredResponse": ("got the stored answer", "The operation was done: it got the stored answer."),
    "OperationFailed": (
        "got the stored failure",
        "The operation had failed for good: it got the same error.",
    ),
    "NeedsAttention": (
        "came while it was quarantined",
        "The operation is quarantined: it was told that a person decides.",
    ),
    "AcknowledgeDuplicate": (
        "came while it was in progress",
        "The operation was in progress: this one was told so at once.",
    ),
    "OperationInProgress": (
        "came while it was in progress, and asked for an error then",
        "The operation was in progress: this one asked for an error then.",
    ),
    "LockLost": ("found no record any more", "Its record had expired or was released: there is no answer to give."),
}
"""By the state in which they end: what is said of some, and of one by itself."""
Taken = Literal["", "died", "released", "not ended in time", "started again"]
"""What there was to say of the owner from whom a lock was taken: it was released in a lane that tries once; it was
pending; a person had it."""
OfItself = Literal["running", "stopped", "stored", "failed", "quarantined", "pending", "passed on", "broken"]
ByAnother = Literal["lost", "overtaken", "by its ticket"]
Kind = OfItself | ByAnother


@dataclass(frozen=True)
class Ending:
    """How an owner ended."""

    kind: Kind
    """`lost`: there was no record any more; `overtaken`: another one had ended the operation, or work elsewhere `by its
    ticket`; `broken`: by an error of the machine's own."""
    state: str
    said: str
    """The error, or how it was stopped."""
    why: str
    """Of a quarantine: why nothing is started again; of what the fast lane passes on: when that goes on."""


@dataclass(frozen=True)
class Part:
    """What one execution did for its operation."""

    role: Role
    end: str
    """The state in which it ended; of a refused request the error."""
    status: str
    """That of the record after it, where it is this execution that decided it; else empty."""
    taken_from: str
    """The owner from whom it took the lock; empty where it took a free one, or none."""
    taken_as: Taken
    taken_error: str
    """The error that the record had then: of the attempt before."""
    tries_again: str
    """The owner of the failed operation that it tried again; empty where it did not."""
    by_recovery: bool
    is_running: bool
    arn: str
    began: datetime.datetime
    ended: datetime.datetime | None
    locked: datetime.datetime | None
    """When it got the lock; None for one that had none."""
    lease: float
    """Of the owner from whom it took the lock: until when that was presumed alive, in epoch seconds; 0 where that had
    released it."""
    ending: Ending
    starts: Sequence[Start]
    attempt: int
    """The number of its first attempt, as the record counts."""
    fence: int
    """Of the first lock that it held; 0 where its history does not say."""

    @property
    def is_first(self) -> bool:
        """Whether nothing was started before: the record began with it, or with one that could not start anything."""
        return self.fence == 1 or (self.taken_as == "released" and (self.fence, self.attempt) == (2, 1))

    @property
    def began_anew(self) -> bool:
        """Whether there was a record before, which had expired or was released."""
        return not self.taken_from and not self.tries_again and self.fence > 1


def part_of(run: Run) -> Part:
    states = {each.state: each for each in run.visits}
    last = run.visits[-1].state if run.visits else ""
    lock = states.get("AcquireLock")
    acted = [each for each in run.visits if each.state in ("TakeNextFence", "RecordQuarantine") and _done(each)]
    is_owner = WORK in states or bool(acted) or (lock is not None and _done(lock))
    by_recovery = run.name.startswith(RECOVERY)
    taken_from, taken_as = next(filter(all, map(_taken, acted)), ("", ""))
    found = _values(lock) if lock and is_owner and not taken_from else {}
    held = starts.first_lock(run)
    ending = _ending(run, states, last)
    role: Role = "owner"
    if run.status == RUNNING and not is_owner:
        role = "running"
    elif last == "RequestRefused":
        role = "refused"
    elif not is_owner and ("HandOver" in states or "RefuseInFullLane" in states):
        role = "passed on"
    elif not is_owner and last in OF_DUPLICATES:
        role = "passed on" if by_recovery else "duplicate"
    elif not is_owner:
        role = "died"
    return Part(
        role=role,
        end=(run.error or last) if role == "refused" else last,
        status=_status(ending.kind, last) if is_owner else "",
        taken_from=taken_from,
        taken_as=taken_as,
        taken_error=next((error_of(json.dumps(each)) for each in errors_read(run)), "") if taken_as else "",
        tries_again=str(found[":theirs"]["S"]) if ":failed" in found else "",
        by_recovery=by_recovery,
        is_running=run.status == RUNNING,
        arn=run.arn,
        began=run.visits[0].entered_at if run.visits else run.started_at,
        ended=run.ended_at,
        locked=_locked(run, [*(each for each in [lock] if each and _done(each)), *acted]) if is_owner else None,
        lease=next((float(_values(each)[":lease"]["N"]) for each in acted if ":lease" in _values(each)), 0.0),
        ending=ending,
        starts=starts.starts_of(run),
        attempt=int(held.get("attempts", 1)),
        fence=int(held.get("fence", 0)),
    )


def _locked(run: Run, taking: Sequence[Visit]) -> datetime.datetime:
    """When the first write was done by which it had the lock; where no history has that, when it used it first."""
    return next((each.exited_at for each in taking if each.exited_at), None) or next(
        each.entered_at for each in run.visits if each.state == WORK or each in taking
    )


def _done(visit: Visit) -> bool:
    return visit.outcome == "succeeded"


def _values(visit: Visit) -> Mapping[str, Any]:
    call = members_of(visit.attempts[-1].parameters) if visit.attempts else {}
    return call.get("ExpressionAttributeValues") or {}


def _taken(visit: Visit) -> tuple[str, Taken]:
    """From whom the lock was taken, and how that one had left it."""
    values = _values(visit)
    theirs, me = (str(values.get(name, {}).get("S", "")) for name in (":theirs", ":me"))
    if theirs == me:
        return "", ""
    if OPERATOR in theirs:
        return theirs, "started again"
    if values.get(":lease") == {"N": "0"}:
        return theirs, "released"
    is_late = values.get(":error", {}).get("M", {}).get("name") == {"S": TIMED_OUT}
    return theirs, "not ended in time" if is_late else "died"


def _status(kind: Kind, last: str) -> str:
    ends = {"ReturnStoredResponse": "COMPLETED", "OperationFailed": "FAILED", "NeedsAttention": "QUARANTINED"}
    return "COMPLETED" if kind == "stored" else ends.get(last, "IN_PROGRESS")


def error_of(cause: str | None, name: str | None = None) -> str:
    """Name and message of an error, out of the JSON that its cause may be."""
    told = members_of(cause)
    said = [told.get("name") or name, told.get("message") or told.get("errorMessage") or ("" if told else cause)]
    text = NAMED.sub("", ": ".join(str(each) for each in said if each))
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _ending(run: Run, states: Mapping[str, Visit], last: str) -> Ending:
    error, owner = error_of(run.cause, run.error), str(last_read(run).get("owner", {}).get("S", ""))

    def wrote(state: str, end: str) -> bool:
        """Also where the answer to that was lost, and it read then what it had written itself."""
        is_own = last == end and f"{owner}:".startswith(f"{run.arn}:")
        return state in states and (is_own or _done(states[state]))

    if "ReleaseLock" in states and states["ReleaseLock"].outcome != "unmet":
        is_free = _done(states["ReleaseLock"])
        return Ending("passed on", last, error, "" if is_free else "when its lease is over")
    if "KeepOpen" in states and _done(states["KeepOpen"]):
        return Ending("pending", last, "", "")
    if run.status == RUNNING:
        return Ending("running", last, "", "")
    if run.status in ("ABORTED", "TIMED_OUT"):
        how = "was stopped" if run.status == "ABORTED" else "ran out of time"
        return Ending("stopped", last, f"{how} ({run.error})" if run.error else how, "")
    if wrote("RecordQuarantine", "NeedsAttention"):
        why = why_not_again(str(members_of(run.cause).get("name")), starts.on_crash(run), starts.starts_of(run))
        return Ending("quarantined", last, error, why)
    if wrote("RecordFailure", "OperationFailed"):
        return Ending("failed", last, error, "")
    if wrote("Finalize", "ReturnStoredResponse"):
        return Ending("stored", last, "", "")
    if last == "LockLost":
        return Ending("lost", last, error, "")
    if last in OF_DUPLICATES:
        return Ending("by its ticket" if owner.startswith(TICKET) else "overtaken", last, error, "")
    return Ending("broken", last, error, "")


def _read(run: Run) -> Sequence[Mapping[str, Any]]:
    """The record each time that the execution read it, or kept it open."""
    records = (members_of((each.variables or {}).get("record")) for each in run.visits)
    return [each for each in records if isinstance(each.get("owner"), Mapping)]


def last_read(run: Run) -> Mapping[str, Any]:
    """The record as the execution read it last; empty where it read none."""
    return next(reversed(_read(run)), {})


def errors_read(run: Run) -> Iterator[Mapping[str, Any]]:
    """{name, message}, the errors that the record had when the execution read it: its end removes them."""
    for record in _read(run):
        error = record["error"].get("M") if isinstance(record.get("error"), Mapping) else None
        if isinstance(error, Mapping):
            yield {name: each["S"] for name, each in error.items() if isinstance(each, Mapping) and "S" in each}


def why_not_again(error: str, on_crash: object, starts: Sequence[Start] = ()) -> str:
    """Empty where the message of the error says it."""
    if starts and starts[-1].end == "answered":
        return "its effect has happened"
    reasons = {
        "NeedsAttention": "it asked for a person",
        "ResultUnreadable": "it would give the same answer",
        "LockLostError": "nobody knows what it did",
        "NoFunction": "",
        "OwnerCrashed": "",
        TIMED_OUT: "",
        "Lambda.TooManyRequestsException": "Lambda has refused it for a day",
        "AttemptsUsedUp": "",
    }
    if error in reasons:
        return reasons[error]
    return "onCrash is quarantine" if on_crash == "quarantine" else "its attempts are used up"
