"""Event patterns of rules.

moto's matcher is not used: it treats true as 1, does not look into arrays of objects, and an unknown comparison matches
everything. Here, as on AWS:

- all members of a pattern must match; of the alternatives in an array, one must;
- an array in the event matches when one of its elements does, also when the elements are objects;
- values match by type and value: "1" is not 1, and 1.0 is 1;
- `exists` applies to leaves: for an object it is false, also if the object has members;
- `anything-but` needs a value, and null is one; a member that does not exist does not match it.

Of AWS's comparisons there are `prefix`, `exists` and `anything-but` with values: a rule with another one is left
out, and told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Test = Callable[[Any], bool]


class PatternError(ValueError):
    """A pattern that is none, or with a comparison that the local cloud does not support."""


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Whether an event matches the pattern. Raises PatternError."""
    return all(_member_matches(wanted, _member(name, event)) for name, wanted in pattern.items())


def check(pattern: Any, where: str = "the pattern") -> None:
    """Raises PatternError, with the place."""
    if not isinstance(pattern, dict) or "$or" in pattern:
        raise PatternError(f"{where} is {pattern!r}, but must be an object without $or, or an array of values")
    for name, wanted in pattern.items():
        if not isinstance(wanted, list):
            check(wanted, f"{where}.{name}")
            continue
        for each in wanted:
            if isinstance(each, dict):
                _comparison(each, f"{where}.{name}")


_NOTHING = object()
"""Stands for a member that is not there."""


def _member(name: str, event: Any) -> Any:
    return event.get(name, _NOTHING) if isinstance(event, dict) else _NOTHING


def _member_matches(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, dict):
        return any(_alternative_matches(each, value) for each in wanted)
    if isinstance(value, list):
        return any(_member_matches(wanted, each) for each in value)
    return matches(wanted, value if isinstance(value, dict) else {})


def _alternative_matches(wanted: Any, value: Any) -> bool:
    values = [] if value is _NOTHING else value if isinstance(value, list) else [value]
    leaves = [each for each in values if not isinstance(each, (dict, list))]
    if isinstance(wanted, dict):
        if "exists" in wanted:
            return bool(leaves) is wanted["exists"]
        return any(_comparison(wanted, "the pattern")(each) for each in leaves)
    return any(_equal(wanted, each) for each in leaves)


def _equal(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool) or wanted is None or value is None:
        return wanted is value
    return isinstance(wanted, str) == isinstance(value, str) and bool(wanted == value)


def _comparison(filter_: Mapping[str, Any], place: str) -> Test:
    """The test that a comparison such as {"prefix": "a"} makes. Raises PatternError."""
    match filter_:
        case {"exists": bool()} if len(filter_) == 1:
            return lambda _value: True
        case {"prefix": str(beginning)} if len(filter_) == 1:
            return lambda value: isinstance(value, str) and value.startswith(beginning)
        case {"anything-but": str() | int() | float() | list() as given} if len(filter_) == 1:
            others = given if isinstance(given, list) else [given]
            return lambda value: not any(_equal(each, value) for each in others)
    raise PatternError(f"{place} has the comparison {dict(filter_)!r}, which the local cloud does not support")
