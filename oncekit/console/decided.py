"""What operators decided about an operation, as its record keeps it, and when: their clocks are not AWS's."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oncekit.console.moments import Moment, time_of
from oncekit.console.parts import Part
from oncekit.contract.lanes import name_of
from oncekit.contract.words import OPERATOR

VERBS = {
    "retry": "had it run again",
    "resolve": "gave its answer",
    "fail": "said that it failed",
    "release": "freed the key, so that the next request begins anew",
    "forget": "had its request forgotten",
}
CLOCKS_DIFFER = datetime.timedelta(minutes=5)
"""By which an operator's clock may be ahead: what is signed with a greater difference AWS refuses."""


def decided(owners: Sequence[Part], record: Mapping[str, Any]) -> Iterator[Moment]:
    """What operators had run again was so before it was started again, whatever their clocks say."""
    again = [each.locked for each in owners if each.taken_as == "started again"]
    if record.get("status") == "IN_PROGRESS" and OPERATOR in str(record.get("owner")):
        again.append(None)  # the last decision is still to be carried out
    told: list[Moment] = []
    for each in reversed(decisions(record)):
        at, because = decided_at(each, owners), f": {each['because']}" if "because" in each else ""
        started = again.pop() if again and each["verb"] == "retry" else None
        if at and started and started <= at <= started + CLOCKS_DIFFER:
            at = started - datetime.timedelta(milliseconds=1)
        told.append(Moment("person", f"{each.get('who')} {VERBS[each['verb']]}{because}", at))
    return reversed(told)


def decided_at(decision: Mapping[str, Any], owners: Sequence[Part]) -> datetime.datetime | None:
    """Not before the end of the owner that it was about, nor of the recovery that quarantined that one."""
    at, owner = time_of(decision.get("at")), decision.get("owner")
    ends = [each.ended for each in owners if each.ended and owner in (name_of(each.arn), name_of(each.taken_from))]
    return max([at, *ends]) if at else None


def ended_at(owners: Sequence[Part], record: Mapping[str, Any]) -> datetime.datetime | None:
    """The same of the end that a record has, where a person gave it."""
    at = time_of(record.get("finishedAt"))
    ends = [each.ended for each in owners if each.ended] if OPERATOR in str(record.get("owner")) else []
    return max([at, *ends]) if at else None


def decisions(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """As far as the record keeps them; a function with steps may have written anything there."""
    found = record.get("decisions")
    every = found if isinstance(found, list) else []
    return [each for each in every if isinstance(each, Mapping) and str(each.get("verb")) in VERBS]


def was_run_again(record: Mapping[str, Any]) -> bool:
    """By a person, in this try: its attempts are counted from then on."""
    began = time_of(record.get("acquiredAt"))
    again = [at for each in decisions(record) if each["verb"] == "retry" and (at := time_of(each.get("at")))]
    return began is not None and any(began <= at for at in again)
