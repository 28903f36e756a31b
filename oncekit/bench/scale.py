"""How many requests a second a lane carries: AWS's default quotas, divided by what a request takes of them.

Quotas are of an account in a region, and raised on request, but for those of one item:

- Step Functions developer guide, "Step Functions service quotas": StartExecution, StateTransition, DescribeExecution,
  by two groups of regions; Express has no quota on transitions. New accounts have less.
- DynamoDB developer guide, "on-demand capacity mode" (a new table takes 4,000 write and 12,000 read units a second, and
  grows to twice its peak), "Quotas" (40,000 of each for a table), "Best practices for designing partition keys" (1,000
  write and 3,000 read units a second for a partition, and so for an item or a key of an index).
- Lambda developer guide, "Lambda scaling behavior" and "quotas": 1,000 concurrent executions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oncekit.bench.cost.counting import Cost
from oncekit.bench.cost.measuring import LANES
from oncekit.bench.cost.paths import TAKES_OVER, Costs
from oncekit.bench.cost.prices import LOGIC_MS
from oncekit.bench.cost.table import table

STARTS = {"fast": "Express starts", "full": "Standard starts"}
DESCRIBES = "DescribeExecution"
SHARDS = 16
"""The index's keys of records in progress."""
EVERYWHERE = {
    "Express starts": 6000.0,
    "Lambda concurrency": 1000.0,
    "reads of one item": 3000.0,
    "writes of one item": 1000.0,
}
REGIONS = {
    "us-east-1, us-west-2, eu-west-1": {"Standard starts": 300.0, "transitions": 5000.0, DESCRIBES: 15.0},
    "other regions": {"Standard starts": 150.0, "transitions": 800.0, DESCRIBES: 10.0},
}
TABLES = {
    "new": {"table writes": 4000.0, "table reads": 12_000.0, "index writes": 4000.0},
    "grown": {"table writes": 40_000.0, "table reads": 40_000.0, "index writes": SHARDS * 1000.0},
}
"""All of them a second, but for concurrency."""
HEAD = ("lane", "regions", "table", "new requests", "90% duplicates", "duplicates of one id", "deaths recovered")
Use = Mapping[str, float]
"""What one request takes, by quota."""


def scale_table(costs: Costs) -> str:
    """The table of docs/scale.md."""
    return table(HEAD, (row for lane in LANES for row in _rows(costs, lane)))


def _rows(costs: Costs, lane: str) -> Iterator[tuple[str, ...]]:
    cost = costs[lane, "duplicate, 1 KB result"]
    new, duplicate = use_of(costs[lane, "new request, 1 KB result"]), use_of(cost)
    mixed = {name: 0.1 * new.get(name, 0) + 0.9 * duplicate.get(name, 0) for name in {**new, **duplicate}}
    of_one = {**duplicate, "reads of one item": cost.read_units, "writes of one item": cost.write_units}
    death = use_of(costs["full", TAKES_OVER.format(lane)])  # the execution that the sweep starts takes as much
    for region, regional in REGIONS.items():
        for kind, units in TABLES.items():
            quotas = {**EVERYWHERE, **regional, **units}
            yield (lane, region, kind, *(carried(quotas, use) for use in (new, mixed, of_one, death)))


def carried(quotas: Mapping[str, float], use: Use) -> str:
    """The most a second, and the quota that is used up first."""
    rates = {name: quotas[name] / units for name, units in use.items() if units}
    least = min(rates, key=rates.__getitem__)
    return f"{int(rates[least]):,} ({least})"


def use_of(cost: Cost) -> Use:
    """What a path takes of each quota."""
    return {
        STARTS["fast"]: cost.express_starts,
        STARTS["full"]: cost.starts - cost.express_starts,
        "transitions": cost.transitions,
        DESCRIBES: cost.describes,
        "table writes": cost.write_units - cost.index_units,
        "index writes": cost.index_units,
        "table reads": cost.read_units,
        "Lambda concurrency": cost.invocations * LOGIC_MS / 1000,
    }
