"""Plans: everything that is drawn for one schedule, so that it can be repeated, and made smaller.

A step is a service call, a point of a function, or a state that is entered or left, counted from the beginning over all
executions. A plan says at which steps something goes wrong, and at which choices another one goes on than who could.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from oncekit.proof.simulation.paths import (
    ORDER,
    STEPS,
    Batch,
    Request,
    Sent,
    again,
    bulky,
    charge,
    elsewhere,
    enveloped,
    hard,
    request,
)

Value = TypeVar("Value", str, int)

STEPS_DRAWN = (8, 25, 50, 100, 200)
"""A request alone takes some 30 steps, four with a recovery some 200; and three times as many choices at most."""


@dataclass(frozen=True)
class Sending:
    """A request, and when it is sent: seconds after the beginning."""

    at: float
    request: Sent
    lane: str = "full"

    @property
    def batch(self) -> Batch:
        """Empty if it is none."""
        return self.request if isinstance(self.request, tuple) else ()


@dataclass(frozen=True)
class Act:
    """What an operator, or somebody careless, does with the id number `target`: see `operators`."""

    at: float
    what: str
    target: int


@dataclass(frozen=True)
class Plan:
    """One schedule. `faults` by step, `switches` by choice."""

    seed: int
    sendings: tuple[Sending, ...]
    acts: tuple[Act, ...] = ()
    faults: Mapping[int, str] = field(default_factory=dict)
    switches: Mapping[int, int] = field(default_factory=dict)
    background: str = "calm"

    @property
    def lanes(self) -> frozenset[str]:
        """Those that are used; the full one always may be, by recovery."""
        return frozenset({"full", *(sending.lane for sending in self.sendings)})

    def lane_of_duplicate(self, sending: Sending) -> str:
        """When it is sent again: another lane than before, of those that are used."""
        others = [lane for lane in ("direct", "fast", "full") if lane in self.lanes - {sending.lane}]
        return next(lane for lane in (*others, "full") if lane != "direct" or _is_for_library(sending.request))

    @property
    def size(self) -> int:
        parts = (
            self.sendings,
            self.acts,
            self.faults,
            self.switches,
            self.lanes,
            *(each.batch for each in self.sendings),
        )
        return sum(map(len, parts)) + (self.background != "calm")

    def smaller(self) -> Iterator[Plan]:
        """Plans with something left out: halves first, then single ones."""
        if len(self.sendings) > 1:
            for number in range(len(self.sendings)):
                yield replace(self, sendings=self.sendings[:number] + self.sendings[number + 1 :])
        for number, sending in enumerate(self.sendings):
            for left_out in range(len(sending.batch) if len(sending.batch) > 1 else 0):
                batch = sending.batch[:left_out] + sending.batch[left_out + 1 :]
                others = self.sendings[:number], self.sendings[number + 1 :]
                yield replace(self, sendings=(*others[0], replace(sending, request=batch), *others[1]))
        for number in range(len(self.acts)):
            yield replace(self, acts=self.acts[:number] + self.acts[number + 1 :])
        for switches in _with_less(self.switches):
            yield replace(self, switches=switches)
        for faults in _with_less(self.faults):
            yield replace(self, faults=faults)
        if self.background != "calm":
            yield replace(self, background="calm")
        for lane in self.lanes - {"full"}:
            in_full = [replace(each, lane="full") if each.lane == lane else each for each in self.sendings]
            yield replace(self, sendings=tuple(in_full))


def _with_less(members: Mapping[int, Value]) -> Iterator[dict[int, Value]]:
    items = sorted(members.items())
    size = len(items)
    while size >= 1:
        for first in range(0, len(items), size):
            yield dict(items[:first] + items[first + size :])
        size //= 2


FAULTS = (
    ("never arrives", 3),
    ("answer lost", 4),
    ("fails", 2),
    ("dies before", 4),
    ("dies after", 4),
    ("slow", 2),
    ("late", 3),
    ("throttled", 1),
    ("held", 4),
    ("down", 2),
    ("unasked", 2),
)
"""And how often each is drawn. At a point of a function: it dies, its connection breaks, it hangs.

`held 5` is lost, and arrives five steps later, whoever's they are; `down 900` fails with all calls like it, so long;
`unasked 900` is that for calls that ask for an owner. A fault waits for the first step where it is possible.
"""
HELD = (1, 2, 3, 5, 8, 13, 30, 80)
DOWN = {"down": (30, 300, 900, 7200), "unasked": (5, 60, 900, 999_999)}
ACTS = ("retries", "resolves", "aborts", "redrives", "releases")
FAST_BACKGROUNDS = ("calm",) * 4 + ("fast twice", "fast soon", "fast late")
"""Where it is calm, and something is in the fast lane."""
BACKGROUNDS = ("calm",) * 5 + ("stale",) * 2 + ("recovery twice", "recovery late")


def draw(seed: int) -> Plan:
    """The plan of a seed."""
    dice = random.Random(seed)  # noqa: S311 no secret
    bodies = [_drawn_request(dice, number) for number in range(dice.choice((1, 1, 2)))]
    bodies = _elsewhere(random.Random(-3 - seed), bodies)  # noqa: S311 no secret
    sendings, together = [], dice.uniform(100, 400)
    for number in range(dice.randint(len(bodies), 4)):
        body = bodies[number] if number < len(bodies) else dice.choice(bodies)
        more: dict[str, Any] = {}
        if dice.random() < 0.4:
            more["onConflict"] = dice.choice(("acknowledge", "reject", "wait"))
        if dice.random() < 0.1:
            more["payload"] = {"other": True}
        at = dice.choice((0.0, 0.0, 1.0, dice.uniform(0, 60), together, together))
        if dice.random() < 0.15:
            more["onFailed"] = "retry"
        sendings.append(Sending(round(at, 1), _as_sent(dice, {**body, **more} if number else body)))
    acts = []
    if dice.random() < 0.35:
        acts = [
            Act(round(dice.uniform(0, 900), 1), dice.choice(ACTS), dice.randrange(len(bodies)))
            for _ in range(dice.choice((1, 1, 2)))
        ]
    acts = _with_forgetting(random.Random(-2 - seed), acts)  # noqa: S311 no secret
    names, weights = zip(*FAULTS, strict=True)
    steps = dice.choice(STEPS_DRAWN)
    faults = {}
    for _ in range(dice.choice((0, 1, 1, 2, 2, 3, 4))):
        fault = dice.choices(names, weights)[0]
        amount = f" {dice.choice(DOWN.get(fault, HELD))}" if fault in ("held", *DOWN) else ""
        faults[dice.randrange(steps)] = fault + amount
    switches = {dice.randrange(3 * steps): dice.randrange(1, 6) for _ in range(dice.choice((0, 4, 16, 48)))}
    background = dice.choice(BACKGROUNDS)
    drawn = _in_lanes(random.Random(-1 - seed), sendings)  # noqa: S311 no secret
    drawn = _in_direct_lane(random.Random(-4 - seed), drawn)  # noqa: S311 no secret
    drawn = _in_batches(random.Random(-5 - seed), drawn)  # noqa: S311 no secret
    if background == "calm" and any(each.lane == "fast" for each in drawn):
        background = dice.choice(FAST_BACKGROUNDS)
    return Plan(seed, drawn, tuple(acts), faults, switches, background)


SAID = (
    *((), ((0, "complete"),), ((20, "complete"),), ((20, "fail"), (50, "complete"))),
    *(((200, "complete"), (900, "complete")), ((20, "extend"), (200, "complete")), ((900, "fail"),)),
)
"""By work elsewhere, seconds after it was started: never, early, in time, twice, late."""


def _elsewhere(dice: random.Random, bodies: Sequence[Request]) -> list[Request]:
    """In a quarter of the plans one of them starts work elsewhere."""
    number, says = dice.randrange(4 * len(bodies)), dice.choice(SAID)
    more = {"onCrash": "quarantine"} if dice.random() < 0.3 else {}
    work = elsewhere(dice.choice((30, 120, 600)), *says, **more, idempotencyKey=f"key-{number}")
    return [work if each == number else body for each, body in enumerate(bodies)]


def _with_forgetting(dice: random.Random, acts: Sequence[Act]) -> list[Act]:
    """Whoever releases may also forget, in half of the plans."""
    is_forgotten = dice.random() < 0.5
    return [replace(each, what="forgets") if is_forgotten and each.what == "releases" else each for each in acts]


def _in_lanes(dice: random.Random, sendings: Sequence[Sending]) -> tuple[Sending, ...]:
    """All in one lane, or each in any."""
    lanes = dice.choice((("full",), ("fast",), ("full", "fast")))
    return tuple(replace(each, lane=dice.choice(lanes)) for each in sendings)


def _in_direct_lane(dice: random.Random, sendings: Sequence[Sending]) -> tuple[Sending, ...]:
    """In a third of the plans all that can be, or each in that lane or in its own."""
    chance = dice.choice((0.0, 0.0, 0.0, 0.0, 0.5, 1.0))
    return tuple(
        replace(each, lane="direct") if dice.random() < chance and _is_for_library(each.request) else each
        for each in sendings
    )


def _in_batches(dice: random.Random, sendings: Sequence[Sending]) -> tuple[Sending, ...]:
    """In half of the plans all that comes to one function in the direct lane comes in one event, as the first of it."""
    if dice.random() < 0.5:
        return tuple(sendings)
    direct: dict[str, list[Sending]] = {}
    """By operation."""
    for each in sendings:
        if each.lane == "direct" and isinstance(each.request, Mapping):
            direct.setdefault(each.request["operation"], []).append(each)
    batches = [replace(each[0], request=_joined(each)) for each in direct.values()]
    return (*(each for each in sendings if each.lane != "direct"), *batches)


def _joined(sendings: Sequence[Sending]) -> Batch:
    return tuple(each.request for each in sendings if isinstance(each.request, Mapping))


def _is_for_library(sent: Sent) -> bool:
    """Whether it may be a function's own event: a request, or some of them, of a function with the library."""
    return isinstance(sent, tuple) or (isinstance(sent, Mapping) and sent["operation"] != "plain-work")


def _as_sent(dice: random.Random, given: Request) -> Sent:
    """Once in a while by the queue, or as large a text as can be."""
    chance = dice.random()
    return enveloped(given) if chance < 0.1 else bulky(given) if chance < 0.13 else given


def _drawn_request(dice: random.Random, number: int) -> Request:
    body = dice.choice(
        (
            charge(),
            charge(onCrash="quarantine"),
            STEPS,
            STEPS,
            ORDER,
            hard("error", "ok"),
            hard("slow"),
            hard("PermanentError"),
            hard("error", "NeedsAttention"),
            again("PermanentError", "error", "ok"),
            request("plain-work", {"return": 1}),
            request("build-report", {"bytes": 6000}),
        )
    )
    if "orderId" in body["payload"]:
        body = {**body, "payload": {**body["payload"], "orderId": f"o-{number}"}}
    return {**body, "idempotencyKey": f"key-{number}"}
