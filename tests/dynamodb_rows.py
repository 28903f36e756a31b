"""Rows of test_dynamodb_conformance.py: one UpdateItem each, and what DynamoDB makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Item = dict[str, Any]
FAILED, INVALID = "ConditionalCheckFailedException", "ValidationException"


def s(text: str) -> Item:
    return {"S": text}


def n(number: float) -> Item:
    return {"N": str(number)}


def m(**members: Item) -> Item:
    return {"M": members}


@dataclass(frozen=True)
class Row:
    """One UpdateItem: what is stored before it, what it says, and what comes of it."""

    about: str
    update: str = ""
    condition: str = ""
    stored: Item | None = None
    values: Item = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    more: Item = field(default_factory=dict)
    error: str = ""
    then: Item | None = None
    """The item afterwards, without its key; None: as it was."""
    gives: Item | None = None
    """Attributes of the answer."""


ONE = {":1": n(1)}
ROWS = [
    # conditions on what is not there
    Row(
        "no item satisfies attribute_not_exists", "SET a = :1", "attribute_not_exists(id)", None, ONE, then={"a": n(1)}
    ),
    Row("an item does not", "SET a = :1", "attribute_not_exists(id)", {"b": n(2)}, ONE, error=FAILED),
    Row("no item fails attribute_exists", "SET a = :1", "attribute_exists(id)", None, ONE, error=FAILED),
    Row("a missing attribute equals nothing", "SET a = :1", "b = :1", {"c": n(1)}, ONE, error=FAILED),
    Row(
        "a missing attribute is unequal to everything",
        "SET a = :1",
        "b <> :1",
        {"c": n(1)},
        ONE,
        then={"c": n(1), "a": n(1)},
    ),
    Row("without an item everything is unequal", "SET a = :1", "b <> :1", None, ONE, then={"a": n(1)}),
    Row("two missing attributes are unequal", "SET a = :1", "b <> c", None, ONE, then={"a": n(1)}),
    Row("two missing attributes are not equal", "SET a = :1", "b = c", None, ONE, error=FAILED),
    Row("a missing attribute is not less", "SET a = :1", "b < :1", None, ONE, error=FAILED),
    Row("nor greater", "SET a = :1", "b > :1", {"c": n(1)}, ONE, error=FAILED),
    Row("nor at most", "SET a = :1", "b <= :1", {"c": n(1)}, ONE, error=FAILED),
    Row("nor between", "SET a = :1", "b BETWEEN :1 AND :1", {"c": n(1)}, ONE, error=FAILED),
    Row("NOT turns it round", "SET a = :1", "NOT b < :1", None, ONE, then={"a": n(1)}),
    Row(
        "no item and an expired one are let in alike",
        "SET a = :1",
        "attribute_not_exists(id) OR expiresAt < :1",
        None,
        ONE,
        then={"a": n(1)},
    ),
    Row(
        "an item that never expires is not",
        "SET a = :1",
        "attribute_not_exists(id) OR expiresAt < :1",
        {"c": n(1)},
        ONE,
        error=FAILED,
    ),
    # comparisons
    Row(
        "numbers are compared as numbers",
        "SET a = :1",
        "b < :x",
        {"b": n(9)},
        {**ONE, ":x": n(10)},
        then={"b": n(9), "a": n(1)},
    ),
    Row(
        "equal numbers in other digits are equal",
        "SET a = :1",
        "b = :x",
        {"b": {"N": "1.0"}},
        {**ONE, ":x": {"N": "1"}},
        then={"b": n(1), "a": n(1)},
    ),
    Row(
        "numbers keep 38 digits",
        "SET a = :x",
        "b = :y",
        {"b": {"N": "9" * 38}},
        {":x": {"N": "1" * 38}, ":y": {"N": "9" * 38}},
        then={"b": {"N": "9" * 38}, "a": {"N": "1" * 38}},
    ),
    Row("a text is not a number", "SET a = :1", "b = :1", {"b": s("1")}, ONE, error=FAILED),
    Row("nor less than one", "SET a = :1", "b < :x", {"b": s("0")}, {**ONE, ":x": n(1)}, error=FAILED),
    Row(
        "texts are compared by their bytes",
        "SET a = :1",
        "b < :x",
        {"b": s("Z")},
        {**ONE, ":x": s("a")},
        then={"b": s("Z"), "a": n(1)},
    ),
    Row(
        "a map equals a map with the same members",
        "SET a = :1",
        "b = :x",
        {"b": m(x=n(1), y=s("2"))},
        {**ONE, ":x": m(y=s("2"), x=n(1))},
        then={"b": m(x=n(1), y=s("2")), "a": n(1)},
    ),
    Row(
        "IN finds one of several",
        "SET a = :1",
        "b IN (:x, :y)",
        {"b": s("y")},
        {**ONE, ":x": s("x"), ":y": s("y")},
        then={"b": s("y"), "a": n(1)},
    ),
    Row(
        "BETWEEN takes both ends",
        "SET a = :1",
        "b BETWEEN :1 AND :x",
        {"b": n(3)},
        {**ONE, ":x": n(3)},
        then={"b": n(3), "a": n(1)},
    ),
    Row(
        "size is the length of a text",
        "SET a = :1",
        "size(b) = :x",
        {"b": s("hello")},
        {**ONE, ":x": n(5)},
        then={"b": s("hello"), "a": n(1)},
    ),
    Row("a number has no size", "SET a = :1", "size(b) = :1", {"b": n(1)}, ONE, error=FAILED),
    Row("nor has what is not there", "SET a = :1", "size(b) = :1", {"c": n(1)}, ONE, error=FAILED),
    Row(
        "attribute_type knows a map",
        "SET a = :1",
        "attribute_type(b, :x)",
        {"b": m()},
        {**ONE, ":x": s("M")},
        then={"b": m(), "a": n(1)},
    ),
    Row(
        "attribute_type of a missing one is false",
        "SET a = :1",
        "attribute_type(b, :x)",
        None,
        {**ONE, ":x": s("M")},
        error=FAILED,
    ),
    Row(
        "begins_with looks at texts",
        "SET a = :1",
        "begins_with(b, :x)",
        {"b": s("IN_PROGRESS#0")},
        {**ONE, ":x": s("IN_")},
        then={"b": s("IN_PROGRESS#0"), "a": n(1)},
    ),
    Row(
        "contains looks into sets",
        "SET a = :1",
        "contains(b, :x)",
        {"b": {"SS": ["x", "y"]}},
        {**ONE, ":x": s("y")},
        then={"b": {"SS": ["x", "y"]}, "a": n(1)},
    ),
    # precedence
    Row(
        "AND before OR",
        "SET a = :1",
        "b = :1 OR b = :x AND c = :x",
        {"b": n(1), "c": n(1)},
        {**ONE, ":x": n(2)},
        then={"b": n(1), "c": n(1), "a": n(1)},
    ),
    Row(
        "parentheses before both",
        "SET a = :1",
        "(b = :1 OR b = :x) AND c = :x",
        {"b": n(1), "c": n(1)},
        {**ONE, ":x": n(2)},
        error=FAILED,
    ),
    Row(
        "NOT before AND",
        "SET a = :1",
        "NOT b = :x AND c = :x",
        {"b": n(1), "c": n(1)},
        {**ONE, ":x": n(2)},
        error=FAILED,
    ),
    # nested paths
    Row(
        "a step that is not done yet",
        "SET steps.pay = :1",
        "attribute_not_exists(steps.pay)",
        {"steps": m()},
        ONE,
        then={"steps": m(pay=n(1))},
    ),
    Row(
        "a step that is done",
        "SET steps.pay = :1",
        "attribute_not_exists(steps.pay)",
        {"steps": m(pay=n(2))},
        ONE,
        error=FAILED,
    ),
    Row("a member of a map that is not there", "SET steps.pay = :1", "", {"b": n(1)}, ONE, error=INVALID),
    Row("a member of a map without an item", "SET steps.pay = :1", "", None, ONE, error=INVALID),
    Row("a member of a text", "SET b.c = :1", "", {"b": s("x")}, ONE, error=INVALID),
    Row(
        "a condition on a member of nothing is just false",
        "SET a = :1",
        "steps.pay = :1",
        {"b": n(1)},
        ONE,
        error=FAILED,
    ),
    Row(
        "a leaf that is not there is removed without a word",
        "REMOVE steps.x",
        "",
        {"steps": m(pay=n(1))},
        {},
        then={"steps": m(pay=n(1))},
    ),
    Row("an attribute that is not there as well", "REMOVE steps", "", {"b": n(1)}, {}, then={"b": n(1)}),
    Row(
        "a name with a dot is one name",
        "SET #x = :1",
        "attribute_not_exists(#x)",
        {"b": n(1)},
        ONE,
        {"#x": "a.b"},
        then={"b": n(1), "a.b": n(1)},
    ),
    # updates
    Row(
        "if_not_exists begins a counter",
        "SET fence = if_not_exists(fence, :0) + :1",
        "",
        None,
        {**ONE, ":0": n(0)},
        then={"fence": n(1)},
    ),
    Row(
        "and goes on with it",
        "SET fence = if_not_exists(fence, :0) + :1",
        "",
        {"fence": n(4)},
        {**ONE, ":0": n(0)},
        then={"fence": n(5)},
    ),
    Row(
        "right sides see what was there before",
        "SET a = b, b = a",
        "",
        {"a": n(1), "b": n(2)},
        {},
        then={"a": n(2), "b": n(1)},
    ),
    Row("a sum with nothing is refused", "SET a = b + :1", "", {"c": n(1)}, ONE, error=INVALID),
    Row("a sum with a text is refused", "SET a = b + :1", "", {"b": s("1")}, ONE, error=INVALID),
    Row("ADD begins a number at zero", "ADD a :1", "", None, ONE, then={"a": n(1)}),
    Row("ADD makes a set", "ADD seen :x", "", None, {":x": {"SS": ["e"]}}, then={"seen": {"SS": ["e"]}}),
    Row(
        "ADD of a member that is there changes nothing",
        "ADD seen :x",
        "",
        {"seen": {"SS": ["e"]}},
        {":x": {"SS": ["e"]}},
        then={"seen": {"SS": ["e"]}},
    ),
    Row(
        "a set that loses its last member is gone",
        "DELETE seen :x",
        "",
        {"seen": {"SS": ["e"]}, "b": n(1)},
        {":x": {"SS": ["e"]}},
        then={"b": n(1)},
    ),
    Row(
        "SET and REMOVE in one update",
        "SET a = :1 REMOVE b",
        "",
        {"b": n(2), "c": n(3)},
        ONE,
        then={"a": n(1), "c": n(3)},
    ),
    Row("one attribute twice is refused", "SET a = :1 REMOVE a", "", {"a": n(2)}, ONE, error=INVALID),
    Row("a whole and its part are refused", "SET a = :x, a.b = :1", "", {"a": m()}, {**ONE, ":x": m()}, error=INVALID),
    Row("the key cannot be set", "SET id = :x", "", None, {":x": s("other")}, error=INVALID),
    Row("a value that nobody uses is refused", "SET a = :1", "", None, {**ONE, ":x": n(2)}, error=INVALID),
    Row("a name that nobody uses is refused", "SET a = :1", "", None, ONE, {"#x": "x"}, error=INVALID),
    Row("a value that is not given is refused", "SET a = :x", "", None, {}, error=INVALID),
    Row("a reserved word is refused", "SET status = :1", "", None, ONE, error=INVALID),
    Row(
        "unused names are looked at before the condition",
        "SET a = :1",
        "b = :1",
        None,
        {**ONE, ":x": n(2)},
        error=INVALID,
    ),
    Row(
        "what a short circuit leaves out is used",
        "SET a = :1",
        "b = :1 OR c = :x",
        {"b": n(1)},
        {**ONE, ":x": n(2)},
        then={"b": n(1), "a": n(1)},
    ),
    # answers
    Row(
        "ALL_OLD without an item is nothing",
        "SET a = :1",
        "",
        None,
        ONE,
        more={"ReturnValues": "ALL_OLD"},
        then={"a": n(1)},
        gives={},
    ),
    # the index
    Row("a number where the index has a text", "SET openShard = :1", "", None, ONE, error=INVALID),
    Row("an empty text in a key of the index", "SET openShard = :x", "", None, {":x": s("")}, error=INVALID),
]
DIFFERS: Mapping[str, frozenset[str]] = {
    "moto": frozenset({"a member of a text"}),
    "dynoxide": frozenset({"ALL_OLD without an item is nothing"}),
}
"""Rows that an engine does not hold, none of which Once leans on; a row that it holds again is red."""
