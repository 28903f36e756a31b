"""The paths of the crash matrix: what is sent, and what was there before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proof.world import World

Request = Mapping[str, Any]


@dataclass(frozen=True)
class Path:
    """`requests` are sent under faults, each `apart` seconds after the one before; `before` were sent without any.

    `dead` names the state at whose call the owner of `before` was killed, unnoticed, its lease being over since.
    """

    name: str
    requests: tuple[Request, ...]
    before: tuple[Request, ...] = ()
    apart: float = 0.0
    dead: str = ""
    killed: str = ""
    """The state at whose call the first of `requests` is killed, so that recovery is on the path."""

    @property
    def all_requests(self) -> tuple[Request, ...]:
        return (*self.before, *self.requests)


def request(operation: str, payload: Mapping[str, Any], **more: Any) -> Request:
    return {"operation": operation, "tenant": "acme", "idempotencyKey": "key-1", "payload": payload, **more}


def charge(amount: int = 4200, **more: Any) -> Request:
    return request("charge-payment", {"orderId": "o-1", "amount": amount, "currency": "EUR"}, **more)


def hard(*script: str, **more: Any) -> Request:
    return request("hard-work", {"script": list(script)}, **more)


ORDER = request(
    "place-order", {"customer": "Ada", "items": [{"sku": "pen", "quantity": 2}, {"sku": "ink", "quantity": 1}]}
)
STEPS = request("stepwise", {})

PATHS: tuple[Path, ...] = (
    Path("new, small", (charge(),)),
    Path("new, large", (request("build-report", {"bytes": 6000}),)),
    Path("new, offloaded by the library", (request("build-report", {"bytes": 300_000}),)),
    Path("replay", (charge(),), before=(charge(),)),
    Path("in progress, acknowledge", (hard("slow"), hard("slow")), apart=3),
    Path("in progress, reject", (hard("slow"), hard("slow", onConflict="reject")), apart=3),
    Path("in progress, wait", (hard("slow"), hard("slow", onConflict="wait")), apart=3),
    Path("permanent error", (hard("PermanentError"),)),
    Path("retry, then success", (hard("error", "ok"),)),
    Path("attempts used up", (hard("error"),)),
    Path("take-over by a duplicate", (charge(),), before=(charge(),), dead="ExecuteBusinessLogic"),
    Path("redrive by a duplicate", (charge(),), before=(charge(),), dead="Finalize"),
    Path("needs attention", (hard("NeedsAttention"),)),
    Path("quarantine on error", (hard("error", onCrash="quarantine"),)),
    Path("quarantine, success", (charge(onCrash="quarantine"),)),
    Path("refused", (request("charge-payment", {}, idempotencyKey=""),)),
    Path("mismatch", (charge(1),), before=(charge(),)),
    Path("plain function", (request("plain-work", {"return": {"n": 1}}),)),
    Path("plain function, large", (request("plain-work", {"return": "x" * 6000}),)),
    Path("place-order", (ORDER,)),
    Path("fenced steps", (STEPS,)),
    Path("fenced steps, recovered", (STEPS,), killed="Finalize"),
    Path("recovered by its event", (charge(),), killed="ExecuteBusinessLogic"),
)


def prepare(world: World, path: Path) -> None:
    """What was there before the faults begin."""
    from proof.weather import Killing

    for number, given in enumerate(path.before):
        if path.dead:
            world.weather = Killing(world, path.dead, lose_events=True)
        world.start(given, f"before-{number}")
        world.turns.rest()
        if path.dead:
            world.pass_time(200)  # the lease is over, and the next sweep is still to come
