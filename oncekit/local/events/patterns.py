"""Event patterns, as rules and the filters of pipes have them.

moto's matcher is not used: it treats true as 1, does not look into arrays of objects, and an unknown comparison matches
everything. Here, as on AWS:

- all members of a pattern must match; of the alternatives in an array, one must; of those in `$or`, one must;
- an array in the event matches when one of its elements does, also when the elements are objects;
- values match by type and value: "1" is not 1, and 1.0 is 1;
- `exists` applies to leaves: for an object it is false, also if the object has members;
- `anything-but` needs a value, and null is one; a member that does not exist does not match it.

Of AWS's comparisons there are `prefix`, `suffix`, `equals-ignore-case`, `numeric`, `exists`, and `anything-but` with
values; a pattern with another one, such as `wildcard` or `cidr`, is not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class PatternError(ValueError):
    """A pattern that is none, or with a comparison that the local cloud does not support."""


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Whether an event matches the pattern. Raises PatternError."""
    return all(_member_matches(name, wanted, event) for name, wanted in pattern.items())


def check(pattern: Any, where: str = "the pattern") -> None:
    """Raises PatternError, with the place."""
    if not isinstance(pattern, dict):
        raise PatternError(f"{where} is {pattern!r}, but must be an object, or an array of values or comparisons")
    for name, wanted in pattern.items():
        place = f"{where}.{name}"
        if not isinstance(wanted, list):
            check(wanted, place)
            continue
        for each in wanted:
            if name == "$or":
                check(each, place)
            elif isinstance(each, dict):
                _comparison(each, place)


def _member_matches(name: str, wanted: Any, event: Any) -> bool:
    if name == "$or":
        return any(matches(each, event) for each in wanted)
    value = event.get(name, _NOTHING) if isinstance(event, dict) else _NOTHING
    if isinstance(wanted, dict):
        return _nested_matches(wanted, value)
    return any(_alternative_matches(each, value) for each in wanted)


def _nested_matches(wanted: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, list):
        return any(_nested_matches(wanted, each) for each in value)
    return matches(wanted, value if isinstance(value, dict) else {})


_NOTHING = object()
"""Stands for a member that is not there."""


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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


Test = Callable[[Any], bool]


def _comparison(filter_: Mapping[str, Any], place: str) -> Test:
    """The test that a comparison such as {"prefix": "a"} makes. Raises PatternError."""
    test = None
    if len(filter_) == 1:
        [(name, wanted)] = filter_.items()
        test = _COMPARISONS[name](wanted) if name in _COMPARISONS else None
    if test is None:
        raise PatternError(f"{place} has the comparison {dict(filter_)!r}, which the local cloud does not support")
    return test


def _exists(wanted: Any) -> Test | None:
    return (lambda _value: wanted) if isinstance(wanted, bool) else None


def _of_text(compare: Callable[[str, str], bool]) -> Callable[[Any], Test | None]:
    def make(wanted: Any) -> Test | None:
        return (lambda value: isinstance(value, str) and compare(value, wanted)) if isinstance(wanted, str) else None

    return make


_ORDERS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}


def _numeric(wanted: Any) -> Test | None:
    if not isinstance(wanted, list) or len(wanted) not in (2, 4):
        return None
    pairs = list(zip(wanted[::2], wanted[1::2], strict=True))
    if any(order not in _ORDERS or not _is_number(bound) for order, bound in pairs):
        return None
    return lambda value: _is_number(value) and all(_ORDERS[order](value, bound) for order, bound in pairs)


def _anything_but(wanted: Any) -> Test | None:
    others = wanted if isinstance(wanted, list) else [wanted]
    if not others or any(not isinstance(each, (str, int, float)) for each in others):
        return None
    return lambda value: not any(_equal(each, value) for each in others)


_COMPARISONS: Mapping[str, Callable[[Any], Test | None]] = {
    "prefix": _of_text(str.startswith),
    "suffix": _of_text(str.endswith),
    "equals-ignore-case": _of_text(lambda value, wanted: value.lower() == wanted.lower()),
    "numeric": _numeric,
    "exists": _exists,
    "anything-but": _anything_but,
}
