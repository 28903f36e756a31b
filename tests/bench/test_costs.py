"""The table of docs/cost.md is what a run costs, and the figures that were promised are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oncekit.bench.cost import logged, prices
from oncekit.bench.cost.counting import Cost, size_of
from oncekit.bench.cost.paths import ELSEWHERE, Costs
from oncekit.bench.cost.table import COLUMNS, rows

ROOT = Path(__file__).parents[2]
VARIES = {"log bytes": 0.1, "$ a million": 0.01}
"""By how much: a traceback is as long as Python's version prints it."""


def dollars(costs: Costs, lane: str, name: str) -> float:
    return costs[lane, name].dollars_per_million


def on_the_page() -> list[tuple[str, ...]]:
    lines = (ROOT / "docs/cost.md").read_text(encoding="utf-8").splitlines()
    first = lines.index(f"| {' | '.join(COLUMNS)} |") + 2
    seen = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in lines[first:])  # a word may be a link
    table = [tuple(line.strip("| ").split(" | ")) for line in seen]
    return table[: next(n for n, row in enumerate(table) if len(row) < len(COLUMNS))]


def test_the_table_of_the_page_is_what_was_counted(costs: Costs) -> None:
    said, counted = on_the_page(), list(rows(costs))
    assert [row[:2] for row in said] == [row[:2] for row in counted]
    for old, new in zip(said, counted, strict=True):
        for column, was, now in zip(COLUMNS, old, new, strict=True):
            tolerance = VARIES.get(column, 0) * float(now) if column in VARIES else 0
            same = was == now or (column in VARIES and abs(float(was) - float(now)) <= tolerance)
            assert same, f"{new[:2]}: {column} is {now}, docs/cost.md says {was}: put in what `make bench` prints"


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("new request, 300-byte result", 4.7),
        ("new request, 1 KB result", 5.3),
        ("duplicate, 300-byte result", 1.25),
        ("duplicate, 1 KB result", 1.25),
        ("duplicate, 20 KB result", 1.25),
        ("duplicate while in progress", 1.25),
    ],
)
def test_the_fast_lane_costs_no_more_than_was_promised(costs: Costs, name: str, most: float) -> None:
    assert dollars(costs, "fast", name) <= most


@pytest.mark.parametrize(("name", "most"), [("new request", 2.9), ("duplicate", 0.4)])
def test_the_direct_lane_costs_no_more_than_was_promised(costs: Costs, name: str, most: float) -> None:
    assert dollars(costs, "direct", f"{name}, 300-byte result") <= most
    assert dollars(costs, "direct", f"{name}, 300-byte result, in a batch of 10") <= most - 0.15


def test_a_duplicate_of_the_direct_lane_costs_the_same_whatever_its_answer(costs: Costs) -> None:
    assert costs["direct", "duplicate, 300-byte result"] == costs["direct", "duplicate, 1 KB result"]


def said(pattern: str) -> list[float]:
    """The numbers of a sentence of docs/cost.md."""
    text = " ".join((ROOT / "docs/cost.md").read_text(encoding="utf-8").split())
    found = re.search(pattern, text)
    assert found, pattern
    return [float(each) for each in found.groups()]


OF_A_SECOND = prices.express_gigabyte_seconds(1000) * prices.EXPRESS_GIGABYTE_SECOND * 1e6
"""Dollars a million that another second of an Express execution costs."""


def break_even_seconds(costs: Costs) -> float:
    """How long business logic runs when a new request with a result of 1 KB costs the same in both lanes.

    The fast lane pays for the time that it waits for business logic, the full one does not.
    """
    name = "new request, 1 KB result"
    return prices.LOGIC_MS / 1000 + (dollars(costs, "full", name) - dollars(costs, "fast", name)) / OF_A_SECOND


def test_the_page_says_when_both_lanes_cost_the_same(costs: Costs) -> None:
    second, even = said(r"second of business logic costs \$(\d\.\d\d) a million .* cost the same at (\d+) seconds")
    assert second == round(OF_A_SECOND, 2)
    assert even == pytest.approx(break_even_seconds(costs), abs=1)


def test_the_page_says_how_much_cheaper_the_fast_lane_is(costs: Costs) -> None:
    ends_there = [name for (lane, name), cost in costs.items() if lane == "fast" and not cost.transitions]
    ratios = sorted(dollars(costs, "full", name) / dollars(costs, "fast", name) for name in ends_there)
    least, most = said(r"between 1/(\d+) and 1/(\d+) of the full one")
    assert len(ratios) == 12 and (least, most) == (int(ratios[0]), int(ratios[-1]))


def test_no_execution_waits_for_work_elsewhere(costs: Costs) -> None:
    """It goes on for an hour in the row."""
    fast, full = costs["fast", ELSEWHERE], costs["full", ELSEWHERE]
    assert fast.gigabyte_seconds == costs["fast", "new request, 1 KB result"].gigabyte_seconds
    assert (full.transitions, full.gigabyte_seconds) == (costs["full", "fails for good"].transitions, 0)


@pytest.mark.parametrize("kind", ["new request", "duplicate"])
def test_the_full_lane_makes_no_more_transitions_and_logs_less_than_before(costs: Costs, kind: str) -> None:
    cost = costs["full", f"{kind}, 1 KB result"]
    assert cost.transitions == 5
    assert cost.log_bytes / 1e9 * prices.LOGGED_GIGABYTE * 1e6 <= 0.3


def test_express_is_billed_by_started_100_ms_and_64_mb() -> None:
    assert [prices.express_gigabyte_seconds(ms) for ms in (1, 100, 101)] == [
        64 / 1024 * each for each in (0.1, 0.1, 0.2)
    ]
    # Example 3 of the pricing page: 100 million executions of 10 s are 62,500,000 GB-s.
    assert prices.express_gigabyte_seconds(10_000) * 1e8 == 62_500_000


def test_each_thing_that_is_paid_for_is_in_the_sum() -> None:
    for member in ("transitions", "express_starts", "gigabyte_seconds", "write_units", "read_units", "invocations"):
        assert Cost(**{member: 1}).dollars_per_million > 0, member
    for member in ("puts", "gets", "api_calls", "data_bytes", "log_bytes", "traces"):
        assert Cost(**{member: 1}).dollars_per_million > 0, member
    assert Cost(log_bytes=1000).dollars_per_million == pytest.approx(0.5)
    assert Cost(api_calls=1).dollars_per_million == 3.5
    assert Cost(data_bytes=1000).dollars_per_million == pytest.approx(0.09 * 1000 / 1e9 * 1e6)
    assert Cost(traces=1).dollars_per_million == pytest.approx(0.25)


def test_an_item_is_as_large_as_its_names_and_values_and_its_owner_as_long_as_on_aws() -> None:
    assert size_of({"id": {"S": "é"}, "n": {"N": "1234"}}) == 4 + 1 + 3
    assert size_of({"owner": {"S": "a"}}) == 6 + 7


def test_lines_are_counted_as_lambda_and_step_functions_write_them() -> None:
    line = '{"Duration":0.3,"in":"/here/app.py"}'
    assert logged.as_on_lambda(line, Path("/here")) == '{"Duration":100.0,"in":"/var/task/app.py"}'
    assert logged.bytes_of(["é", "ab"]) == 2 + 2 + 2 * 26
    events = [
        {"id": 4, "type": "TaskFailed", "previousEventId": 3, "taskFailedEventDetails": {"error": "E", "input": "x"}},
        {"id": 5, "type": "TaskStateExited", "previousEventId": 4},
    ]
    [told] = logged.of_events("arn", events)
    assert '"error":"E"' in told and not re.search("input|Exited", told)
