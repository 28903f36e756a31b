"""What happened to a request, in plain words: one text for the page, `once show` and `once run`.

It says what the events of the executions and the record say, and no more. An execution that was stopped while business
logic ran leaves open whether the effect has happened, and the text says so.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from oncekit.console.json_text import members_of
from oncekit.console.run import RUNNING, Run, Visit

Role = Literal["owner", "duplicate", "refused", "passed on", "running"]
"""`passed on`: it had nothing to do but to start, or to leave it to, another execution."""

WORK = "ExecuteBusinessLogic"
OPERATOR = ":operator-"
RECOVERY = "recover-"
RELEASED, RESOLVED = "ReleasedByOperator", "ResolvedByOperator"
LONGEST = 300
"""Characters of an error that are told."""
_NAMED = re.compile(r"arn:[\w-]+:states:(?:[^\s:]+:){4}")
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
        "Another execution was at work on the operation: this one was told so at once.",
    ),
    "OperationInProgress": (
        "came while it was in progress, and asked for an error then",
        "Another execution was at work on the operation: this one asked for an error then.",
    ),
    "LockLost": ("found no record any more", "Its record had expired or was released: there is no answer to give."),
}
"""By the state in which they end: what is said of some, and of one by itself."""


@dataclass(frozen=True)
class Part:
    """What one execution did for its operation."""

    role: Role
    end: str
    """The state in which it ended; of a refused request the error."""
    status: str
    """That of the record after it, where it is this execution that decided it; else empty."""
    taken_from: str
    """The ARN of the owner from whom it took the lock; empty where it took a free one, or none."""
    tries_again: bool
    """Whether it tried a failed operation again."""
    by_recovery: bool
    is_running: bool
    told: Sequence[str]
    """Sentences about itself."""


def part_of(run: Run) -> Part:
    states = {each.state: each for each in run.visits}
    last = run.visits[-1].state if run.visits else ""
    lock = states.get("AcquireLock")
    acted = [each for each in run.visits if each.state in ("TakeNextFence", "RecordQuarantine") and _done(each)]
    is_owner = WORK in states or bool(acted) or (lock is not None and _done(lock))
    by_recovery = run.name.startswith(RECOVERY)
    role: Role = "owner"
    if run.status == RUNNING and not is_owner:
        role = "running"
    elif last == "RequestRefused":
        role = "refused"
    elif "HandOver" in states or "RefuseInFullLane" in states or (by_recovery and not is_owner):
        role = "passed on"
    elif not is_owner:
        role = "duplicate"
    return Part(
        role=role,
        end=(run.error or last) if role == "refused" else last,
        status=_status(states, run) if is_owner else "",
        taken_from=next(filter(None, map(_taken_from, acted)), ""),
        tries_again=lock is not None and _done(lock) and ":failed" in _values(lock),
        by_recovery=by_recovery,
        is_running=run.status == RUNNING,
        told=tuple(_of_owner(run, states) if role == "owner" else _of_another(run, role, last)),
    )


def _done(visit: Visit) -> bool:
    return visit.outcome == "succeeded"


def _values(visit: Visit) -> Mapping[str, Any]:
    call = members_of(visit.attempts[-1].parameters) if visit.attempts else {}
    return call.get("ExpressionAttributeValues") or {}


def _taken_from(visit: Visit) -> str:
    theirs, me = (str(_values(visit).get(name, {}).get("S", "")) for name in (":theirs", ":me"))
    return "" if theirs == me else theirs


def _status(states: Mapping[str, Visit], run: Run) -> str:
    decided = {"Finalize": "COMPLETED", "RecordFailure": "FAILED", "RecordQuarantine": "QUARANTINED"}
    done = [status for state, status in decided.items() if state in states and _done(states[state])]
    ends = {"ReturnStoredResponse": "COMPLETED", "OperationFailed": "FAILED", "NeedsAttention": "QUARANTINED"}
    return (done or [ends.get(run.visits[-1].state, "IN_PROGRESS")])[-1]


def error_of(cause: str | None, name: str | None = None) -> str:
    """Name and message of an error, out of the JSON that its cause may be."""
    told = members_of(cause)
    said = [told.get("name") or name, told.get("message") or told.get("errorMessage") or ("" if told else cause)]
    text = _NAMED.sub("", ": ".join(str(each) for each in said if each))
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


# ---- an execution ----


def _of_owner(run: Run, states: Mapping[str, Visit]) -> Iterator[str]:
    attempts = attempts_of(run)
    starts = [(attempts[each.number], each) for each in run.visits if each.state == WORK]
    failed = [(number, each) for number, each in starts if each.failures and each.outcome in ("caught", "failed")]
    last_failed = bool(failed) and failed[-1] == starts[-1]
    if told := failed[: -1 if last_failed else None]:
        yield f"{_attempts([number for number, _ in told])} failed ({told[-1][1].failures[-1].error})."
    number = starts[-1][0] if starts else 0
    work = f"Attempt {number} of your function" if failed and number > 1 else "Your function"
    ran = "went well" if told else "ran once" if number < 2 else f"ran again with the same key (attempt {number})"
    if "ReleaseLock" in states:
        yield f"{work} failed, and the fast lane has no time for another attempt: recovery goes on in the full lane."
    elif run.status == RUNNING:
        yield _is_running(states, run.visits[-1], number)
    elif run.status in ("ABORTED", "TIMED_OUT"):
        yield _stopped(run, states, number)
    elif run.visits[-1].state == "LockLost":
        yield f"{work} was started, but then the lock was another owner's, or released: its answer was not stored."
    elif "Finalize" in states and states["Finalize"].outcome == "unmet":
        yield f"{work} {ran}, but then the lock was another owner's: its answer was not stored, and it got that one's."
    elif (status := _status(states, run)) == "COMPLETED":
        yield f"{work} {ran}, and its answer is stored."
    elif status == "FAILED":
        yield f"{work} failed for good ({error_of(run.cause, run.error)}); the failure is stored."
    elif status == "QUARANTINED":
        yield f"It was quarantined ({error_of(run.cause, run.error)})."
    else:
        yield f"The execution failed in {run.visits[-1].state} ({error_of(run.cause, run.error)})."


def attempts_of(run: Run) -> Mapping[int, int]:
    """The number of each attempt, over all owners, by that of the visit that started business logic."""
    return {visit: int(lock.get("attempts", 1)) for visit, lock in locks_of(run).items()}


def locks_of(run: Run) -> Mapping[int, Mapping[str, Any]]:
    """The lock that the execution held at each visit that started business logic, by the visit's number.

    As its own states assigned it, never as the event says it: that may be a payload alone, which is the application's.
    """
    locks: dict[int, Mapping[str, Any]] = {}
    lock: Mapping[str, Any] = {}
    for visit in run.visits:
        if visit.state == WORK:
            locks[visit.number] = lock
        lock = members_of((visit.variables or {}).get("lock")) or lock
    return locks


def _attempts(numbers: Sequence[int]) -> str:
    return f"Attempt {numbers[0]}" if len(numbers) == 1 else f"Attempts {numbers[0]} to {numbers[-1]}"


def _is_running(states: Mapping[str, Visit], last: Visit, number: int) -> str:
    if last.state == WORK:
        return f"Your function is running (attempt {number})."
    if last.state == "BackOff":
        return f"It waits before attempt {number + 1}." if number else "It is about to run your function again."
    return "It holds the lock." if WORK not in states else "Your function has ended, and its answer is being stored."


def _stopped(run: Run, states: Mapping[str, Visit], number: int) -> str:
    by = f"{'was stopped' if run.status == 'ABORTED' else 'ran out of time'}{f' ({run.error})' if run.error else ''}"
    if WORK not in states:
        return f"The owner {by} before your function was started."
    if _done(states[WORK]):
        return f"The owner {by} after your function had ended (attempt {number}): its effect has happened."
    return f"The owner {by} while your function ran (attempt {number}): its effect may have happened."


def _of_another(run: Run, role: Role, last: str) -> Iterator[str]:
    if role == "running":
        yield "It waits for the execution that is at work on it." if last == "WaitForOwner" else "It has just begun."
    elif role == "refused":
        yield f"It was refused ({error_of(run.cause, run.error)})."
    elif role == "passed on" and last == "RequestRefused":
        yield "The fast lane handed it over to the full lane, which refuses it and keeps it."
    elif role == "passed on":
        by = run.name.startswith(RECOVERY)
        yield "Recovery found nothing to do." if by else "The fast lane handed it over to the full lane."
    elif last in OF_DUPLICATES:
        yield OF_DUPLICATES[last][1]
    else:
        yield f"It ended in {last or 'no state'} ({error_of(run.cause, run.error) or run.status})."
    if role in ("duplicate", "refused"):
        yield "Your function did not run."


def of_one(part: Part) -> str:
    """What one execution did, by itself."""
    return " ".join((*_how(part, None), *part.told))


# ---- an operation ----


def summary(
    parts: Sequence[Part], record: Mapping[str, Any] | None = None, now: datetime.datetime | None = None
) -> str:
    """What happened to an operation: its executions, the oldest first, as far as they are known, and its record."""
    owners = [each for each in parts if each.role == "owner"]
    told: list[str] = []
    for before, each in zip([None, *owners], owners, strict=False):
        told += [*_how(each, before), *each.told]
    told += [] if owners else [*_refused_alone(parts), *_of_record(record or {})]
    told += [*_by_a_person(record or {}), *_open(record or {}, owners, now), *_of_duplicates(parts, bool(owners))]
    return " ".join(told) or "Nothing is known of it any more."


def _how(part: Part, before: Part | None) -> Iterator[str]:
    """How an owner got the lock, where this is no new request."""
    if OPERATOR in part.taken_from:
        yield "A person had it started again."
    elif part.taken_from and before is None:
        yield f"Its owner before ({part.taken_from.split(':')[7]}) ended before it was done."
    if part.taken_from and OPERATOR not in part.taken_from:
        yield "Recovery took over." if part.by_recovery else "Another request took over."
    elif part.tries_again:
        yield "A request with onFailed retry had it tried again."
    elif before is not None and not part.taken_from:
        yield "Its record had expired or was released, so the next request began anew:"
        yield "an effect from before may have happened twice."


def _refused_alone(parts: Sequence[Part]) -> Iterator[str]:
    if len(parts) == 1 and parts[0].role != "duplicate":
        yield from parts[0].told


def _of_record(record: Mapping[str, Any]) -> Iterator[str]:
    """What is known where no execution is, as of those in the fast lane."""
    count = int(record.get("attempts", 0))
    started = "was started once" if count == 1 else f"was started {count} times"
    if OPERATOR in str(record.get("owner")):
        return
    error = _error(record)
    ends = {
        "COMPLETED": f"Your function {started}, and its answer is stored.",
        "FAILED": f"Your function {started}, and failed for good ({error}); the failure is stored.",
        "QUARANTINED": f"Your function {started}. It was quarantined ({error}).",
        "IN_PROGRESS": f"Your function {started}, and the end is not known yet.",
    }
    yield from filter(None, [ends.get(str(record.get("status")))])


def _by_a_person(record: Mapping[str, Any]) -> Iterator[str]:
    if OPERATOR not in str(record.get("owner")):
        return
    error = record.get("error") or {}
    if record["status"] == "COMPLETED":
        yield "A person resolved it, and gave its result."
    elif record["status"] == "IN_PROGRESS":
        yield "A person had it started again: the next sweep does so."
    elif error.get("name") == RESOLVED:
        yield f"A person resolved it as failed ({error.get('message')})."
    elif error.get("name") == RELEASED:
        yield "A person released it: the next request runs your function anew."


def _open(record: Mapping[str, Any], owners: Sequence[Part], now: datetime.datetime | None) -> Iterator[str]:
    if record.get("status") == "QUARANTINED":
        if owners and all(each.status != "QUARANTINED" for each in owners):
            yield f"It was quarantined ({_error(record)})."
        yield "Nothing happens until a person decides."
    elif record.get("status") == "IN_PROGRESS" and now and OPERATOR not in str(record.get("owner")):
        if float(record["leaseExpiresAt"]) <= now.timestamp():
            yield "Its lease is over: the next sweep looks after it."
        elif owners and not owners[-1].is_running:
            yield "When its lease is over, a sweep starts it again."


def _error(record: Mapping[str, Any]) -> str:
    return _NAMED.sub("", ": ".join(each for each in (record.get("error") or {}).values() if isinstance(each, str)))


def _of_duplicates(parts: Sequence[Part], some_owner: bool) -> Iterator[str]:
    if some_owner and (waiting := sum(each.role == "running" for each in parts)):
        yield f"{waiting} {'request waits' if waiting == 1 else 'requests wait'} for it."
    for end, count in Counter(each.end for each in parts if each.role == "duplicate").items():
        some = f"{count} {'duplicate' if count == 1 else 'duplicates'}"
        yield f"{some} {OF_DUPLICATES[end][0] if end in OF_DUPLICATES else f'ended in {end}'}."
    refused = Counter(each.end for each in parts if each.role == "refused" and (some_owner or len(parts) > 1))
    for error, count in refused.items():
        some = f"{count} {'request' if count == 1 else 'requests'}"
        what = " with another payload under this key" if error == "PayloadMismatch" else ""
        yield f"{some}{what} {'was' if count == 1 else 'were'} refused{'' if what else f' ({error})'}."
