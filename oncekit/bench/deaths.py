"""How long it takes until many owners that died at once, or that handed over, are followed: simulations, with a seed.

The retries are read from CheckOwner and HandOver, and how a sweep works from its definition. AWS's part are the default
quotas on DescribeExecution and StartExecution, as buckets of tokens. The worst case of deaths: all owners were
executions of the full lane, all leases are over at once, and the next sweep comes a whole minute later. How long calls
take is assumed.
"""

from __future__ import annotations

import heapq
import itertools
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MINUTE = 60.0
"""The schedule's."""
OF_A_RECORD = 0.2
"""Seconds that a sweep takes for one record: two calls."""
UNTIL_ASKED = 0.1
"""Seconds from the start of an execution to its first look at the owner."""
LONGEST = 3600.0


@dataclass(frozen=True)
class Quotas:
    """At once, and a second."""

    describes: tuple[float, float]
    starts: tuple[float, float]


LARGE_REGIONS = Quotas(describes=(300, 15), starts=(1300, 300))
OTHER_REGIONS = Quotas(describes=(250, 10), starts=(800, 150))


@dataclass(frozen=True)
class Figures:
    """What the definitions say."""

    tries: int
    """After the first."""
    longest_wait: float
    backoff: float
    hand_over_tries: int
    hand_over_longest_wait: float
    shards: int
    at_once: int
    """In a shard."""
    budget: float
    """Seconds for small requests."""
    name_for: float
    """Seconds for which a recovery has one name, so that it is started once."""


def figures(definitions: Mapping[str, Any]) -> Figures:
    """From the rendered definitions of the lanes and of the sweep."""
    retry = definitions["operation"]["States"]["CheckOwner"]["Retry"][-1]
    assert retry["ErrorEquals"] == ["States.ALL"] and retry["JitterStrategy"] == "FULL"
    hands_over = definitions["fast"]["States"]["HandOver"]["Retry"][-1]
    sweep = definitions["recovery"]["States"]["SweepShards"]
    shard = sweep["ItemProcessor"]["States"]
    of_records = shard["RecoverOperations"]
    name = of_records["ItemProcessor"]["States"]["ReadOpenRecord"]["Assign"]["name"]
    return Figures(
        tries=retry["MaxAttempts"],
        longest_wait=retry["MaxDelaySeconds"],
        backoff=retry.get("BackoffRate", 2.0),
        hand_over_tries=hands_over["MaxAttempts"],
        hand_over_longest_wait=hands_over["MaxDelaySeconds"],
        shards=len(sweep["Items"]),
        at_once=of_records["MaxConcurrency"],
        budget=_milliseconds(r"'SMALL' \? (\d+)", shard["IsShardSwept"]["Choices"][0]["Condition"]),
        name_for=_milliseconds(r"\$millis\(\) / (\d+)", name),
    )


def _milliseconds(pattern: str, text: str) -> float:
    """As seconds."""
    [found] = re.findall(pattern, text)
    return int(found) / 1000


class _Bucket:
    def __init__(self, at_once: float, a_second: float) -> None:
        self._left = self._most = at_once
        self._rate, self._at = a_second, 0.0

    def takes(self, now: float) -> bool:
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def seconds_until_all_are_followed(deaths: int, given: Figures, quotas: Quotas, seed: int = 0) -> float:
    """From the moment at which their leases are over."""
    return _Simulation(deaths, given, quotas, seed).run()


def seconds_until_all_are_handed_over(attempts: int, given: Figures, quotas: Quotas, seed: int = 0) -> float:
    """From the beginning of a minute in which so many attempts of the fast lane fail."""
    return _HandOvers(attempts, given, quotas, seed).run()


class _Simulation:
    def __init__(self, deaths: int, given: Figures, quotas: Quotas, seed: int) -> None:
        self._given, self._dice = given, random.Random(seed)  # noqa: S311 no secret
        self._describes, self._starts = _Bucket(*quotas.describes), _Bucket(*quotas.starts)
        self._left = dict.fromkeys(range(deaths))
        self._taken: set[tuple[int, int]] = set()
        """Names of recoveries, by record and time."""
        self._to_come: list[tuple[float, int, int, int]] = []
        """When, a number, the record, and how often its owner was asked for in vain; a start before that is -1."""
        self._numbers = itertools.count()

    def run(self) -> float:
        now = 0.0
        for sweep in itertools.count(1):
            now = self._until(sweep * MINUTE, now)
            if not self._left or now > LONGEST:
                return now
            for when, record in self._swept(sweep):
                self._push(when, record, -1)
        raise AssertionError

    def _until(self, end: float, now: float) -> float:
        while self._left and self._to_come and self._to_come[0][0] < end:
            now, _, record, asked = heapq.heappop(self._to_come)
            if asked < 0:
                self._start(now, record)
            else:
                self._ask(now, record, asked)
        return now if not self._left else end

    def _swept(self, sweep: int) -> Iterator[tuple[float, int]]:
        """When each record that is open gets its start: from the one end or the other."""
        for shard in range(self._given.shards):
            records = [each for each in self._left if each % self._given.shards == shard]
            for number, record in enumerate(records[:: (1, -1)[sweep % 2]]):
                after = (number // self._given.at_once + 1) * OF_A_RECORD
                if after <= self._given.budget:
                    yield sweep * MINUTE + after, record

    def _start(self, now: float, record: int) -> None:
        name = (record, int(now // self._given.name_for))
        if record in self._left and self._starts.takes(now) and name not in self._taken:
            self._taken.add(name)
            self._push(now + UNTIL_ASKED, record, 0)

    def _ask(self, now: float, record: int, asked: int) -> None:
        """Whoever asks does so also when another execution has followed the owner meanwhile."""
        if self._describes.takes(now):
            self._left.pop(record, None)
        elif asked < self._given.tries:
            wait = min(self._given.longest_wait, self._given.backoff**asked)
            self._push(now + self._dice.uniform(0, wait), record, asked + 1)

    def _push(self, when: float, record: int, asked: int) -> None:
        heapq.heappush(self._to_come, (when, next(self._numbers), record, asked))


class _HandOvers(_Simulation):
    """Whoever is started follows at once: an owner of the fast lane is not asked for."""

    def __init__(self, attempts: int, given: Figures, quotas: Quotas, seed: int) -> None:
        super().__init__(attempts, given, quotas, seed)
        for record in self._left:
            self._push(record * MINUTE / attempts, record, 0)

    def _start(self, now: float, record: int) -> None:
        if record in self._left and self._starts.takes(now):
            del self._left[record]

    def _ask(self, now: float, record: int, asked: int) -> None:
        """HandOver, and its tries; after them the sweep."""
        self._start(now, record)
        if record in self._left and asked < self._given.hand_over_tries:
            wait = min(self._given.hand_over_longest_wait, self._given.backoff**asked)
            self._push(now + self._dice.uniform(0, wait), record, asked + 1)
