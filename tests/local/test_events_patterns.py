"""Event patterns as AWS documents them; each row is a pattern, an event, and whether it matches."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.local.events.patterns import PatternError, check, matches


@pytest.mark.aws("EventBridge User Guide, Event patterns", "An event pattern either matches an event or it doesn't.")
@pytest.mark.parametrize(
    ("pattern", "event", "expected"),
    [
        ({"a": ["x"]}, {"a": "x", "b": 1}, True),
        ({"a": ["x", "y"]}, {"a": "y"}, True),
        ({"a": ["x"], "b": [1]}, {"a": "x"}, False),
        ({"a": {"b": ["x"]}}, {"a": {"b": "x"}}, True),
        ({"a": {"b": ["x"]}}, {"a": "x"}, False),
        ({"a": ["1"]}, {"a": 1}, False),
        ({"a": [1]}, {"a": 1.0}, True),
        ({"a": [True]}, {"a": 1}, False),
        ({"a": [None]}, {"a": None}, True),
        ({"a": [None]}, {}, False),
        ({"a": ["x"]}, {"a": ["y", "x"]}, True),
        ({"a": {"b": [1], "c": [2]}}, {"a": [{"b": 0}, {"b": 1, "c": 2}]}, True),
        ({"a": {"b": [3]}}, {"a": [{"b": 1}, {"b": 2}]}, False),
        ({"a": [{"prefix": "st"}]}, {"a": "states"}, True),
        ({"a": [{"prefix": "st"}]}, {"a": 1}, False),
        ({"a": [{"anything-but": "x"}]}, {"a": "y"}, True),
        ({"a": [{"anything-but": ["x", "y"]}]}, {"a": "y"}, False),
        ({"a": [{"anything-but": "x"}]}, {}, False),
        ({"a": [{"exists": True}]}, {"a": None}, True),
        ({"a": [{"exists": True}]}, {}, False),
        ({"a": [{"exists": False}]}, {}, True),
    ],
)
def test_pattern_matches_as_on_aws(pattern: dict[str, Any], event: dict[str, Any], expected: bool) -> None:
    check(pattern)
    assert matches(pattern, event) is expected


@pytest.mark.ours
@pytest.mark.parametrize("pattern", [{"a": "x"}, {"a": [{"numeric": ["=", 1]}]}, {"$or": [{"a": [1]}, {"b": [2]}]}])
def test_pattern_that_the_local_cloud_does_not_support_is_refused(pattern: dict[str, Any]) -> None:
    with pytest.raises(PatternError, match="the pattern"):
        check(pattern)
