"""What is asked of the simulation: what a lane carries, what limits it first, and what happens past that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from oncekit.bench.scale.demand import Demand
from oncekit.bench.scale.quotas import FULL_STARTS, LARGE, NEW, SWEEP, Quotas, quotas
from oncekit.bench.scale.simulation import Outcome, Simulation, Way

SUSTAINED_S = 5
"""Long enough: the buckets begin empty."""
MOST = 10_000
"""Requests a second that are tried at most."""
DAY_STEP_S = 0.5
"""Not finer, because that day takes long. What is held for less is held for a step."""
DAY_RATE, DAY_SECONDS, DAY_DUPLICATES = 2000, 120, 0.9
DEATHS = 0.01
"""Of the new requests of a busy day, so many have an owner that dies."""
PAST = 2.0
"""Times what a lane carries, for a minute."""


@dataclass(frozen=True)
class Capacity:
    """Requests a second without a throttle, and what is used up by one more."""

    rate: int
    limit: str


def capacity(demand: Demand, lane: str, duplicates: float, region: str, table: str) -> Capacity:
    """Of a lane, by the share of duplicates among the requests; each id is its own item."""
    given = {**quotas(region, table), SWEEP: demand.sweep}
    return _most(given, demand.ways(lane), {"new": 1 - duplicates, "duplicate": duplicates})


def capacity_of_one_id(demand: Demand, lane: str, region: str, table: str) -> Capacity:
    """Of a lane, when all requests are duplicates of one."""
    return _most(quotas(region, table), {"duplicate": demand.of_one_id(lane)}, {"duplicate": 1.0})


def recovered(demand: Demand, lane: str, region: str) -> Capacity:
    """Owners that die in a lane, a second, all of which are recovered without a throttle."""
    given = {**quotas(region, NEW), SWEEP: demand.sweep}
    return _most(given, {"dies": demand.recovery(lane)}, {"dies": 1.0})


def _most(given: Quotas, ways: Mapping[str, Way], shares: Mapping[str, float]) -> Capacity:
    carried, too_much, limit = 0, MOST, "nothing here"
    while too_much - carried > 1:
        rate = (carried + too_much) // 2
        simulation = Simulation(given, ways, spent=True)
        simulation.send({way: rate * share for way, share in shares.items()}, SUSTAINED_S, until_throttled=True)
        if throttled := simulation.outcome.throttled:
            too_much, limit = rate, throttled.most_common(1)[0][0]
        else:
            carried = rate
    return Capacity(carried, limit)


def busy_day(demand: Demand, lane: str, region: str = LARGE, table: str = NEW) -> Outcome:
    """2,000 requests a second for two minutes, nine of ten duplicates; some owners die."""
    new = DAY_RATE * (1 - DAY_DUPLICATES)
    simulation = Simulation({**quotas(region, table), SWEEP: demand.sweep}, demand.ways(lane), step_s=DAY_STEP_S)
    rates = {"new": new * (1 - DEATHS), "dies": new * DEATHS, "duplicate": DAY_RATE * DAY_DUPLICATES}
    simulation.send(rates, DAY_SECONDS)
    return simulation.finish()


def past_it(demand: Demand, lane: str, duplicates: float, table: str, times: float = PAST) -> Outcome:
    """A minute of so many times what the lane carries, in the larger regions, and then nothing more."""
    rate = capacity(demand, lane, duplicates, LARGE, table).rate * times
    given = {**quotas(LARGE, table), SWEEP: demand.sweep}
    simulation = Simulation(given, demand.ways(lane), spent=True)
    simulation.send({"new": rate * (1 - duplicates), "duplicate": rate * duplicates}, 60)
    return simulation.finish()


def full_starts_share(outcome: Outcome) -> float:
    """Of the requests, those that started a Standard execution."""
    return outcome.taken[FULL_STARTS] / outcome.sent
