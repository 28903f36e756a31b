"""Schedules: some of them, and that a seed repeats; `make proof` runs thousands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_world import run_seeds, shrink

# What is replaced by what, and the promise that some schedule then sees broken.
BREAKAGES = {
    "a lock is taken from an owner that runs": (
        ": 'attribute_not_exists(id) OR expiresAt < :now' %}",
        ": 'attribute_not_exists(id) OR expiresAt < :now OR #status = :inProgress' %}",
        "its tickets are void",
    ),
    "a refused request is forgotten": ("Next: RefuseRequest", "Next: RequestRefused", "P5 (lost)"),
}


def test_schedules_keep_the_promises_and_repeat_exactly(in_world: Callable[..., Any]) -> None:
    first = in_world(run_seeds, 0, 40)
    assert not [each for each in first if each.faults]
    second = in_world(run_seeds, 0, 12, hash_seed=1)
    assert [each.hash for each in second] == [each.hash for each in first[:12]]


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_schedules_go_red_when_a_promise_is_broken_and_are_made_smaller(
    in_world: Callable[..., Any], broken: Callable[[str, str], Path], breakage: str
) -> None:
    old, new, promise = BREAKAGES[breakage]
    failing, smallest = in_world(shrink, 0, 40, root=broken(old, new))
    assert smallest.plan.size < failing.plan.size
    assert promise in str(smallest.faults)
