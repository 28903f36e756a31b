"""The tables of docs/scale.md, made from the simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oncekit.bench.cost.measuring import LANES
from oncekit.bench.scale import scenarios
from oncekit.bench.scale.demand import Demand
from oncekit.bench.scale.quotas import GROWN, LARGE, NEW, OTHER
from oncekit.bench.scale.simulation import Outcome

SHARES = (0.0, 0.1, 0.9)
PAST = (
    ("fast", 0.0, NEW, 1.1),
    ("fast", 0.0, NEW, 2.0),
    ("fast", 0.0, GROWN, 2.0),
    ("fast", 0.9, NEW, 2.0),
    ("full", 0.0, NEW, 2.0),
    ("full", 0.9, NEW, 2.0),
)
"""Lane, share of duplicates, table, and how many times what the lane carries."""
Row = tuple[str, ...]


def tables(demand: Demand) -> Mapping[str, str]:
    """By name, as Markdown."""
    return {
        "carried": _table(_carried_head(), _carried(demand)),
        "one id": _table(("lane", "regions", "duplicates of one id a second", "limited by"), _one_id(demand)),
        "deaths": _table(("owner's lane", "regions", "deaths a second", "limited by"), _deaths(demand)),
        "busy day": _table(("", *LANES), _busy_day(demand)),
        "past it": _table(_past_head(), _past(demand)),
    }


def _carried_head() -> Row:
    return ("lane", "regions", "table", *(f"{share:.0%} duplicates" for share in SHARES))


def _carried(demand: Demand) -> Iterable[Row]:
    for lane in LANES:
        for region in (LARGE, OTHER):
            for table in (NEW, GROWN):
                found = [scenarios.capacity(demand, lane, share, region, table) for share in SHARES]
                yield (lane, region, table, *(f"{each.rate:,} ({each.limit})" for each in found))


def _one_id(demand: Demand) -> Iterable[Row]:
    for lane in LANES:
        for region in (LARGE, OTHER):
            found = scenarios.capacity_of_one_id(demand, lane, region, NEW)
            yield lane, region, f"{found.rate:,}", found.limit


def _deaths(demand: Demand) -> Iterable[Row]:
    for lane in LANES:
        for region in (LARGE, OTHER):
            found = scenarios.recovered(demand, lane, region)
            yield lane, region, f"{found.rate:,}", found.limit


def _busy_day(demand: Demand) -> Iterable[Row]:
    seen = [scenarios.busy_day(demand, lane) for lane in LANES]
    yield ("requests", *(f"{each.sent:,}" for each in seen))
    yield ("starts of the lane that were throttled", *(f"{_throttled(each):,}" for each in seen))
    yield ("Standard starts per request", *(f"{scenarios.full_starts_share(o):.1%}" for o in seen))
    yield ("most tries of one request", *(str(each.most_tries) for each in seen))
    yield ("all done, seconds after the first request", *(f"{each.seconds:,.0f}" for each in seen))
    yield ("lost", *(str(each.lost) for each in seen))


def _past_head() -> Row:
    throttled = "throttled tries, by"
    return ("lane", "duplicates", "table", "a second", throttled, "most tries", "kept", "lost", "all done after")


def _past(demand: Demand) -> Iterable[Row]:
    for lane, share, table, times in PAST:
        rate = scenarios.capacity(demand, lane, share, LARGE, table).rate * times
        seen = scenarios.past_it(demand, lane, share, table, times)
        throttled = "; ".join(f"{count:,} {name}" for name, count in seen.throttled.most_common())
        numbers = (str(seen.most_tries), f"{seen.kept:,}", str(seen.lost), f"{seen.seconds:,.0f} s")
        yield (lane, f"{share:.0%}", table, f"{rate:,.0f}", throttled, *numbers)


def _throttled(outcome: Outcome) -> int:
    return sum(outcome.throttled.values())


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
