"""The outcomes of the crash matrix are kept as text: what differs is told with its path, its fault and its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from in_world import section

from oncekit.proof.simulation import outcomes
from oncekit.proof.simulation.cells import Cell, Place

FINALIZE = Place("call", 1, "Finalize update_item")
ALL_WELL = [
    Cell("new", FINALIZE, fault, "completed", (), starts=1, effects=1)
    for fault in ("dies after", "slow", "arrives late: never", "arrives late: before call 2")
]


def differing(**what: Any) -> list[str]:
    """The lines that are new when one cell, the last one, comes to something else."""
    kept, now = (
        {"new": outcomes.section(cells)} for cells in (ALL_WELL, [*ALL_WELL[:-1], replace(ALL_WELL[-1], **what)])
    )
    return [line[1:].strip() for line in outcomes.differences(kept, now) if line.startswith("+ ")]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ({"outcome": "quarantined"}, "quarantined, 1 start, 1 effect: arrives late 1"),
        ({"starts": 2}, "completed, 2 starts, 1 effect: arrives late 1"),
        ({"effects": 2}, "completed, 1 start, 2 effects: arrives late 1"),
    ],
)
def test_another_end_or_count_is_told_with_its_fault_and_place(what: dict[str, Any], told: str) -> None:
    assert differing(**what) == [told]
    [cell] = outcomes.unusual([*ALL_WELL[:-1], replace(ALL_WELL[-1], **what)])
    assert "Finalize update_item #1 (call) | arrives late: before call 2" in cell


def test_the_same_outcomes_are_no_difference_in_whatever_order_they_come() -> None:
    assert outcomes.section(ALL_WELL) == outcomes.section(ALL_WELL[::-1])
    assert differing() == []


def test_a_path_that_is_gone_differs_and_a_new_one_does_not() -> None:
    kept = {"new": outcomes.section(ALL_WELL)}
    assert outcomes.differences(kept, {}) != []
    assert outcomes.differences({}, kept) == []


def test_what_is_kept_is_read_as_it_was_written(tmp_path: Any) -> None:
    sections = {
        name: outcomes.section([replace(each, path=name) for each in ALL_WELL]) for name in ("new", "fast: new")
    }
    (tmp_path / "kept.txt").write_text(outcomes.written(sections))
    assert outcomes.read(tmp_path / "kept.txt") == sections


def test_a_path_comes_to_the_outcomes_that_are_kept(in_world: Callable[..., Any]) -> None:
    assert in_world(section, "new, small") == outcomes.read()["new, small"]
