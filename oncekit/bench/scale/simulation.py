"""Token buckets, and requests that take from them stage by stage.

Time goes in steps. Requests that are at the same point are one number, so that a minute of thousands a second is a few
hundred steps. What a bucket does not have is throttled: those requests come again, as their stage says.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from oncekit.bench.scale.quotas import Quotas

_PARTS = 4
"""Into how many a group is split that is throttled, so that jitter spreads it."""


@dataclass(frozen=True)
class Stage:
    """One point on a request's way: what it takes there, and what happens when it does not get it."""

    takes: Mapping[str, float]
    longest_delay: Callable[[int], float]
    """Seconds until the next try at most, by the number of tries before; the delay is drawn between 0 and this."""
    tries: float = math.inf
    """After so many the request goes on another way, or is kept in the rejected-requests queue."""
    otherwise: str = ""
    """The other way."""
    after_s: float = 0.0
    """Since the stage before."""
    held: str = ""
    """One of `takes` that is given back after a time."""
    held_s: float = 0.0


Way = Sequence[Stage]


@dataclass
class Outcome:
    """What a simulation saw."""

    sent: int = 0
    done: int = 0
    kept: int = 0
    """In the rejected-requests queue, for an operator to replay."""
    throttled: Counter[str] = field(default_factory=Counter)
    """Tries that got nothing, by the quota that was used up."""
    taken: Counter[str] = field(default_factory=Counter)
    """Units, by quota."""
    seconds: float = 0.0
    """Until the last request was done."""
    most_tries: int = 0

    @property
    def lost(self) -> int:
        return self.sent - self.done - self.kept


@dataclass(frozen=True)
class _Group:
    way: str
    stage: int
    tries: int = 0


class Simulation:
    """Sends requests on their ways, `ways` by name. With `spent` the buckets begin empty: what is sustained counts."""

    def __init__(
        self, quotas: Quotas, ways: Mapping[str, Way], *, spent: bool = False, step_s: float = 0.1, seed: int = 1
    ) -> None:
        self._step_s = step_s
        self._quotas = quotas
        self._ways = ways
        self._levels = {name: 0.0 if spent and quota.refill else quota.size for name, quota in quotas.items()}
        self._waiting: defaultdict[int, Counter[_Group]] = defaultdict(Counter)
        self._given_back: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._dice = random.Random(seed)  # noqa: S311 jitter, no secret
        self._step = 0
        self.outcome = Outcome()

    def send(self, rates: Mapping[str, float], seconds: float, *, until_throttled: bool = False) -> None:
        """Requests a second, by way, for so long, or until the first is throttled."""
        owed = dict.fromkeys(rates, 0.0)
        for _ in range(round(seconds / self._step_s)):
            for way, rate in rates.items():
                owed[way] += rate * self._step_s
                count = int(owed[way] + 1e-9)
                owed[way] -= count
                self.outcome.sent += count
                if count:
                    self._waiting[self._step][_Group(way, 0)] += count
            self._run_step()
            if until_throttled and self.outcome.throttled:
                return

    def finish(self) -> Outcome:
        """Runs on until all are done or kept."""
        while any(self._waiting.values()):
            self._run_step()
        return self.outcome

    def _run_step(self) -> None:
        for name, quota in self._quotas.items():
            self._levels[name] = min(quota.size, self._levels[name] + quota.refill * self._step_s)
        for name, count in self._given_back.pop(self._step, {}).items():
            self._levels[name] += count
        while groups := self._waiting.pop(self._step, None):  # a stage may be followed by the next in the same step
            for group, count in groups.items():
                self._pass(group, count)
        self._step += 1

    def _pass(self, group: _Group, count: int) -> None:
        stage = self._ways[group.way][group.stage]
        rooms = {name: int(self._levels[name] / units + 1e-6) for name, units in stage.takes.items()}
        scarcest = min(rooms, key=rooms.__getitem__)
        granted = min(count, rooms[scarcest])
        for name, units in stage.takes.items():
            self._levels[name] -= granted * units
            self.outcome.taken[name] += round(granted * units)
        if granted:
            if stage.held:
                self._given_back[self._step + max(1, round(stage.held_s / self._step_s))][stage.held] += granted
            self._go_on(group, granted)
        if denied := count - granted:
            self.outcome.throttled[scarcest] += denied
            self._come_again(stage, group, denied)

    def _go_on(self, group: _Group, count: int) -> None:
        way, following = self._ways[group.way], group.stage + 1
        self.outcome.most_tries = max(self.outcome.most_tries, group.tries + 1)
        if following == len(way):
            self.outcome.done += count
            self.outcome.seconds = max(self.outcome.seconds, (self._step + 1) * self._step_s)
        else:
            then = self._step + round(way[following].after_s / self._step_s)
            self._waiting[then][_Group(group.way, following)] += count

    def _come_again(self, stage: Stage, group: _Group, count: int) -> None:
        tries = group.tries + 1
        if tries >= stage.tries:
            if stage.otherwise:
                self._waiting[self._step + 1][_Group(stage.otherwise, 0)] += count
            else:
                self.outcome.kept += count
            return
        longest = stage.longest_delay(tries)
        again = _Group(group.way, group.stage, tries)
        for part in range(_PARTS):
            share = count // _PARTS + (part < count % _PARTS)
            steps = max(1, round(self._dice.uniform(0, longest) / self._step_s))
            if share:
                self._waiting[self._step + steps][again] += share
