"""Event patterns as AWS documents them; each row is a pattern, an event, and whether it matches."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.local.events.patterns import NotJudged, PatternError, check, matches


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
        ({"a": [{"suffix": ".png"}]}, {"a": "b.png"}, True),
        ({"a": [{"prefix": {"equals-ignore-case": "eventb"}}]}, {"a": "EventBridge"}, True),
        ({"a": [{"suffix": {"equals-ignore-case": ".PNG"}}]}, {"a": "png"}, False),
        ({"a": [{"equals-ignore-case": "alice"}]}, {"a": "Alice"}, True),
        ({"a": [{"equals-ignore-case": "alice"}]}, {"a": "Alices"}, False),
        ({"a": [{"wildcard": "dir/*.png"}]}, {"a": "dir/b/\n.png"}, True),
        ({"a": [{"wildcard": "a\\*.b"}]}, {"a": "a*.b"}, True),
        ({"a": [{"wildcard": "a\\*.b"}]}, {"a": "ax.b"}, False),
        ({"a": [{"cidr": "10.0.0.1/24"}]}, {"a": "10.0.0.255"}, True),
        ({"a": [{"cidr": "10.0.0.0/24"}]}, {"a": "10.0.1.0"}, False),
        ({"a": [{"cidr": "10.0.0.0/24"}]}, {"a": "host"}, False),
        ({"a": [{"numeric": [">", 0, "<=", 5]}]}, {"a": 5}, True),
        ({"a": [{"numeric": [">", 0, "<=", 5]}]}, {"a": 0}, False),
        ({"a": [{"numeric": ["=", 1]}]}, {"a": True}, False),
        ({"a": [{"numeric": ["<", 5]}]}, {"a": "1"}, False),
        ({"a": [{"anything-but": {"prefix": ["x", "y"]}}]}, {"a": "yz"}, False),
        ({"a": [{"anything-but": {"suffix": "z"}}]}, {"a": "yz"}, False),
        ({"a": [{"anything-but": {"wildcard": "*/lib/*"}}]}, {"a": "/lib/b"}, False),
        ({"a": [{"anything-but": {"equals-ignore-case": "x"}}]}, {"a": "X"}, False),
        ({"a": [{"anything-but": {"prefix": "x"}}]}, {"a": None}, True),
        ({"a": [{"anything-but": [1, 2]}]}, {"a": "1"}, True),
        ({"$or": [{"a": [1]}, {"b": [2], "c": [3]}]}, {"b": 2, "c": 3}, True),
        ({"$or": [{"a": [1]}, {"b": [2], "c": [3]}]}, {"b": 2, "c": 4}, False),
        ({"$or": [{"a": [1]}, {"b": [2]}], "c": [3]}, {"a": 1, "c": 4}, False),
        ({"d": {"$or": [{"a": [1]}, {"$or": [{"b": [2]}, {"c": [3]}]}]}}, {"d": {"c": 3}}, True),
    ],
)
def test_pattern_matches_as_on_aws(pattern: dict[str, Any], event: dict[str, Any], expected: bool) -> None:
    check(pattern)
    assert matches(pattern, event) is expected


@pytest.mark.aws(
    recorded="LocalStack, test_events_patterns.snapshot.json, dot_joining_event and its opposite, 15-10-2025",
    says="a member whose name has a dot is the same as a member within a member",
)
@pytest.mark.parametrize(
    ("pattern", "event", "expected"),
    [
        ({"a": {"b": ["x"]}}, {"a.b": "x"}, True),
        ({"a.b": ["x"]}, {"a": {"b": "x"}}, True),
        ({"a": {"b": ["x"]}}, {"a.b": {"b": "x"}}, False),
        ({"a": {"b": [{"exists": False}]}}, {"a.b": "x"}, False),
    ],
)
def test_names_joined_by_dots_are_the_path(pattern: dict[str, Any], event: dict[str, Any], expected: bool) -> None:
    assert matches(pattern, event) is expected


@pytest.mark.aws(
    suite="aws/event-ruler, src/test/software/amazon/event/ruler/ACMachineTest.java",
    says="two fields are within JSON objects that are in different elements of the same array",
)
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"a": {"b": [1], "c": [2]}}, False),
        ({"a": {"b": [1], "c": [{"exists": False}]}}, True),
        ({"a": {"b": [{"exists": False}]}}, False),
        ({"a": {"b": [3]}}, True),
    ],
)
def test_members_of_different_elements_do_not_match_together(pattern: dict[str, Any], expected: bool) -> None:
    assert matches(pattern, {"a": [{"b": 1}, {"c": 2}, [{"b": 3}]]}) is expected


@pytest.mark.aws(
    recorded="LocalStack, test_events_patterns.snapshot.json, the cases that end with _EXC, 15-10-2025",
    says="InvalidEventPatternException, Event pattern is not valid",
)
@pytest.mark.parametrize(
    "wanted",
    [
        "x", 1, {}, [], [[1]], [{"prefix": 1}], [{"suffix": ["x"]}], [{"wildcard": "a**"}], [{"wildcard": "a\\b"}],
        [{"cidr": "10.0.0.0"}], [{"cidr": "x/24"}], [{"numeric": [">", 0, ">", 0]}], [{"numeric": [">", 0, "<"]}],
        [{"exists": 1}], [{"anything-but": None}], [{"anything-but": []}], [{"anything-but": ["x", 1]}],
        [{"anything-but": ["x", None]}], [{"anything-but": {"prefix": ""}}], [{"anything-but": {"wildcard": 1}}],
        [{"anything-but": {"numeric": ["=", 1]}}], [{"EXISTS": True}], [{"prefix": "x", "suffix": "y"}],
    ],
)  # fmt: skip
def test_pattern_that_aws_refuses_is_refused_with_the_place(wanted: Any) -> None:
    with pytest.raises(PatternError, match=r"the pattern at detail\.a "):
        check({"detail": {"a": wanted}})


@pytest.mark.ours
@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ({"$or": [{"a": [1]}]}, "an array of two objects or more"),
        ({"$or": [{"a": [1]}, {"prefix": ["b"]}]}, "the name of a comparison"),
        ({"a": [1], "$or": [{"a": [2]}, {"b": [3]}]}, "stands twice"),
        ({"a.b": [1], "a": {"b": [2]}}, "stands twice"),
        ({"a": [{"wildcard": "*:*:*:*:*:event-bus/*"}]}, "too complex for AWS"),
        ({"a": [{"wildcard": "*/*/b"}, {"anything-but": {"wildcard": ["*/*/c", "*"]}}]}, "too complex for AWS"),
    ],
)
def test_pattern_of_which_aws_may_make_something_else_is_not_judged(pattern: dict[str, Any], why: str) -> None:
    with pytest.raises(NotJudged, match=why):
        check(pattern)
