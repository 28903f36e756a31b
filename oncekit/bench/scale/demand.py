"""What requests take of AWS's quotas, counted from runs of the local cloud, and how they come again when throttled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from oncekit.bench.cost.counting import Cost
from oncekit.bench.cost.measuring import LANES, Bench
from oncekit.bench.cost.paths import LONGER_THAN_A_LEASE_S, advance, die_in, work
from oncekit.bench.cost.prices import LOGIC_MS
from oncekit.bench.scale import quotas
from oncekit.bench.scale.quotas import Quota
from oncekit.bench.scale.simulation import Stage, Way
from oncekit.local.once_cloud import LocalCloud
from oncekit.local.quotas import EXPRESS_SECONDS
from oncekit.local.template import load

TEMPLATE = Path(__file__).parents[3] / "template.yaml"
RULE_FIRST_S, RULE_LONGEST_S = 1, 600
"""A rule's first and longest delay. AWS says: with exponential back-off and jitter, for 24 hours, up to 185 times."""
RULE_TRIES = 185
RECORDS_OF_A_PAGE = 3
"""Of a shard, in `statemachine/recovery.asl.yaml`."""


@dataclass(frozen=True)
class Demand:
    """By lane."""

    new: Mapping[str, Cost]
    duplicate: Mapping[str, Cost]
    death: Mapping[str, Cost]
    """What recovery, and the execution that it starts, take for an owner that died in that lane."""
    table_retries: Mapping[str, Mapping[str, Any]]
    """The Retry of `AcquireLock`."""
    handover_retry: Mapping[str, Any]
    """The Retry of `HandOver`, in the fast lane."""
    lease_s: float
    """Of an owner in the fast lane, and the time until the next sweep."""
    sweep: Quota
    """Records that sweeps can recover."""

    def ways(self, lane: str) -> Mapping[str, Way]:
        """The stages of a request: `new`, `duplicate`, or `dies`, whose owner dies at work and is recovered.

        What is handed over goes on as `new handed over` or `duplicate handed over`.
        """
        starts = quotas.FAST_STARTS if lane == "fast" else quotas.FULL_STARTS
        start = Stage({starts: 1}, _by_rule, RULE_TRIES)
        again = Stage({quotas.FULL_STARTS: 1}, _by_state(self.handover_retry), self.handover_retry["MaxAttempts"] + 1)
        ways: dict[str, Way] = {}
        for kind, costs in (("new", self.new), ("duplicate", self.duplicate)):
            handed_over = f"{kind} handed over" if lane == "fast" else ""
            ways[kind] = [start, *self._stages(lane, costs[lane], handed_over)]
            if handed_over:
                ways[handed_over] = [again, *self._stages("full", costs["full"])]
        return {**ways, "dies": [*ways["new"], *self.recovery(lane, self.lease_s)]}

    def _stages(self, lane: str, cost: Cost, otherwise: str = "") -> list[Stage]:
        moved = [Stage({quotas.TRANSITIONS: cost.transitions}, _delayed)] if cost.transitions else []
        return [*moved, *self._table(lane, cost, otherwise), *([_function()] if cost.invocations else [])]

    def of_one_id(self, lane: str) -> Way:
        """The stages of duplicates that all have the same id."""
        cost = self.duplicate[lane]
        units = {quotas.ITEM_WRITES: cost.write_units, quotas.ITEM_READS: cost.read_units}
        return [*self.ways(lane)["duplicate"], Stage({name: n for name, n in units.items() if n}, _by_rule)]

    def _table(self, lane: str, cost: Cost, otherwise: str = "") -> list[Stage]:
        units = {
            quotas.WRITES: cost.write_units - cost.index_units,
            quotas.READS: cost.read_units,
            quotas.INDEX_WRITES: cost.index_units,
        }
        takes = {name: float(count) for name, count in units.items() if count}
        retry = self.table_retries[lane]
        return [Stage(takes, _by_state(retry), retry["MaxAttempts"] + 1, otherwise)] if takes else []

    def recovery(self, lane: str, after_s: float = 0.0) -> Way:
        """The stages of an operation whose owner died in a lane. Events report deaths in the full lane only."""
        cost = self.death[lane]
        asked = {quotas.DESCRIBES: cost.describes, quotas.HISTORIES: cost.histories}
        takes = {quotas.FULL_STARTS: 1.0, **{name: float(count) for name, count in asked.items() if count}}
        if lane == "fast":
            takes[quotas.SWEEP] = 1.0
        found = Stage(takes, _by_state(self.table_retries["full"]), after_s=after_s)
        return [found, *self._stages("full", cost)]


def demand(cloud: LocalCloud) -> Demand:
    """Counted on this cloud, with the template's defaults of what is a time."""
    bench, defaults = Bench(cloud), load(TEMPLATE).parameters
    request = {lane: work(f"scale-{lane}") for lane in LANES}
    return Demand(
        new={lane: bench.measure(lane, request[lane]) for lane in LANES},
        duplicate={lane: bench.measure(lane, request[lane]) for lane in LANES},
        death={lane: _death(bench, lane) for lane in LANES},
        table_retries={lane: bench.definition(lane)["States"]["AcquireLock"]["Retry"][-1] for lane in LANES},
        handover_retry=bench.definition("fast")["States"]["HandOver"]["Retry"][-1],
        lease_s=_longest_wait(defaults),
        sweep=_sweep(defaults),
    )


def _death(bench: Bench, lane: str) -> Cost:
    """Of an owner that died at work, found by a sweep."""
    request = work(f"scale-{lane}-death")
    with bench.cloud.intercept(die_in("ExecuteBusinessLogic", bench)):
        bench.run(lane, request)
    advance(bench, LONGER_THAN_A_LEASE_S)
    with bench.counting() as count:
        recovery = bench.cloud.resources["RecoveryStateMachine"]
        bench.cloud.wait(bench.cloud.start_machine(recovery, "{}", str(uuid4())))
    return count.cost


def _longest_wait(parameters: Mapping[str, str]) -> float:
    """Until AWS has ended an Express execution at the latest, its lease is over, and the next sweep comes."""
    names = ("BusinessTimeoutSeconds", "LeaseMarginSeconds")
    return (
        EXPRESS_SECONDS
        + sum(float(parameters[name]) for name in names)
        + 60 * float(parameters["RecoveryPeriodMinutes"])
    )


def _sweep(parameters: Mapping[str, str]) -> Quota:
    records = float(parameters["RecoveryRounds"]) * RECORDS_OF_A_PAGE * quotas.SHARDS
    return Quota(records, records / 60 / float(parameters["RecoveryPeriodMinutes"]))


def _function() -> Stage:
    held = LOGIC_MS / 1000
    return Stage({quotas.CONCURRENCY: 1}, lambda tries: min(60.0, 2.0**tries), held=quotas.CONCURRENCY, held_s=held)


def _by_rule(tries: int) -> float:
    return float(min(RULE_LONGEST_S, RULE_FIRST_S * 2**tries))


def _delayed(_tries: int) -> float:
    """Step Functions enters the state a little later."""
    return 0.0


def _by_state(retry: Mapping[str, Any]) -> Callable[[int], float]:
    first, rate, longest = retry["IntervalSeconds"], retry["BackoffRate"], retry["MaxDelaySeconds"]
    return lambda tries: float(min(longest, first * rate ** (tries - 1)))
