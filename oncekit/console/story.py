"""What happened to an operation, moment by moment: one text for the page, `once show`, `once run` and `once up`.

Made of the parts that executions had in it, as far as they are known, of its record, and of what its function logged.
Where nobody has seen when something happened, as of an owner that left no history, its moment has no time. Of a start
that gave no answer it says that the effect may have happened; where some starts are not known, how many there may be.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, zip_longest
from typing import Any

from oncekit.console import starts
from oncekit.console.decided import decided, decided_at, decisions, ended_at
from oncekit.console.moments import Kind, Moment, Story, at_epoch, between, error_of_record, time_of, whole
from oncekit.console.parts import OF_DUPLICATES, RECOVERY, Part, why_not_again
from oncekit.contract.lanes import DIRECT, FULL, is_direct, lane_of, name_of
from oncekit.contract.words import OPERATOR, RELEASED, TICKET

_CAME = re.compile(r"first-[0-9a-f]{40}-([0-9]{13})")
"""The name of an execution to which the fast lane handed a request over, with the time when that came there, in ms."""
MISMATCH = "PayloadMismatch"
"""The error of a request whose key belongs to another payload."""
MAY = "its effect may have happened"
NOT_STARTED = "was not started"
STORED = "Its answer is stored: every duplicate gets it"
ENDED = ("stored", "failed", "quarantined")
"""How an owner ends that has said how the operation ended."""
_SLACK = datetime.timedelta(seconds=1)


@dataclass(frozen=True)
class Logged:
    """What an attempt logged first and last."""

    attempt: int | None
    at: datetime.datetime
    until: datetime.datetime


@dataclass(frozen=True)
class Kept:
    """A refused request that is kept, where the execution that refused it is not known."""

    error: str
    at: datetime.datetime


def others(count: int, end: str) -> str:
    """How many ended so: `999 duplicates came while it was in progress`."""
    return f"{count:,} {'duplicate' if count == 1 else 'duplicates'} {OF_DUPLICATES[end][0]}"


def of_one(part: Part, now: datetime.datetime) -> str:
    """What one execution did, by itself, in a sentence or more."""
    if part.role == "owner":
        return story([part], None, now).told
    if part.role == "running":
        waits = part.end == "WaitForOwner"
        return "It waits for the owner that is at work on it." if waits else "It has just begun."
    if part.role == "passed on":
        return "Recovery found nothing to do." if part.by_recovery else "It handed the request over to the full lane."
    how = "was refused" if part.role == "refused" else f"ended in {part.end or 'no state'}"
    said = OF_DUPLICATES[part.end][1] if part.role == "duplicate" else f"It {how} ({part.ending.said})."
    return f"{said} Your function did not run."


def story(
    parts: Sequence[Part],
    record: Mapping[str, Any] | None,
    now: datetime.datetime,
    logged: Sequence[Logged] = (),
    refused: Sequence[Kept] = (),
) -> Story:
    """`parts` are those of the executions that are known, the oldest first."""
    known = record or {}
    owners = sorted((each for each in parts if each.role == "owner"), key=lambda each: each.locked or each.began)
    told = [
        *_logged_before(owners, known, logged),
        *_of_owners(owners, known, now),
        *decided(owners, known),
        *_of_record(parts, owners, known, now),
        *_expired(known, now),
        *_of_others(parts, owners),
        *_of_kept(refused),
    ]
    return whole(told, known, now)


# ---- owners ----


def _of_owners(owners: Sequence[Part], record: Mapping[str, Any], now: datetime.datetime) -> Iterator[Moment]:
    """As they got the lock, which is not always as they began: a request may wait until it takes over."""
    unseen = _unseen(owners, record)
    acts = [at for each in decisions(record) if (at := decided_at(each, owners))]
    before: dict[str, Part] = {}
    begun = 0
    for part, after in zip_longest(owners, owners[1:]):
        if unseen and unseen[1] is part:
            yield from _asked_unseen(unseen[0], part, record)
        yield from _of_owner(part, before)
        yield from _starts(part, begun + 1 if owners[0].is_first else part.attempt, now)
        yield from _ending(part)
        ended = part.ended if part.ending.kind in ("stopped", "broken") else None
        if ended and any(ended <= at and (after is None or at < after.began) for at in acts):
            yield Moment("unknown", "What happened until a person decided is not kept")
        before[part.arn] = part
        begun += starts.begun(part.starts)
    if unseen and unseen[1] is None:
        yield from _asked_unseen(unseen[0], None, record)


def _of_owner(part: Part, before: Mapping[str, Part]) -> Iterator[Moment]:
    """How it got the lock; `before` are the owners before it that are known, by ARN."""
    me = (part.arn,)
    is_gap = _lane(part.tries_again) and _owner_among(before, part.tries_again) is None
    may = ": your function may have run before" if is_gap or not before else ""
    if part.taken_from:
        yield from _until_taken(part, before)
        who = "Recovery" if part.by_recovery else "Another request"
        ways = {"started again": f"It was started again{may}", "released": "The full lane went on with it"}
        yield Moment("owner", ways.get(part.taken_as, f"{who} took over, in the full lane"), part.locked, executions=me)
        return
    came = _CAME.fullmatch(name_of(part.arn))
    at = datetime.datetime.fromtimestamp(int(came[1]) / 1000, datetime.UTC) if came else part.began
    lane = "in the fast lane, which handed it over" if came else f"in the {lane_of(part.arn)} lane"
    why = f", with onFailed retry: it had failed before{may and ', and'}{may[1:]}" if part.tries_again else ""
    if part.began_anew or (before and not part.tries_again):
        why = ", anew: its record had expired or was released, so an effect from before may have happened twice"
    yield Moment("asked", f"Asked {lane}{why}", at, is_minor=not why)
    yield Moment("owner", f"{name_of(part.arn)} got the lock", part.locked, executions=me, is_minor=True)


def _until_taken(part: Part, before: Mapping[str, Part]) -> Iterator[Moment]:
    """From the end of the owner before to this one; what a person started again or a lane handed over did not wait."""
    theirs = _owner_among(before, part.taken_from)
    at, lease = theirs.ended if theirs else None, at_epoch(part.lease) if part.lease else None
    for_whom = "the sweep" if part.by_recovery else "another request"
    if part.taken_as == "died" and theirs is None:
        said = f"Its owner before ({name_of(part.taken_from)}) ended before it was done"
        yield Moment("died", f"{said}: your function may have run")
    if part.taken_as == "released" and theirs is None:  # what did not start was taken back
        yield _failed_unseen(part.taken_error, was_started=part.attempt != 1, is_first=part.is_first)
    if part.taken_as == "not ended in time" and theirs is None:
        yield Moment("elsewhere", "Your function had started work elsewhere")
    if part.taken_as == "released" and (is_direct(part.taken_from) or between(at or part.began, part.locked) >= 1):
        yield Moment("waited", f"Waited for {for_whom}", at, part.locked, is_minor=True)
    elif part.taken_as == "died":
        until = "" if lease and at and lease <= at + _SLACK else "until its lease was over, and "
        yield Moment("waited", f"Waited {until}for {for_whom}", at, part.locked, is_minor=True)
    elif part.taken_as == "started again" and before and (last := [*before.values()][-1]).ending.kind == "pending":
        yield Moment("elsewhere", "Waited for work elsewhere", last.ended, part.locked, is_minor=True)
    elif part.taken_as == "not ended in time":
        yield Moment("elsewhere", "Waited for work elsewhere, which did not end it in time", at, part.locked)


def _owner_among(owners: Mapping[str, Part], owner: str) -> Part | None:
    """The one that a lock names; in the fast lane a nonce follows the ARN."""
    return owners.get(owner) or owners.get(owner.rpartition(":")[0])


def _failed_unseen(error: str, was_started: bool, is_first: bool) -> Moment:
    """An attempt of an owner that has no history; `is_first`: none was before it."""
    said = f" ({error})" if error else ""
    if was_started:
        return Moment("failed", f"Your function failed{said}: {MAY}")
    return Moment("failed", f"Your function was not started{said}{'' if is_first else ': it may have run before'}")


def _starts(part: Part, number: int, now: datetime.datetime) -> Iterator[Moment]:
    """Of business logic, those that ended alike together; `number` is that of the first attempt."""
    is_since = part.taken_as == "started again" and number == part.attempt
    for (end, error), group in groupby(part.starts, lambda each: (each.end, each.error)):
        some = list(group)
        at, until, ran = some[0].at, some[-1].until, sum(between(each.at, each.until) for each in some)
        if end == "refused":
            times = "" if len(some) == 1 else f" {len(some)} times"
            yield Moment("failed", f"Lambda refused to start your function{times} ({error})", at, until, seconds=ran)
            continue
        which = f"attempt {number}" if len(some) == 1 else f"attempts {number} to {number + len(some) - 1}"
        which += " since it was run again" if is_since else ""
        number += len(some)
        if end == "answered":
            yield Moment("ran", f"Your function ran ({which})", at, until)
        elif end == "running" and part.is_running:
            yield Moment("ran", f"Your function is running ({which})", at)
        elif end == "running":
            yield Moment("failed", f"Your function may have run ({which}), and {MAY}", at)
        else:
            effects = f": {MAY if len(some) == 1 else 'their effects may have happened'}"
            how = "failed" if end == "failed" else "gave no answer"
            is_left_open = end != "failed" or part.ending.kind not in (*ENDED, "running")
            said = f"Your function {how} ({which}, {error}){effects if is_left_open else ''}"
            yield Moment("failed", said, at, until, seconds=ran)
    gaps = [(each.until, after.at) for each, after in pairwise(part.starts) if each.until and after.at]
    if (pauses := sum(between(*each) for each in gaps)) >= 1:
        between_them = "Waited between attempts"
        yield Moment("paused", between_them, gaps[0][0], gaps[-1][1], seconds=pauses, is_minor=True)
    if part.ending.kind == "running" and part.ending.state == "BackOff" and part.starts:
        yield Moment("paused", f"Waits before attempt {number}", part.starts[-1].until, now)


def _ending(part: Part) -> Iterator[Moment]:
    ending, at = part.ending, part.ended
    last = next((each.end for each in reversed(part.starts) if each.end != "refused"), "")
    if ending.kind == "stored":
        yield Moment("answer", STORED, at)
    elif ending.kind == "failed":
        yield Moment("failure", f"It failed for good ({ending.said}): every duplicate gets that", at)
    elif ending.kind == "quarantined":
        effects = {"answered": "its effect has happened", "failed": MAY}
        yield _quarantined(ending.said, ending.why, effects.get(last, ""), at)
    elif ending.kind == "stopped":
        yield Moment("died", f"Its owner {ending.said}", at)
    elif ending.kind == "passed on":
        how = f": the full lane goes on {ending.why}" if ending.why else ", and handed it over"
        yield Moment("owner", f"The fast lane tried once{how}", at)
    elif ending.kind == "pending":
        yield Moment("elsewhere", "Your function started work elsewhere", at)
    elif ending.kind == "broken":
        yield Moment("died", f"Its owner failed in {ending.state} ({ending.said})", at)
    elif ending.kind != "running":
        how = "ended with its ticket" if ending.kind == "by its ticket" else "another owner's, or released"
        own = ": its own answer does not count" if last == "answered" else ""
        yield Moment("died", f"Its owner found that it was {how}{own}", at, executions=(part.arn,))


def _quarantined(error: str, why: str, effect: str, at: datetime.datetime | None) -> Moment:
    since = f", since {why}" if why else ""
    happened = f"{effect}; " if effect not in ("", why) else ""
    return Moment("quarantined", f"Quarantined ({error}){since}: {happened}a person decides", at)


# ---- what no execution tells ----


def _unseen(owners: Sequence[Part], record: Mapping[str, Any]) -> tuple[datetime.datetime, Part | None] | None:
    """When the record's last try began, where that was with none of these owners, and the first of these after it."""
    at = time_of(record.get("acquiredAt"))
    asked = [(each.began, each.locked) for each in owners if each.locked and not each.taken_from]
    if at is None or any(began - _SLACK <= at <= locked + _SLACK for began, locked in asked):
        return None
    return at, next((each for each in owners if each.locked and at <= each.locked + _SLACK), None)


def _asked_unseen(at: datetime.datetime, after: Part | None, record: Mapping[str, Any]) -> Iterator[Moment]:
    """The request that began the last try, and what its record says where no owner of that is known."""
    first = after.taken_from if after else str(record.get("owner", ""))
    lane, attempts = _lane(first), record.get("attempts")
    # In the full lane it may have taken over what was asked in another one; a recovery always has.
    is_later = lane == FULL and (name_of(first).startswith(RECOVERY) or (after is None and attempts != 1))
    yield Moment("asked", f"Asked in the {lane} lane" if lane and not is_later else "Asked", at, is_minor=True)
    if lane and not (after and is_later):
        holds = "got the lock" if after or record.get("fence") == 1 else "has the lock, or had it last"
        yield Moment("owner", f"{name_of(first)} {holds}", at, is_minor=True)
    if after is None:
        yield Moment("unknown", f"Your function {_started(record)}")


def _lane(owner: str) -> str:
    """Empty for one that is in none: an operator, a ticket, or what a function wrote there."""
    is_execution = owner.startswith("arn:") and OPERATOR not in owner
    return DIRECT if is_direct(owner) else lane_of(owner) if is_execution else ""


def _logged_before(owners: Sequence[Part], record: Mapping[str, Any], logged: Sequence[Logged]) -> Iterator[Moment]:
    """Attempts of owners that have no history, by their logs, which may be written after their end."""
    end = time_of(record.get("finishedAt"))
    first = min((each.locked for each in owners if each.locked), default=None)
    for each in logged:
        if first is None or each.at < first:
            which = f"attempt {each.attempt}" if each.attempt else "an attempt"
            at = end if end and end < each.at <= end + _SLACK else each.at
            yield Moment("ran", f"The log has something of {which}", at, each.until, is_minor=True)


def _of_record(
    parts: Sequence[Part], owners: Sequence[Part], record: Mapping[str, Any], now: datetime.datetime
) -> Iterator[Moment]:
    """How it goes on, or ended, where none of these owners says so."""
    owner, status, at = str(record.get("owner", "")), record.get("status"), ended_at(owners, record)
    last = _owner_among({each.arn: each for each in owners}, owner)
    is_known = last is not None or any(owner == each.taken_from for each in owners)
    is_elsewhere, is_of_a_person = owner.startswith(TICKET), OPERATOR in owner
    error, unseen = error_of_record(record), _unseen(owners, record)
    is_told = is_known or (unseen is not None and unseen[1] is None)
    if not is_told and owners and _lane(owner):
        yield Moment("owner", f"{name_of(owner)} took over")
    if not is_told and record and not (owners and (is_elsewhere or is_of_a_person)):
        yield Moment("unknown", f"Your function {_started(record)}")
    if status in ("COMPLETED", "FAILED") and owners and owners[-1].ending.kind == "pending":
        yield Moment("elsewhere", "Waited for work elsewhere", owners[-1].ended, at, is_minor=True)
    if status == "IN_PROGRESS":
        yield from _open(record, last, any(each.by_recovery and each.is_running for each in parts), now)
    elif is_known and (owners[-1] if last is None or status == "QUARANTINED" else last).ending.kind in ENDED:
        return
    elif is_elsewhere:
        ended = "Work elsewhere ended it with its ticket"
        failed = f"{ended}, as failed for good ({error}): every duplicate gets that"
        yield Moment("answer", ended, at) if status == "COMPLETED" else Moment("failure", failed, at)
    elif status == "COMPLETED":
        yield Moment("answer", STORED, at)
    elif status == "FAILED" and not is_of_a_person:
        yield Moment("failure", f"It failed for good ({error}): every duplicate gets that", at)
    elif status == "FAILED" and error.startswith("ResolvedByOperator"):
        yield Moment("failure", f"It counts as failed ({error}): every duplicate gets that", at)
    elif status == "QUARANTINED":
        if last is not None and last.ending.kind in ("stopped", "broken"):
            yield Moment("waited", "Waited until its lease was over, and for the sweep", last.ended, at, is_minor=True)
        why = why_not_again(error.partition(":")[0], record.get("onCrash"))
        yield _quarantined(error, why, "" if _started(record) == NOT_STARTED else MAY, at)


def _started(record: Mapping[str, Any]) -> str:
    """How often, as far as its record can say: an owner may have died before the start that it had counted, and an
    operator's decision, an expiry and a failed operation that is tried again make it count anew, under a later fence.
    """
    said = (record.get(name) for name in ("attempts", "fence"))
    attempts, fence = (each if isinstance(each, int) else 0 for each in said)  # a function may have written anything
    error, owner = error_of_record(record).partition(":")[0], str(record.get("owner"))
    is_open, is_of_a_person = record.get("status") == "IN_PROGRESS", OPERATOR in owner
    fence -= is_of_a_person or owner.startswith(TICKET)  # they take the next fence, and start nothing
    if fence > 1 or (is_open and is_of_a_person):
        times = f" {attempts} times" if fence == attempts else f" more than {_times(attempts)}" if attempts else ""
        return f"may have been started{times}"
    if attempts == 0 or error == "NoFunction":
        return NOT_STARTED
    was_released = record.get("leaseExpiresAt") == 0  # what its owner had started, if anything, has failed
    has_said = not is_open or "pendingSince" in record or was_released
    is_sure = has_said and not is_of_a_person and error not in ("OwnerCrashed", "AttemptsUsedUp")
    return "was started once" if is_sure else "may have been started once"


def _times(count: int) -> str:
    return "once" if count < 2 else f"{count} times"


def _open(
    record: Mapping[str, Any], last: Part | None, is_looked_after: bool, now: datetime.datetime
) -> Iterator[Moment]:
    if is_looked_after or (last is not None and last.is_running):
        return
    lease, since = record.get("leaseExpiresAt", 0), time_of(record.get("pendingSince"))
    until = at_epoch(lease)
    kind: Kind = "elsewhere" if since else "waited"
    is_for_a_person = record.get("onCrash") == "quarantine"
    sweep = "a sweep quarantines it: onCrash is quarantine" if is_for_a_person else "a sweep starts it again"
    by_a_person = decisions(record)[-1:] if OPERATOR in str(record.get("owner")) else []
    begin = last.ended if last else next((time_of(each.get("at")) for each in by_a_person), None)
    begin = max([since, *([begin] if begin else [])]) if since else begin
    if lease == 0:
        if last is None and (error := error_of_record(record)):
            yield _failed_unseen(error, record.get("attempts") != 0, is_first=record.get("fence") == 1)
        yield Moment(kind, "Waits for the next sweep, which has it run", begin, now)
    elif until and until <= now:
        late = "Work elsewhere has not ended it in time" if since else "Its lease is over"
        yield Moment(kind, f"{late}: the next sweep looks after it", begin or until, now)
    elif since:
        yield Moment(kind, f"Waits for work elsewhere to end it, or for a person: else {sweep}", begin, now)
    elif last is not None:
        yield Moment(kind, f"Waits until its lease is over: then {sweep}", begin, now)
    else:
        yield Moment("unknown", f"If its owner has not ended it when its lease is over, {sweep}")


def _expired(record: Mapping[str, Any], now: datetime.datetime) -> Iterator[Moment]:
    is_released = error_of_record(record).startswith(RELEASED)  # which says so already
    if (at := at_epoch(record.get("expiresAt"))) and at < now and not is_released:
        yield Moment("unknown", "Its record has expired: the next request begins anew", at)


# ---- duplicates ----


def _of_others(parts: Sequence[Part], owners: Sequence[Part]) -> Iterator[Moment]:
    """All that had no lock, those together that ended alike; such as came with the first owner stand below it."""
    first = min((each.locked for each in owners if each.locked), default=None)
    rest = [each for each in parts if each.role != "owner"]
    for (role, end, _), group in groupby(sorted(rest, key=_alike), _alike):
        some = list(group)
        arns = [each.arn for each in reversed(some)]
        came = some[0].began
        at, until = first if first and first - _SLACK <= came < first else came, some[-1].ended or some[-1].began
        yield Moment("others", _of_some(some, role, end), at, max(until, at), arns)


def _of_kept(refused: Sequence[Kept]) -> Iterator[Moment]:
    for error, group in groupby(sorted(refused, key=lambda each: (each.error, each.at)), lambda each: each.error):
        some = list(group)
        yield Moment("others", _refused_of(len(some), error), some[0].at, some[-1].at)


def _alike(part: Part) -> tuple[str, str, bool]:
    return part.role, "" if part.role == "running" else part.end, part.by_recovery


def _of_some(some: Sequence[Part], role: str, end: str) -> str:
    count, said = _requests(len(some)), some[0].ending.said
    why = f" ({said})" if len(some) == 1 and said else ""
    if role == "duplicate":
        return others(len(some), end)
    if role == "refused":
        return _refused_of(len(some), end, why)
    if some[0].by_recovery and role != "died":
        return "Recovery looks after it" if role == "running" else "Recovery found nothing to do"
    if role == "running":
        return f"{count} {'waits' if len(some) == 1 else 'wait'} for it"
    if role == "passed on":
        return f"{count} handed it over to the full lane"
    return f"{count} ended in {end or 'no state'}{why}"


def _refused_of(count: int, error: str, why: str = "") -> str:
    what = " with another payload" if error == MISMATCH else ""
    return f"{_requests(count)}{what} {'was' if count == 1 else 'were'} refused{'' if what else why or f' ({error})'}"


def _requests(count: int) -> str:
    return f"{count:,} {'request' if count == 1 else 'requests'}"
