"""The paths of the crash matrix: what is sent, and what was there before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Request = Mapping[str, Any]
Batch = tuple[Request, ...]
"""Comes in one event in the direct lane; elsewhere, one after the other."""
Sent = Request | str | list[Mapping[str, Any]] | Batch


@dataclass(frozen=True)
class Path:
    """`requests` are sent under faults, each `apart` seconds after the one before; `before` were sent without any.

    `dead` names the state at whose call the owner of `before` was killed, its lease being over since.
    """

    name: str
    requests: tuple[Sent, ...]
    """A string is the text that is sent."""
    before: tuple[Sent, ...] = ()
    apart: float = 0.0
    dead: str = ""
    killed: str = ""
    """The state at whose call the first of `requests` is killed, so that recovery is on the path."""
    ends: tuple[str, ...] = ("COMPLETED",)
    """Statuses of the records in the end, whatever happens that kills nobody and leaves business logic alone."""
    background: str = "calm"
    faults: tuple[str, ...] = ()
    """These alone; empty for all."""
    operated: bool = False
    """An operator acts before each call."""
    enduring: bool = False
    """Interfaces are down for hours, and connections of functions for good."""
    lane: str = "full"
    """Where `requests` are sent: `full`, `fast`, `direct`, or to several by turns, as in `fast, full`."""
    lane_before: str = "full"
    throttled: float = 0.0
    """Seconds from the beginning for which no function is to be had."""
    joined: bool = False
    """A duplicate comes by the other lane before each call."""

    def lane_of(self, number: int) -> str:
        """Of the n-th of `requests`, from 0."""
        lanes = self.lane.split(", ")
        return lanes[number % len(lanes)]

    @property
    def uses_fast_lane(self) -> bool:
        return "fast" in f"{self.lane}, {self.lane_before}"

    @property
    def uses_direct_lane(self) -> bool:
        return "direct" in f"{self.lane}, {self.lane_before}"

    def lane_of_duplicate(self, number: int) -> str:
        """Of the n-th of `all_requests` when it is sent again: another lane than before, of those on the path."""
        sent = self.lane_before if number < len(self.before) else self.lane_of(number - len(self.before))
        if self.uses_direct_lane and sent != "direct":
            return "direct"
        return "fast" if self.uses_fast_lane and sent != "fast" else "full"

    @property
    def all_requests(self) -> tuple[Sent, ...]:
        return (*self.before, *self.requests)


def request(operation: str, payload: Mapping[str, Any], **more: Any) -> Request:
    return {"operation": operation, "tenant": "acme", "idempotencyKey": "key-1", "payload": payload, **more}


def charge(amount: int = 4200, **more: Any) -> Request:
    return request("charge-payment", {"orderId": "o-1", "amount": amount, "currency": "EUR"}, **more)


def hard(*script: str, note: str = "", **more: Any) -> Request:
    return request("hard-work", {"script": list(script), **({"note": note} if note else {})}, **more)


def again(*script: str, **more: Any) -> Request:
    """Fails, and is sent again to be tried again; the script goes by fences, as attempts start over."""
    return request("hard-work", {"script": list(script), "by": "fence"}, onFailed="retry", **more)


def keyed(given: Request, number: int) -> Request:
    return {**given, "idempotencyKey": f"key-{number}"}


def elsewhere(seconds: int, *says: tuple[float, str], **more: Any) -> Request:
    """Work goes on elsewhere, for so many seconds at most, and says this so many seconds after it was started."""
    payload = {"seconds": seconds, "says": [list(each) for each in says]}
    return request("elsewhere", payload | ({"goesOn": 5} if says[:1] and not says[0][0] else {}), **more)


def enveloped(given: Request) -> list[Mapping[str, Any]]:
    """As the pipe sends what comes by the queue."""
    return [{"body": given}]


def bulky(given: Request) -> str:
    """A small request within as many blanks as a text may have: 256 KiB."""
    bare, blanks = len(json.dumps(given, indent=0)), len(json.dumps(given, indent=1)) - len(json.dumps(given, indent=0))
    return json.dumps(given, indent=(262_000 - bare) // blanks)


ORDER = request(
    "place-order", {"customer": "Ada", "items": [{"sku": "pen", "quantity": 2}, {"sku": "ink", "quantity": 1}]}
)
STEPS = request("stepwise", {})
LARGE = hard("ok", note="x" * 8_000)
"""Does not fit into a record."""
REPORT = request("build-report", {"bytes": 6000})
CAREFUL = charge(onCrash="quarantine")
SLOW = hard("slow")
FAILS_ONCE = again("PermanentError", "ok")
TWO = (charge(), charge())
DEATHS = ("dies before", "dies after")
SAID = (*DEATHS, "answer lost", "never arrives", "arrives late", "function dies", "connection breaks", "hangs")
AGO = 3.0
"""Seconds since `before` had ended: who reads DynamoDB's clock in answers knows the second, and not more."""
AGED = {"full": 200.0, "fast": 450.0, "direct": 200.0}
"""Seconds since the owner of `before` died, by its lane: its lease is over."""

PLAIN_PATHS: tuple[Path, ...] = (
    Path("new, small", (charge(),)),
    Path("new, large request", (LARGE,), enduring=True),
    Path("new, large result", (REPORT,)),
    Path("new, offloaded by the library", (request("build-report", {"bytes": 300_000}),)),
    Path("replay", (charge(),), before=(charge(),)),
    Path("in progress, acknowledge", (SLOW, SLOW), apart=3),
    Path("in progress, wait", (SLOW, hard("slow", onConflict="wait")), apart=3),
    Path("permanent error", (hard("PermanentError"),), ends=("FAILED",), enduring=True),
    Path("retry, then success", (hard("error", "ok"),)),
    Path("attempts used up", (hard("error"),), ends=("QUARANTINED",), enduring=True),
    Path("throttled", (charge(),), throttled=200.0),
    Path("function is gone", (request("gone-work", {}),), ends=("QUARANTINED",)),
    Path("take-over by a duplicate", (charge(),), before=(charge(),), dead="ExecuteBusinessLogic", enduring=True),
    Path("take-over after success by a duplicate", (charge(),), before=(charge(),), dead="Finalize"),
    Path("needs attention", (hard("NeedsAttention"),), ends=("QUARANTINED",), operated=True),
    Path("quarantine on error", (hard("error", onCrash="quarantine"),), ends=("QUARANTINED",), operated=True),
    Path("quarantine, success", (CAREFUL,)),
    Path("refused", (request("charge-payment", {}, idempotencyKey=""),), ends=(), enduring=True),
    Path("mismatch", (charge(1),), before=(charge(),)),
    Path("plain function, large", (request("plain-work", {"return": "x" * 6000}),)),
    Path("fenced steps", (STEPS,)),
    Path("fenced steps, recovered", (STEPS,), killed="Finalize"),
    Path("recovered", (charge(),), killed="ExecuteBusinessLogic", enduring=True, operated=True),
    Path("recovered, large request", (LARGE,), killed="Finalize"),
)
HARD_PATHS: tuple[Path, ...] = (
    Path(
        "take-over by two duplicates, stale", TWO, before=(charge(),), dead="ExecuteBusinessLogic", background="stale"
    ),
    Path("failed, tried again", (FAILS_ONCE,), before=(FAILS_ONCE,), enduring=True),
    Path("failed, tried again by two", (FAILS_ONCE, FAILS_ONCE), before=(FAILS_ONCE,)),
    Path("failed, tried again, recovered", (FAILS_ONCE,), before=(FAILS_ONCE,), killed="Finalize"),
    Path("recovered, stale", (charge(),), killed="Finalize", background="stale", faults=DEATHS),
    Path("recovered twice at once", (charge(),), killed="Finalize", background="recovery twice"),
    Path("recovered twice, late", (charge(),), killed="ExecuteBusinessLogic", background="recovery late"),
)
COMPLETES, TWICE_SAID = (60, "complete"), ((60, "complete"), (90, "fail"))
EARLY, LATER = (0, "complete"), (200, "complete")
"""Before its function has returned, and when its time is over."""
PENDING_PATHS: tuple[Path, ...] = (
    Path("pending", (elsewhere(300, COMPLETES),), operated=True),
    Path("pending, early", (elsewhere(300, EARLY),)),
    Path("pending, twice", (elsewhere(300, *TWICE_SAID),), faults=SAID),
    Path("pending, fails", (elsewhere(300, (60, "fail")),), ends=("FAILED",), faults=SAID),
    Path("pending, extended", (elsewhere(60, (40, "extend"), (200, "complete")),), faults=SAID),
    Path("pending, late", (elsewhere(60, LATER),), faults=SAID),
    Path("pending, late, quarantine", (elsewhere(60, LATER, onCrash="quarantine"),), operated=True, faults=SAID),
    Path("pending, never", (elsewhere(60),), ends=("QUARANTINED",), faults=DEATHS),
    Path("pending, asked twice", (elsewhere(300, COMPLETES), elsewhere(300, COMPLETES)), apart=20),
    Path("pending, recovered", (elsewhere(300, COMPLETES),), killed="KeepOpen"),
)
FORGETS = ("operator forgets",)
OPERATED = ("operator retries", "operator retries by the sweep", "operator resolves", "operator releases")
"""Just before a call, on paths with something for an operator to do."""
FORGOTTEN_PATHS: tuple[Path, ...] = (
    Path("replay, large result, forgotten", (REPORT,), before=(REPORT,), faults=FORGETS),
    Path("mismatch, forgotten", (charge(1),), before=(charge(),), faults=FORGETS),
    Path("failed, tried again, forgotten", (FAILS_ONCE,), before=(FAILS_ONCE,), faults=FORGETS),
    Path("needs attention, forgotten", (hard("NeedsAttention"),), ends=("QUARANTINED",), faults=FORGETS),
    Path("recovered, large request, forgotten", (LARGE,), killed="Finalize", faults=FORGETS),
)

# ---- in the fast lane, and in both lanes on the same ids ----

UNREADABLE = request("hard-work", {"script": ["ok"], "_jsonata_lambda": True})
"""No expression can look at it."""
SLOW_AND_WAITED_FOR = hard("slow", onConflict="wait")
ENDS_EARLY = (*DEATHS, "hangs to its end", "slow", "answer lost", "never arrives")
IN_THE_END = (*ENDS_EARLY, "the other lane", "arrives late")


def _fast(path: Path) -> Path:
    return replace(path, lane="fast", lane_before="fast")


ALONE: tuple[Path, ...] = (
    Path("fast: new", (charge(),), enduring=True, joined=True),
    Path("fast: new, large request", (LARGE,), enduring=True),
    Path("fast: new, plain, large result", (request("plain-work", {"return": "x" * 6000}),)),
    Path("fast: new, quarantine", (CAREFUL,), joined=True),
    Path("fast: fenced steps", (STEPS,)),
    Path("fast: replay", (charge(),), before=(charge(),)),
    Path("fast: permanent error", (hard("PermanentError"),), ends=("FAILED",), enduring=True),
    Path("fast: retry, then success", (hard("error", "ok"),)),
    Path("fast: attempts used up", (hard("error"),), ends=("QUARANTINED",), operated=True, faults=IN_THE_END),
    Path("fast: function is gone", (request("gone-work", {}),), ends=("QUARANTINED",), faults=ENDS_EARLY),
    Path("fast: failed, tried again", (FAILS_ONCE,), before=(FAILS_ONCE,)),
    Path("fast: refused", (request("charge-payment", {}, idempotencyKey=""),), ends=(), enduring=True),
    Path("fast: unreadable", (UNREADABLE,), ends=()),
    Path("fast: operation for the full lane", (ORDER,), joined=True, operated=True),
    Path("fast: operation for the full lane, waited for", ({**ORDER, "onConflict": "wait"},)),
    Path("fast: no time left", (charge(),), throttled=200.0, joined=True, operated=True),
    Path("fast: no time left, quarantine", (CAREFUL,), throttled=200.0, faults=ENDS_EARLY),
    Path("fast: duplicate of a dead owner", (charge(),), before=(charge(),), dead="ExecuteBusinessLogic"),
    Path("fast: no time left, forgotten", (charge(),), throttled=200.0, faults=FORGETS),
    Path("fast: released, waited for", (hard("error", "ok", onConflict="wait"),), operated=True),
    Path("fast: pending", (elsewhere(300, COMPLETES),), joined=True, operated=True),
    Path("fast: pending, early", (elsewhere(300, EARLY),)),
    Path("fast: pending, late", (elsewhere(60, LATER),), faults=SAID),
    Path("fast: pending, late, quarantine", (elsewhere(60, LATER, onCrash="quarantine"),), faults=SAID),
    Path("fast: pending, never", (elsewhere(60),), ends=("QUARANTINED",), faults=DEATHS),
    Path("fast: recovered", (LARGE,), killed="Finalize"),
    Path("fast: recovered, quarantine", (CAREFUL,), killed="Finalize", ends=("QUARANTINED",), faults=ENDS_EARLY),
)
TWICE: tuple[Path, ...] = (
    Path("fast: twice at once", (charge(),), background="fast twice"),
    Path("fast: twice, the second soon", (SLOW_AND_WAITED_FOR,), background="fast soon", faults=ENDS_EARLY),
    Path("fast: twice, the second late", (LARGE,), background="fast late", killed="Finalize", faults=ENDS_EARLY),
    Path("fast: twice at once, for the full lane", (ORDER,), background="fast twice", faults=ENDS_EARLY),
    Path("fast: twice at once, no time left", (charge(),), throttled=200.0, background="fast twice", faults=ENDS_EARLY),
    Path(
        "fast: twice, the second late, failed", (FAILS_ONCE,), ends=("FAILED",), background="fast late", faults=DEATHS
    ),
)
MIXED: tuple[Path, ...] = (
    Path("mixed: in progress, acknowledge", (SLOW, SLOW), apart=3, lane="fast, full"),
    Path("mixed: in progress, wait", (SLOW, SLOW_AND_WAITED_FOR), apart=3, lane="fast, full"),
    Path("mixed: fast duplicate of a full owner", (REPORT,), before=(REPORT,), lane="fast"),
    Path("mixed: fast duplicate of a dead full owner", (charge(),), (charge(),), dead="Finalize", lane="fast"),
    Path(
        "mixed: full duplicate of a dead fast owner",
        (charge(),),
        before=(charge(),),
        dead="ExecuteBusinessLogic",
        lane_before="fast",
        enduring=True,
    ),
    Path(
        "mixed: two duplicates of a dead fast owner",
        (charge(), charge()),
        before=(charge(),),
        dead="ExecuteBusinessLogic",
        lane="fast, full",
        lane_before="fast",
        faults=ENDS_EARLY,
    ),
    Path("mixed: in progress for long", (SLOW, SLOW), apart=150, lane="fast, full", faults=ENDS_EARLY),
    Path("mixed: failed in one, tried again in the other", (FAILS_ONCE,), before=(FAILS_ONCE,), lane="fast"),
    Path("mixed: mismatch", (charge(1),), before=(charge(),), lane="fast"),
    Path(
        "mixed: pending, asked twice",
        (elsewhere(300, COMPLETES), elsewhere(300, COMPLETES, onConflict="wait")),
        apart=20,
        lane="fast, full",
        faults=(*SAID, "hangs to its end"),
    ),
)
# ---- in the direct lane, and in several lanes on the same ids ----

DIES_BEFORE, DIES_AFTER = hard("dies before", "ok"), hard("dies after", "ok")
OKAY = hard("ok")
BATCH = (OKAY, keyed(OKAY, 2))
DIED = "ExecuteBusinessLogic"
"""Where no owner in the direct lane ever is: it died by itself, and nobody has found it yet."""
THEN_SWEPT = (*DEATHS, "answer lost", "function dies", "hangs", "throttled")
"""What goes wrong later is on the paths of the full lane."""


def _direct(path: Path) -> Path:
    return replace(path, lane="direct", lane_before="direct")


DIRECT_ALONE: tuple[Path, ...] = (
    Path("direct: new", (charge(),), enduring=True, joined=True),
    Path("direct: new, large request", (LARGE,), enduring=True),
    Path("direct: new, large result", (REPORT,)),
    Path("direct: fenced steps", (STEPS,), joined=True),
    Path("direct: duplicate", (charge(),), before=(charge(),), enduring=True),
    Path("direct: duplicate, large result", (REPORT,), before=(REPORT,)),
    Path("direct: in progress", (SLOW, SLOW), apart=3),
    Path("direct: waited for", (SLOW, SLOW_AND_WAITED_FOR), apart=3),
    Path("direct: dies before its effect", (DIES_BEFORE,), faults=THEN_SWEPT),
    Path("direct: dies after its effect", (DIES_AFTER,), operated=True, faults=(*THEN_SWEPT, *OPERATED)),
    Path("direct: error, then the sweep", (hard("error", "ok"),), joined=True, faults=(*THEN_SWEPT, "the other lane")),
    Path("direct: permanent error", (hard("PermanentError"),), ends=("FAILED",), enduring=True),
    Path("direct: attempts used up", (hard("error"),), ends=("QUARANTINED",), faults=THEN_SWEPT),
    Path("direct: quarantine", (CAREFUL,), joined=True),
    Path("direct: error, quarantine", (hard("error", onCrash="quarantine"),), ends=("QUARANTINED",), operated=True),
    Path("direct: needs attention", (hard("NeedsAttention"),), ends=("QUARANTINED",)),
    Path("direct: failed, tried again", (FAILS_ONCE,), before=(FAILS_ONCE,), enduring=True),
    Path("direct: failed, tried again by two", (FAILS_ONCE, FAILS_ONCE), before=(FAILS_ONCE,)),
    Path("direct: pending", (elsewhere(300, COMPLETES),)),
    Path("direct: pending, early", (elsewhere(300, EARLY),), faults=(*THEN_SWEPT, "arrives late")),
    Path("direct: pending, late", (elsewhere(60, LATER),), operated=True, faults=(*THEN_SWEPT, *OPERATED)),
    Path("direct: mismatch", (charge(1),), before=(charge(),)),
    Path("direct: refused", (request("charge-payment", {}, idempotencyKey=""),), ends=()),
    Path("direct: new, forgotten", (REPORT,), faults=FORGETS),
    Path("direct: batch", (BATCH,), joined=True),
    Path("direct: batch, dies in the middle", ((BATCH[0], keyed(DIES_AFTER, 2), keyed(OKAY, 3)),), faults=THEN_SWEPT),
    Path("direct: batch, the same key twice", ((OKAY, OKAY, hard("ok", note="other")),)),
    Path("direct: batch, failed, tried again by two", ((FAILS_ONCE, FAILS_ONCE),), before=(FAILS_ONCE,)),
)
WITH_DIRECT: tuple[Path, ...] = (
    Path("mixed: direct and full at once", (SLOW, SLOW), lane="direct, full"),
    Path("mixed: direct and fast at once", (SLOW, SLOW), lane="direct, fast"),
    Path("mixed: direct, waited for in the full lane", (SLOW, SLOW_AND_WAITED_FOR), apart=3, lane="direct, full"),
    Path("mixed: full, waited for in the direct lane", (SLOW, SLOW_AND_WAITED_FOR), apart=3, lane="full, direct"),
    Path("mixed: fast, waited for in the direct lane", (SLOW, SLOW_AND_WAITED_FOR), apart=3, lane="fast, direct"),
    Path("mixed: direct duplicate of a full owner", (REPORT,), before=(REPORT,), lane="direct"),
    Path(
        "mixed: direct duplicate of a dead full owner",
        (charge(),),
        before=(charge(),),
        dead="Finalize",
        lane="direct",
        faults=THEN_SWEPT,
    ),
    Path(
        "mixed: direct duplicate of a dead fast owner",
        (charge(),),
        before=(charge(),),
        dead="ExecuteBusinessLogic",
        lane="direct",
        lane_before="fast",
        faults=THEN_SWEPT,
    ),
    Path(
        "mixed: two duplicates of a dead direct owner",
        (DIES_AFTER, DIES_AFTER),
        before=(DIES_AFTER,),
        dead=DIED,
        lane="full, fast",
        lane_before="direct",
        faults=ENDS_EARLY,
    ),
    Path("mixed: failed in full, tried again in direct", (FAILS_ONCE,), before=(FAILS_ONCE,), lane="direct"),
    Path("mixed: failed in direct, tried again in full", (FAILS_ONCE,), before=(FAILS_ONCE,), lane_before="direct"),
    Path(
        "mixed: pending in direct, asked in full",
        (elsewhere(300, COMPLETES), elsewhere(300, COMPLETES, onConflict="wait")),
        apart=20,
        lane="direct, full",
        faults=(*SAID, "throttled"),
    ),
    Path("mixed: direct duplicate with another payload", (charge(1),), before=(charge(),), lane="direct"),
    Path("mixed: batch, one of it in full", ((SLOW, keyed(SLOW, 2)), keyed(SLOW, 2)), apart=3, lane="direct, full"),
    Path("mixed: batch, one of it in fast", ((SLOW, keyed(SLOW, 2)), SLOW), apart=3, lane="direct, fast"),
)
DIRECT_PATHS = (*map(_direct, DIRECT_ALONE), *WITH_DIRECT)
FAST_PATHS = (*map(_fast, ALONE + TWICE), *MIXED)
PATHS = (*PLAIN_PATHS, *HARD_PATHS, *PENDING_PATHS, *FORGOTTEN_PATHS, *FAST_PATHS, *DIRECT_PATHS)
