"""The paths of the crash matrix: what is sent, and what was there before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.promises.checker import id_of
from oncekit.promises.evidence import all_records
from oncekit.proof.simulation.world import World

Request = Mapping[str, Any]
Sent = Request | str | list[Mapping[str, Any]]


@dataclass(frozen=True)
class Path:
    """`requests` are sent under faults, each `apart` seconds after the one before; `before` were sent without any.

    `dead` names the state at whose call the owner of `before` was killed, unnoticed, its lease being over since.
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
    aged: float = 200.0
    """Seconds since the owner of `before` died; the lease is over, and the next sweep is still to come."""
    recoveries: int = 0
    """How often its record says that it was recovered."""
    faults: tuple[str, ...] = ()
    """These alone; empty for all."""
    operated: bool = False
    """An operator acts before each call."""
    enduring: bool = False
    """Interfaces are down for hours."""
    lane: str = "full"
    """Where `requests` are sent: `full`, `fast`, or `mixed`: by turns, the first one to the fast lane."""
    lane_before: str = "full"
    throttled: float = 0.0
    """Seconds from the beginning for which no function is to be had."""
    joined: bool = False
    """A duplicate comes by the other lane before each call."""
    kept: bool = False
    """Time runs on until just before the answer expires: it must be there until then."""

    def lane_of(self, number: int) -> str:
        """Of the n-th of `requests`, from 0."""
        return ("fast", "full")[number % 2] if self.lane == "mixed" else self.lane

    @property
    def uses_fast_lane(self) -> bool:
        return {self.lane, self.lane_before} != {"full"}

    def lane_of_duplicate(self, number: int) -> str:
        """Of the n-th of `all_requests` when it is sent again: the other lane, if both are on the path."""
        if not self.uses_fast_lane:
            return "full"
        sent = self.lane_before if number < len(self.before) else self.lane_of(number - len(self.before))
        return "full" if sent == "fast" else "fast"

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

DAY = 86_400.0
ESCAPED = json.dumps(hard("ok", note="日" * 38_000))
"""Some 228 KB as Python writes it, in escapes, each of whose backslashes is escaped again when the text is quoted."""
BULKY = hard("error", "error", "ok", note="x" * 100_000)
"""Its history has the payload in the parameters of each attempt."""

PLAIN_PATHS: tuple[Path, ...] = (
    Path("new, small", (charge(),)),
    Path("new, large", (request("build-report", {"bytes": 6000}),), enduring=True),
    Path("new, offloaded by the library", (request("build-report", {"bytes": 300_000}),)),
    Path("replay", (charge(),), before=(charge(),)),
    Path("in progress, acknowledge", (hard("slow"), hard("slow")), apart=3),
    Path("in progress, reject", (hard("slow"), hard("slow", onConflict="reject")), apart=3),
    Path("in progress, wait", (hard("slow"), hard("slow", onConflict="wait")), apart=3),
    Path("permanent error", (hard("PermanentError"),), ends=("FAILED",), enduring=True),
    Path("retry, then success", (hard("error", "ok"),)),
    Path("attempts used up", (hard("error"),), ends=("QUARANTINED",), enduring=True),
    Path("take-over by a duplicate", (charge(),), before=(charge(),), dead="ExecuteBusinessLogic", enduring=True),
    Path("redrive by a duplicate", (charge(),), before=(charge(),), dead="Finalize"),
    Path("needs attention", (hard("NeedsAttention"),), ends=("QUARANTINED",), operated=True),
    Path("quarantine on error", (hard("error", onCrash="quarantine"),), ends=("QUARANTINED",), operated=True),
    Path("quarantine, success", (charge(onCrash="quarantine"),)),
    Path("refused", (request("charge-payment", {}, idempotencyKey=""),), ends=(), enduring=True),
    Path("mismatch", (charge(1),), before=(charge(),)),
    Path("plain function", (request("plain-work", {"return": {"n": 1}}),)),
    Path("plain function, large", (request("plain-work", {"return": "x" * 6000}),)),
    Path("place-order", (ORDER,)),
    Path("fenced steps", (STEPS,)),
    Path("fenced steps, recovered", (STEPS,), killed="Finalize"),
    Path("recovered by its event", (charge(),), killed="ExecuteBusinessLogic", enduring=True),
)
FAILS_ONCE = again("PermanentError", "ok")
TWO = (charge(), charge())
DEATHS = ("dies before", "dies after", "dies before, event lost", "dies after, event lost", "dies", "dies, event lost")
HARD_PATHS: tuple[Path, ...] = (
    Path(
        "redrive by two duplicates, stale", TWO, before=(charge(),), dead="Finalize", background="stale", enduring=True
    ),
    Path(
        "take-over by two duplicates, stale", TWO, before=(charge(),), dead="ExecuteBusinessLogic", background="stale"
    ),
    Path("failed, tried again", (FAILS_ONCE,), before=(FAILS_ONCE,), enduring=True),
    Path("failed, tried again by two", (FAILS_ONCE, FAILS_ONCE), before=(FAILS_ONCE,)),
    Path("failed, tried again, recovered", (FAILS_ONCE,), before=(FAILS_ONCE,), killed="Finalize"),
    Path("in an envelope, recovered", (enveloped(charge()),), killed="ExecuteBusinessLogic"),
    Path("recovered, stale", (charge(),), killed="Finalize", background="stale", faults=DEATHS),
    Path("recovered twice at once", (charge(),), killed="Finalize", background="recovery twice", faults=DEATHS),
    Path(
        "recovered twice, late", (charge(),), killed="ExecuteBusinessLogic", background="recovery late", faults=DEATHS
    ),
    Path(
        "escapes, recovered",
        (ESCAPED,),
        killed="ExecuteBusinessLogic",
        ends=("QUARANTINED",),
        faults=("dies", "dies, event lost"),
    ),
    Path(
        "indented, recovered",
        (bulky(charge()),),
        killed="Finalize",
        ends=("QUARANTINED",),
        faults=("dies", "dies, event lost"),
    ),
    Path("large history", (BULKY,), killed="Finalize", faults=("dies", "dies, event lost")),
    Path(
        "recoveries used up, two duplicates",
        TWO,
        before=(charge(),),
        dead="Finalize",
        recoveries=9,
        ends=("QUARANTINED",),
        operated=True,
    ),
    Path(
        "redriven late",
        (request("build-report", {"bytes": 6000}),),
        killed="",
        before=(request("build-report", {"bytes": 6000}),),
        dead="Finalize",
        aged=13 * DAY,
        kept=True,
    ),
    Path(
        "too old to be redriven", (charge(),), before=(charge(),), dead="Finalize", aged=15 * DAY, ends=("QUARANTINED",)
    ),
)
PATHS = PLAIN_PATHS + HARD_PATHS
"""In the full lane; those of fast_paths.py are the others."""


def prepare(world: World, path: Path) -> None:
    """What was there before the faults begin."""
    from oncekit.proof.simulation.one_fault import LONG, Killing

    for number, given in enumerate(path.before):
        if path.dead:
            world.injector = Killing(world, path.dead, lose_events=True)
        world.start(given, f"before-{number}", path.lane_before)
        world.scheduler.rest()
        if path.dead:
            world.leap(path.aged) if path.aged > LONG else world.pass_time(path.aged)
        if path.recoveries:
            world.set_recoveries(id_of(given), path.recoveries)


def run_on(world: World, path: Path) -> None:
    """Time runs on, to where the answers are about to expire."""
    if path.kept:
        ends = [record["expiresAt"] for record in all_records(world.cloud).values() if "expiresAt" in record]
        if ends:
            world.leap(float(min(ends)) - 60 - world.scheduler.now())
