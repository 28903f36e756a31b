"""Schedules: some of them, and that a seed repeats; `make proof` runs thousands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_schedules_keep_the_promises_and_repeat_exactly(in_world: Callable[..., Any]) -> None:
    first = in_world("schedule", 0, 40)
    assert not [each for each in first if each[2]]
    second = in_world("schedule", 0, 12, hash_seed=1)
    assert [each[1] for each in second] == [each[1] for each in first[:12]]
