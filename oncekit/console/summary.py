"""What happened to a request, in plain words: one text for the page, `once show` and `once run`.

It says what the events of the executions and the record say, and no more. Of a start that gave no answer it says that
the effect may have happened; how often business logic was started it counts by the executions, and where some of them
are not known, it says that it may have been started before: an operator's decision makes the record count anew.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oncekit.console.owner import before, of_owner, quarantined
from oncekit.console.parts import NAMED, OF_DUPLICATES, Part, why_not_again
from oncekit.console.words import day_and_time
from oncekit.contract.lanes import is_direct, name_of
from oncekit.contract.words import OPERATOR, RELEASED, TICKET

RESOLVED = "ResolvedByOperator"


def of_one(part: Part) -> str:
    """What one execution did, by itself."""
    return " ".join((*_how(part, []), *_itself(part, [])))


def _itself(part: Part, owners: Sequence[Part]) -> Sequence[str]:
    return part.told if part.role != "owner" else tuple(of_owner(part, before(part, owners)))


# ---- an operation ----


def summary(
    parts: Sequence[Part],
    record: Mapping[str, Any] | None = None,
    now: datetime.datetime | None = None,
    refused: Sequence[str] = (),
) -> str:
    """What happened to an operation: its executions, the oldest first, as far as they are known, and its record.

    `refused` are the errors of kept requests that other executions refused.
    """
    owners = [each for each in parts if each.role == "owner"]
    told: list[str] = []
    for number, each in enumerate(owners):
        told += [*_how(each, owners[:number]), *_itself(each, owners[:number])]
    told += _of_the_last_owner(owners, record or {}) if owners else [*_refused_alone(parts), *_of_record(record or {})]
    told += [*_by_a_person(record or {}), *_by_its_ticket(record or {}), *_open(record or {}, parts, now)]
    told += _of_duplicates(parts, bool(owners), refused)
    return " ".join(told) or "Nothing is known of it any more."


def _how(part: Part, owners: Sequence[Part]) -> Iterator[str]:
    """How an owner got the lock, where this is no new request; `owners` are those before it that are known."""
    may = "" if owners else ": your function may have run before"
    is_known = _is_known(part.taken_from, owners)
    who = "recovery" if part.by_recovery else "another request"
    if part.taken_as == "started again":
        yield f"A person had it started again{may}."
    elif part.taken_as == "released":
        yield from [] if is_known else [_released(part)]
    elif part.taken_as == "not ended in time":
        yield from [] if is_known else ["Your function ran before, and started work elsewhere."]
        yield f"Work elsewhere did not end it in time, so {who} took over."
    elif part.taken_as == "died":
        if not is_known:
            name = name_of(part.taken_from)
            yield f"Its owner before ({name}) ended before it was done: your function may have run then."
        yield f"{who.capitalize()} took over."
    elif part.tries_again:
        yield f"A request with onFailed retry had it tried again{may}."
    elif part.began_anew or (owners and not part.taken_from):
        yield "Its record had expired or was released, so the next request began anew:"
        yield "an effect from before may have happened twice."


def _released(part: Part) -> str:
    """What an owner did that nobody can look up; it takes an attempt back that did not start."""
    was_direct = is_direct(part.taken_from)
    lane = "direct" if was_direct else "fast"
    if part.attempt == 1 and part.starts:
        why = "before it started your function" if was_direct else "since Lambda had refused to start your function"
        return f"The {lane} lane handed it over, {why}."
    error = f" ({part.taken_error})" if part.taken_error else ""
    return f"The {lane} lane tried it once{error}, and handed it over: your function may have run then."


def _refused_alone(parts: Sequence[Part]) -> Iterator[str]:
    if len(parts) == 1 and parts[0].role != "duplicate":
        yield from parts[0].told


def _of_the_last_owner(owners: Sequence[Part], record: Mapping[str, Any]) -> Iterator[str]:
    """What became of the operation after the owners that are known."""
    owner = str(record.get("owner", ""))
    if owner and not _is_no_execution(owner) and not _is_known(owner, owners):
        another = "a request in the direct lane" if is_direct(owner) else "another execution"
        yield f"Then {another} took over."
        yield from _of_record(record)


def _is_known(owner: str, owners: Sequence[Part]) -> bool:
    """Whether that is one of these, or the one from whom one of these took the lock, of whom that was told."""
    return any(owner.startswith(each.arn) or owner == each.taken_from for each in owners)


def _of_record(record: Mapping[str, Any]) -> Iterator[str]:
    """What is known where no execution is, as of those in the fast lane."""
    if OPERATOR in str(record.get("owner")):
        return
    error, started = _error(record), f"Your function {_started(record)}"
    if str(record.get("owner")).startswith(TICKET):
        yield f"{started}, and started work elsewhere."
        return
    why = why_not_again(str((record.get("error") or {}).get("name")), record.get("onCrash"))
    is_pending, was_released = "pendingSince" in record, _was_released(record)
    may = "" if started.endswith("was not started") else ", and its effect may have happened"
    ends = {
        "COMPLETED": f"{started}, and its answer is stored.",
        "FAILED": f"{started}, and failed for good ({error}); the failure is stored.",
        "QUARANTINED": f"{started}{may}. {quarantined(error, why)}",
        "IN_PROGRESS": f"{started}, and {'started work elsewhere' if is_pending else 'the end is not known yet'}.",
    }
    if was_released:
        failed = f", and failed ({error}): its effect may have happened" if may else ""
        ends["IN_PROGRESS"] = f"{started}{failed}. It was handed over to the full lane."
    yield from filter(None, [ends.get(str(record.get("status")))])


def _started(record: Mapping[str, Any]) -> str:
    """How often, as far as its record can say: an owner may have died before the start that it had counted, and an
    operator's decision, an expiry and a failed operation that is tried again make it count anew, under a later fence.
    """
    said = (record.get(name) for name in ("attempts", "fence"))
    attempts, fence = (each if isinstance(each, int) else 0 for each in said)  # a function may have written anything
    error = (record.get("error") or {}).get("name")
    fence -= str(record.get("owner")).startswith(TICKET)  # a ticket takes the next fence, and starts nothing
    if fence > 1:
        return f"may have been started {f'{attempts} times' if fence == attempts else f'more than {_times(attempts)}'}"
    if attempts == 0 or error == "NoFunction":
        return "was not started"
    has_said = record.get("status") != "IN_PROGRESS" or "pendingSince" in record or _was_released(record)
    is_sure = has_said and error not in ("OwnerCrashed", "AttemptsUsedUp")
    return "was started once" if is_sure else "may have been started once"


def _was_released(record: Mapping[str, Any]) -> bool:
    """Whether its owner ended the lease: what it had started, if anything, has failed."""
    return record.get("status") == "IN_PROGRESS" and record.get("leaseExpiresAt") == 0


def _times(count: int) -> str:
    return "once" if count < 2 else f"{count} times"


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


def _is_no_execution(owner: str) -> bool:
    return OPERATOR in owner or owner.startswith(TICKET)


def _by_its_ticket(record: Mapping[str, Any]) -> Iterator[str]:
    if not str(record.get("owner")).startswith(TICKET):
        return
    if record["status"] == "COMPLETED":
        yield "Work elsewhere ended it with its ticket, and gave its answer, which is stored."
    elif record["status"] == "FAILED":
        yield f"Work elsewhere ended it with its ticket, as failed for good ({_error(record)}); the failure is stored."


def _open(record: Mapping[str, Any], parts: Sequence[Part], now: datetime.datetime | None) -> Iterator[str]:
    owners = [each for each in parts if each.role == "owner"]
    if record.get("status") == "QUARANTINED":
        owner = str(record.get("owner"))
        if owners and _is_known(owner, owners) and all(each.status != "QUARANTINED" for each in owners):
            why = why_not_again(str((record.get("error") or {}).get("name")), record.get("onCrash"))
            yield quarantined(_error(record), why)
        yield "Nothing happens until a person decides."
    elif record.get("status") == "IN_PROGRESS" and now and OPERATOR not in str(record.get("owner")):
        is_for_a_person = record.get("onCrash") == "quarantine"
        then = "quarantines it, and does not start it again: onCrash is quarantine" if is_for_a_person else ""
        then = f"a sweep {then or 'starts it again'}"
        lease, is_pending = float(record["leaseExpiresAt"]), "pendingSince" in record
        if lease <= now.timestamp():
            is_started = any(each.by_recovery and each.is_running for each in parts)
            late = "Work elsewhere has not ended it in time" if is_pending else "Its lease is over"
            yield from [] if is_started else [f"{late}: the next sweep looks after it."]
        elif is_pending:
            until = day_and_time(datetime.datetime.fromtimestamp(lease, datetime.UTC))
            yield f"It is pending: work elsewhere ends it with its ticket, or a person does. If not by {until}, {then}."
        elif is_direct(str(record["owner"])):
            yield f"If it has not ended when its lease is over, {then}."
        elif owners and not owners[-1].is_running:
            yield f"When its lease is over, {then}."


def _error(record: Mapping[str, Any]) -> str:
    return NAMED.sub("", ": ".join(each for each in (record.get("error") or {}).values() if isinstance(each, str)))


def _of_duplicates(parts: Sequence[Part], some_owner: bool, kept: Sequence[str]) -> Iterator[str]:
    if some_owner and (waiting := sum(each.role == "running" and not each.by_recovery for each in parts)):
        yield f"{waiting} {'request waits' if waiting == 1 else 'requests wait'} for it."
    for end, count in Counter(each.end for each in parts if each.role == "duplicate").items():
        some = f"{count} {'duplicate' if count == 1 else 'duplicates'}"
        yield f"{some} {OF_DUPLICATES[end][0]}."
    died = Counter(each.end for each in parts if each.role == "died" and (some_owner or len(parts) > 1))
    for end, count in died.items():
        yield f"{count} {'request' if count == 1 else 'requests'} ended in {end}, without a lock."
    refused = Counter(each.end for each in parts if each.role == "refused" and (some_owner or kept or len(parts) > 1))
    for error, count in (refused + Counter(kept)).items():
        some = f"{count} {'request' if count == 1 else 'requests'}"
        what = " with another payload under this key" if error == "PayloadMismatch" else ""
        yield f"{some}{what} {'was' if count == 1 else 'were'} refused{'' if what else f' ({error})'}."
