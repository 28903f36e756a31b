"""docs/scale.md says what the simulation says, and the simulation treats quotas as AWS does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import botocore.session
import pytest
from botocore.validate import ParamValidator

from oncekit.bench.scale import quotas, scenarios
from oncekit.bench.scale.demand import Demand
from oncekit.bench.scale.quotas import CONCURRENCY, FAST_STARTS, FULL_STARTS, GROWN, LARGE, NEW, OTHER, Quota
from oncekit.bench.scale.report import tables
from oncekit.bench.scale.simulation import Simulation, Stage
from oncekit.local.template import load

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"
SECOND = {"starts": Quota(10, 10)}


def soon(_tries: int) -> float:
    return 1.0


def test_the_pages_tables_are_what_the_simulation_says(counted: Demand) -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for name, table in tables(counted).items():
        assert table in page, f"docs/scale.md, {name}: put in what `make bench PARTS=scale` prints"


def test_2000_a_second_with_nine_duplicates_of_ten_are_not_throttled_in_the_fast_lane(counted: Demand) -> None:
    seen = scenarios.busy_day(counted, "fast")
    assert seen.sent == 2000 * scenarios.DAY_SECONDS
    assert not seen.throttled
    assert 0 < scenarios.full_starts_share(seen) <= 0.05
    assert (seen.done, seen.lost, seen.kept) == (seen.sent, 0, 0)


def test_the_pages_call_that_enlarges_a_new_table_is_one_of_awss_and_large_enough(counted: Demand) -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^\$ (aws dynamodb update-table .*)$", page, re.MULTILINE)
    words = shlex.split(line)
    given = dict(zip(words[3::2], words[4::2], strict=True))
    table = {name: int(units) for name, units in re.findall(r"(\w+)=(\d+)", given.pop("--warm-throughput"))}
    updates = json.loads(given.pop("--global-secondary-index-updates"))
    assert given == {"--table-name": "$(out TableName)"}
    shape = botocore.session.get_session().get_service_model("dynamodb").operation_model("UpdateTable").input_shape
    call = {"TableName": "once", "WarmThroughput": table, "GlobalSecondaryIndexUpdates": updates}
    assert not ParamValidator().validate(call, shape).has_errors()
    [index] = [each["Update"] for each in updates]
    [named] = load(TEMPLATE).section("Resources")["IdempotencyTable"]["Properties"]["GlobalSecondaryIndexes"]
    assert index["IndexName"] == named["IndexName"]
    new, rate = counted.new["fast"], quotas.quotas(LARGE, NEW)[FAST_STARTS].refill
    assert f"is for {rate:,.0f} new requests a second" in page
    assert table["WriteUnitsPerSecond"] == rate * (new.write_units - new.index_units)
    assert index["WarmThroughput"]["WriteUnitsPerSecond"] == rate * new.index_units
    reads = quotas.quotas(LARGE, NEW)[quotas.READS].refill
    assert (
        table["ReadUnitsPerSecond"] == index["WarmThroughput"]["ReadUnitsPerSecond"] == reads >= rate * new.read_units
    )


@pytest.mark.parametrize("lane", ["fast", "full"])
@pytest.mark.parametrize("duplicates", [0.0, 0.9])
def test_nothing_is_lost_past_what_a_lane_carries(counted: Demand, lane: str, duplicates: float) -> None:
    seen = scenarios.past_it(counted, lane, duplicates, GROWN)
    assert seen.throttled
    assert (seen.done, seen.lost, seen.kept) == (seen.sent, 0, 0)


def test_what_the_table_refuses_for_long_goes_on_in_the_full_lane(counted: Demand) -> None:
    seen = scenarios.past_it(counted, "fast", 0.0, NEW, 1.1)
    assert seen.throttled[quotas.WRITES]
    assert 0 < scenarios.full_starts_share(seen) < 1
    assert (seen.done, seen.lost, seen.kept) == (seen.sent, 0, 0)


def test_the_full_lane_carries_as_many_as_may_start_and_the_fast_lane_twenty_times_that(counted: Demand) -> None:
    full = scenarios.capacity(counted, "full", 0.9, LARGE, NEW)
    assert (full.rate, full.limit) == (300, FULL_STARTS)
    fast = scenarios.capacity(counted, "fast", 0.9, LARGE, NEW)
    assert (fast.rate, fast.limit) == (6000, FAST_STARTS)
    assert scenarios.capacity(counted, "full", 0.9, OTHER, NEW).rate == 150


def test_what_a_bucket_has_not_comes_again_until_it_is_done() -> None:
    simulation = Simulation(SECOND, {"way": [Stage({"starts": 1}, soon)]})
    simulation.send({"way": 40}, 2)
    outcome = simulation.finish()
    assert (outcome.sent, outcome.done, outcome.lost) == (80, 80, 0)
    assert outcome.throttled["starts"] > 0
    assert outcome.most_tries > 1
    assert 6.9 <= outcome.seconds < 12, "10 at once, then 10 a second"


def test_a_request_that_has_no_try_left_is_kept_and_not_lost() -> None:
    simulation = Simulation(SECOND, {"way": [Stage({"starts": 1}, soon, tries=2)]})
    simulation.send({"way": 400}, 1)
    outcome = simulation.finish()
    assert outcome.kept > 300
    assert (outcome.done + outcome.kept, outcome.lost) == (400, 0)


def test_a_request_that_has_no_try_left_goes_on_another_way_where_there_is_one() -> None:
    ways = {"way": [Stage({"starts": 1}, soon, tries=1, otherwise="other")], "other": [Stage({"more": 1}, soon)]}
    simulation = Simulation({**SECOND, "more": Quota(100, 0)}, ways)
    simulation.send({"way": 400}, 0.1)
    outcome = simulation.finish()
    assert (outcome.done, outcome.kept, outcome.taken["more"]) == (40, 0, 30)


def test_what_is_held_is_given_back() -> None:
    way = [Stage({CONCURRENCY: 1}, soon, held=CONCURRENCY, held_s=0.5)]
    simulation = Simulation({CONCURRENCY: Quota(10, 0)}, {"way": way}, spent=True)
    simulation.send({"way": 20}, 10)
    assert not simulation.outcome.throttled, "10 at a time for half a second each are 20 a second"
    simulation.send({"way": 21}, 10)
    assert simulation.outcome.throttled[CONCURRENCY]


def test_a_stage_that_lacks_one_of_two_takes_neither() -> None:
    given = {"a": Quota(10, 0), "b": Quota(3, 0)}
    simulation = Simulation(given, {"way": [Stage({"a": 1, "b": 1}, soon, tries=1)]})
    simulation.send({"way": 80}, 0.1)
    outcome = simulation.finish()
    assert (outcome.done, outcome.kept) == (3, 5)
    assert outcome.taken == {"a": 3, "b": 3}
    assert outcome.throttled == {"b": 5}


def test_the_pages_quotas_are_those_of_the_simulation() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    given = [quotas.quotas(region, NEW) for region in (LARGE, OTHER)]
    for name in (FULL_STARTS, quotas.DESCRIBES, quotas.HISTORIES):
        [line] = re.findall(rf"^\| {name} \|.*$", page, re.MULTILINE)
        said = [float(number.replace(",", "")) for number in re.findall(r"[\d,]+\d|\d", line)]
        assert said == [number for quota in given for number in (quotas_of(quota, name))], name


def quotas_of(given: quotas.Quotas, name: str) -> tuple[float, float]:
    return given[name].refill, given[name].size
