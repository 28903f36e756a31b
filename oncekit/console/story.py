"""What happened to an operation, moment by moment: one text for the page, `once show` and the terminal of `once up`.

Made of the parts that executions had in it, as far as they are known, of its record, and of what its function logged.
Where nobody has seen when something happened, as of an owner that left no history, its moment has no time.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from oncekit.console.moments import Kind, Moment, Story, between, error_name, in_order, time_of, whole
from oncekit.console.owner import before
from oncekit.console.parts import OF_DUPLICATES, Part
from oncekit.contract.lanes import is_direct, lane_of, name_of
from oncekit.contract.words import OPERATOR, TICKET

VERBS = {
    "retry": "had it run again",
    "resolve": "gave its answer",
    "fail": "said that it failed",
    "release": "freed the key, so that the next request begins anew",
    "forget": "had its request forgotten",
}
_CAME = re.compile(r"first-[0-9a-f]{40}-([0-9]{13})")
"""The name of an execution to which the fast lane handed a request over, with the time when that came there, in ms."""
_MAY = "its effect may have happened; "
_SLACK = datetime.timedelta(seconds=1)


@dataclass(frozen=True)
class Logged:
    """What an attempt logged first and last."""

    attempt: int | None
    at: datetime.datetime
    until: datetime.datetime


def others(count: int, end: str) -> str:
    """How many duplicates ended so: `999 came while it was in progress`."""
    return f"{count:,} {OF_DUPLICATES[end][0]}"


def story(
    parts: Sequence[Part], record: Mapping[str, Any] | None, now: datetime.datetime, logged: Sequence[Logged] = ()
) -> Story:
    """`parts` are those of the executions that are known, the oldest first."""
    known = record or {}
    owners = [each for each in parts if each.role == "owner"]
    told = [
        *_asked_before(owners, known),
        *_logged_before(owners, logged),
        *(found for number in range(len(owners)) for found in _of_owners(owners, number, known)),
        *_decided(known),
        *_of_record(owners, known, now),
        *_of_others(parts),
    ]
    return whole(in_order(told), known, now)


# ---- owners ----


def _of_owners(owners: Sequence[Part], number: int, record: Mapping[str, Any]) -> Iterator[Moment]:
    part = owners[number]
    yield from _of_owner(part, owners[:number])
    next_began = next((each.began for each in owners[number + 1 :]), None)
    answered = [
        at for each in decisions(record) if each["verb"] in ("resolve", "fail") and (at := time_of(each.get("at")))
    ]
    ended = part.ended if part.ending.kind in ("stopped", "broken") else None
    if ended and any(ended <= at and (next_began is None or at < next_began) for at in answered):
        yield Moment("unknown", "What happened until a person decided is not kept")


def _of_owner(part: Part, owners: Sequence[Part]) -> Iterator[Moment]:
    """`owners` are those before it that are known."""
    me = (part.arn,)
    if part.taken_from:
        yield from _until_taken(part, owners)
        who = "Recovery" if part.by_recovery else "Another request"
        ways = {"started again": "It was started again", "released": "The full lane went on with it"}
        yield Moment("owner", ways.get(part.taken_as, f"{who} took over, in the full lane"), part.locked, executions=me)
    else:
        came = _CAME.fullmatch(name_of(part.arn))
        at = datetime.datetime.fromtimestamp(int(came[1]) / 1000, datetime.UTC) if came else part.began
        lane = "in the fast lane, which handed it over" if came else f"in the {lane_of(part.arn)} lane"
        why = ", with onFailed retry: it had failed before" if part.tries_again else ""
        why = why or (
            ", anew: its record had expired or was released, so an effect from before may have happened twice"
            if part.began_anew
            else ""
        )
        yield Moment("asked", f"Asked {lane}{why}", at)
        yield Moment("owner", f"{name_of(part.arn)} got the lock", part.locked, executions=me)
    yield from _starts(part, before(part, owners).count + 1 if owners or part.is_first else part.attempt)
    yield from _ending(part)


def _until_taken(part: Part, owners: Sequence[Part]) -> Iterator[Moment]:
    """From the end of the owner before to this one; what a person started again or a lane handed over did not wait."""
    theirs = next((each for each in reversed(owners) if part.taken_from.startswith(each.arn)), None)
    at = theirs.ended if theirs else None
    lease = datetime.datetime.fromtimestamp(part.lease, datetime.UTC) if part.lease else None
    if part.taken_as == "died" and theirs is None:
        yield Moment(
            "died",
            f"Its owner before ({name_of(part.taken_from)}) ended before it was done: your function may have run",
        )
    if theirs is None and part.taken_as == "released" and part.taken_error:
        yield Moment("failed", f"Your function failed ({part.taken_error}): its effect may have happened")
    if part.taken_as == "released" and (is_direct(part.taken_from) or between(at or part.began, part.locked) >= 1):
        yield Moment("waited", "Waited for the sweep", at, part.locked)
    elif part.taken_as == "died":
        yield Moment("waited", f"Waited {_for(lease, at)}", at, part.locked)
    elif part.taken_as == "not ended in time":
        yield Moment("elsewhere", "Waited for work elsewhere, which did not end it in time", at, part.locked)


def _for(lease: datetime.datetime | None, since: datetime.datetime | None) -> str:
    over = lease and since and lease <= since + _SLACK
    return "for the sweep" if over else "until its lease was over, and for the sweep"


def _starts(part: Part, number: int) -> Iterator[Moment]:
    """Of business logic, those that ended alike together; `number` is that of the first attempt."""
    for (end, error), group in groupby(part.starts, lambda each: (each.end, each.error)):
        some = list(group)
        at, until = some[0].at, some[-1].until
        if end == "refused":
            times = "" if len(some) == 1 else f" {len(some)} times"
            yield Moment("failed", f"Lambda refused to start your function{times} ({error})", at, until)
            continue
        which = f"attempt {number}" if len(some) == 1 else f"attempts {number} to {number + len(some) - 1}"
        number += len(some)
        if end == "answered":
            yield Moment("ran", f"Your function ran ({which})", at, until)
        elif end == "running" and part.is_running:
            yield Moment("ran", f"Your function is running ({which})", at)
        elif end == "running":
            yield Moment("failed", f"Your function may have run ({which}), and its effect may have happened", at)
        else:
            how = "failed" if end == "failed" else "gave no answer: its effect may have happened"
            yield Moment("failed", f"Your function {how} ({which}, {error})", at, until)
    gaps = [(each.until, after.at) for each, after in pairwise(part.starts) if each.until and after.at]
    if (pauses := sum(between(*each) for each in gaps)) >= 1:
        yield Moment("paused", "Waited between attempts", gaps[0][0], gaps[-1][1], pauses=pauses)


def _ending(part: Part) -> Iterator[Moment]:
    ending, at = part.ending, part.ended
    if ending.kind == "stored":
        yield Moment("answer", "Its answer is stored: every duplicate gets it", at)
    elif ending.kind == "failed":
        yield Moment("failure", f"It failed for good ({ending.said}): every duplicate gets that", at)
    elif ending.kind == "quarantined":
        effects = {"answered": "its effect has happened; ", "failed": _MAY, "lost": _MAY}
        effect = effects.get(part.starts[-1].end, "") if part.starts else ""
        yield Moment("quarantined", f"Quarantined ({ending.said}): {effect}a person decides", at)
    elif ending.kind == "stopped":
        yield Moment("died", f"Its owner {ending.said}", at)
    elif ending.kind == "passed on":
        yield Moment(
            "owner", f"The fast lane tried once, and handed it over{' ' if ending.why else ''}{ending.why}", at
        )
    elif ending.kind == "pending":
        yield Moment("elsewhere", "Your function started work elsewhere", at)
    elif ending.kind == "broken":
        yield Moment("died", f"Its owner failed in {ending.state} ({ending.said})", at)
    elif ending.kind != "running":
        how = "ended with its ticket" if ending.kind == "by its ticket" else "another owner's, or released"
        yield Moment("died", f"{name_of(part.arn)} found that it was {how}: its own answer does not count", at)


# ---- what no execution tells ----


def _asked_before(owners: Sequence[Part], record: Mapping[str, Any]) -> Iterator[Moment]:
    """When the record's last try began, where that was with none of these owners."""
    at = time_of(record.get("acquiredAt"))
    asked = [(each.began, each.locked) for each in owners if each.locked and not each.taken_from]
    if at is None or any(began - _SLACK <= at <= locked + _SLACK for began, locked in asked):
        return
    is_later = not owners or (owners[0].locked is not None and at > owners[0].locked + _SLACK)
    first = str(record.get("owner", "")) if is_later else owners[0].taken_from
    lane = (
        " in the direct lane" if is_direct(first) else f" in the {lane_of(first)} lane" if _is_execution(first) else ""
    )
    yield Moment("asked", f"Asked{lane}", at)
    if is_direct(first) or _is_execution(first):
        holds = "got the lock" if not is_later or record.get("fence") == 1 else "has the lock, or had it last"
        yield Moment("owner", f"{name_of(first)} {holds}", at)


def _is_execution(owner: str) -> bool:
    return owner.startswith("arn:") and OPERATOR not in owner


def _logged_before(owners: Sequence[Part], logged: Sequence[Logged]) -> Iterator[Moment]:
    """Attempts of owners that have no history, by their logs."""
    first = min((each.locked for each in owners if each.locked), default=None)
    for each in logged:
        if first is None or each.at < first:
            which = f"attempt {each.attempt}" if each.attempt else "an attempt"
            yield Moment("ran", f"Your function logged something ({which})", each.at, each.until)


def _of_record(owners: Sequence[Part], record: Mapping[str, Any], now: datetime.datetime) -> Iterator[Moment]:
    """How it goes on, or ended, where none of these owners says so."""
    owner, status, at = str(record.get("owner", "")), record.get("status"), time_of(record.get("finishedAt"))
    last = next((each for each in reversed(owners) if owner.startswith(each.arn)), None)
    if last is None and _is_execution(owner) and owners:
        yield Moment("owner", f"{name_of(owner)} took over")
    if status in ("COMPLETED", "FAILED") and owners and owners[-1].ending.kind == "pending":
        yield Moment("elsewhere", "Waited for work elsewhere", owners[-1].ended, at)
    if status == "IN_PROGRESS":
        yield from _open(record, last, now)
    elif last is not None and (status != "QUARANTINED" or owners[-1].ending.kind == "quarantined"):
        return
    elif owner.startswith(TICKET):
        kind: Kind = "answer" if status == "COMPLETED" else "failure"
        yield Moment(kind, "Work elsewhere ended it with its ticket", at)
    elif status == "COMPLETED":
        yield Moment("answer", "Its answer is stored: every duplicate gets it", at)
    elif status == "FAILED" and OPERATOR not in owner:
        yield Moment("failure", f"It failed for good ({error_name(record)}): every duplicate gets that", at)
    elif status == "FAILED" and error_name(record) == "ResolvedByOperator":
        yield Moment("failure", "It counts as failed: every duplicate gets that", at)
    elif status == "QUARANTINED":
        yield Moment("quarantined", f"Quarantined ({error_name(record)}): a person decides", at)


def _open(record: Mapping[str, Any], last: Part | None, now: datetime.datetime) -> Iterator[Moment]:
    lease, since = float(record.get("leaseExpiresAt", 0)), time_of(record.get("pendingSince"))
    until = datetime.datetime.fromtimestamp(lease, datetime.UTC)
    over = "Its lease is over: the next sweep looks after it"
    sweep = "a sweep quarantines it" if record.get("onCrash") == "quarantine" else "a sweep starts it again"
    if since is not None:
        yield Moment("elsewhere", f"Waits for work elsewhere to end it: else {sweep}", since, now)
    elif last is not None and not last.is_running and last.ending.kind in ("stopped", "broken"):
        yield Moment(
            "waited", over if until <= now else f"Waits until its lease is over: then {sweep}", last.ended, now
        )
    elif last is None and not lease:
        if error := error_name(record):
            yield Moment("failed", f"Your function failed ({error}): its effect may have happened")
        yield Moment("waited", "Waits for the next sweep, which has it run")
    elif last is None and until <= now:
        yield Moment("waited", over, until, now)


def _decided(record: Mapping[str, Any]) -> Iterator[Moment]:
    """What operators decided."""
    for each in decisions(record):
        because = f": {each['because']}" if "because" in each else ""
        yield Moment("person", f"{each.get('who')} {VERBS[each['verb']]}{because}", time_of(each.get("at")))


def decisions(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """As far as the record keeps them; a function with steps may have written anything there."""
    found = record.get("decisions")
    every = found if isinstance(found, list) else []
    return [each for each in every if isinstance(each, Mapping) and str(each.get("verb")) in VERBS]


def _of_others(parts: Sequence[Part]) -> Iterator[Moment]:
    """All that had no lock, those together that ended alike."""
    rest = [each for each in parts if each.role != "owner"]
    for (role, end), group in groupby(sorted(rest, key=_alike), _alike):
        some = list(group)
        arns = [each.arn for each in reversed(some)]
        until = some[-1].ended or some[-1].began
        yield Moment("others", _of_some(some, role, end), some[0].began, max(until, some[0].began), arns)


def _alike(part: Part) -> tuple[str, str]:
    return part.role, "" if part.role == "running" else part.end


def _of_some(some: Sequence[Part], role: str, end: str) -> str:
    count = f"{len(some):,}"
    if role == "duplicate":
        return others(len(some), end)
    if role == "running":
        return f"{count} {'waits' if len(some) == 1 else 'wait'} for it"
    if role == "refused":
        what, why = (" with another payload", "") if end == "PayloadMismatch" else ("", f" ({end})")
        return f"{count}{what} {'was' if len(some) == 1 else 'were'} refused{why}"
    if role == "passed on":
        did = "found nothing to do" if some[0].by_recovery else "handed it over to the full lane"
        return f"{count} {did}"
    return f"{count} ended in {end or 'no state'}, without a lock"
