"""Event patterns, as rules and the filters of pipes have them.

moto's matcher is not used: it treats true as 1, does not look into arrays of objects, and an unknown comparison matches
everything. Here, as on AWS:

- all members of a pattern must match; of the alternatives in an array, one must; of those in `$or`, one must;
- an array in the event matches when one of its elements does, also when the elements are objects;
- values match by type and value: "1" is not 1, and 1.0 is 1;
- `exists` applies to leaves: for an object it is false, also if the object has members;
- a name with dots is a path: `{"a.b": ["x"]}` is `{"a": {"b": ["x"]}}`, in pattern and event alike;
- `anything-but` needs a value, and null is one; a member that does not exist does not match it.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any


class PatternError(ValueError):
    """A pattern that AWS would refuse."""


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Whether an event matches the pattern. Raises PatternError."""
    return _matches(_undotted(pattern), _undotted(event))


def _undotted(value: Any) -> Any:
    """The value with every name that has dots taken for a path."""
    if isinstance(value, list):
        return [_undotted(each) for each in value]
    if not isinstance(value, dict):
        return value
    whole: dict[str, Any] = {}
    for name, member in value.items():
        *path, last = name.split(".")
        place = whole
        for step in path:
            inner = place.get(step)
            place[step] = place = dict(inner) if isinstance(inner, dict) else {}
        known, new = place.get(last), _undotted(member)
        place[last] = {**known, **new} if isinstance(known, dict) and isinstance(new, dict) else new
    return whole


def _matches(pattern: Mapping[str, Any], event: Any) -> bool:
    return all(_member_matches(name, wanted, event) for name, wanted in pattern.items())


def check(pattern: Any, where: str = "the pattern") -> None:
    """Raises PatternError, with the place, for what AWS would refuse."""
    if not isinstance(pattern, dict) or not pattern:
        raise PatternError(f"{where} is {pattern!r}, but must be an object with members")
    for name, wanted in pattern.items():
        place = f"{where}.{name}"
        if name == "$or":
            if not isinstance(wanted, list) or len(wanted) < 2:
                raise PatternError(f"{place} must be an array of at least two patterns")
            for each in wanted:
                check(each, place)
        elif isinstance(wanted, list):
            _check_alternatives(wanted, place)
        else:
            check(wanted, place)


def _check_alternatives(wanted: list[Any], place: str) -> None:
    if not wanted:
        raise PatternError(f"{place} must not be empty")
    for each in wanted:
        if isinstance(each, list):
            raise PatternError(f"{place} has an array in an array")
        if isinstance(each, dict):
            _comparison(each, place)


def _member_matches(name: str, wanted: Any, event: Any) -> bool:
    if name == "$or" and isinstance(wanted, list):
        return any(_matches(each, event) for each in wanted)
    value = event.get(name, _NOTHING) if isinstance(event, dict) else _NOTHING
    if isinstance(wanted, dict):
        return _nested_matches(wanted, value)
    return any(_alternative_matches(each, value) for each in wanted)


def _nested_matches(wanted: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, list):
        return any(_nested_matches(wanted, each) for each in value)
    return _matches(wanted, value if isinstance(value, dict) else {})


class _Nothing:
    """Stands for a member that is not there."""


_NOTHING = _Nothing()


def _alternative_matches(wanted: Any, value: Any) -> bool:
    leaves = [each for each in (value if isinstance(value, list) else [value]) if not isinstance(each, (dict, list))]
    if isinstance(value, _Nothing):
        leaves = []
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
    if len(filter_) != 1:
        raise PatternError(f"{place} has a comparison with {len(filter_)} members, but only one is possible")
    [(name, wanted)] = filter_.items()
    if name == "exists" and isinstance(wanted, bool):
        return lambda _value: wanted
    make = _COMPARISONS.get(name)
    test = make(wanted) if make is not None else None
    if test is None:
        raise PatternError(f"{place} has the comparison {dict(filter_)!r}, which EventBridge does not support")
    return test


def _of_text(compare: Callable[[str, str], bool]) -> Callable[[Any], Test | None]:
    """A comparison of texts; {"equals-ignore-case": text} leaves case out of it."""

    def make(wanted: Any) -> Test | None:
        if isinstance(wanted, dict) and set(wanted) == {"equals-ignore-case"}:
            other = wanted["equals-ignore-case"]
            if isinstance(other, str):
                return lambda value: isinstance(value, str) and compare(value.lower(), other.lower())
        if isinstance(wanted, str):
            return lambda value: isinstance(value, str) and compare(value, wanted)
        return None

    return make


def _ignoring_case(wanted: Any) -> Test | None:
    if not isinstance(wanted, str):
        return None
    return lambda value: isinstance(value, str) and value.lower() == wanted.lower()


@functools.cache
def _wildcard(wanted: str) -> re.Pattern[str]:
    parts = re.findall(r"\\[*\\]|[\s\S]", wanted)
    return re.compile("".join(".*" if part == "*" else re.escape(part[-1]) for part in parts), re.DOTALL)


def _like(wanted: Any) -> Test | None:
    if not isinstance(wanted, str) or "**" in wanted:
        return None
    return lambda value: isinstance(value, str) and _wildcard(wanted).fullmatch(value) is not None


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
    if len(pairs) == 2 and (pairs[0][0] not in (">", ">=") or pairs[1][0] not in ("<", "<=")):
        return None  # a range goes from below to above
    if any(order not in _ORDERS or not _is_number(bound) for order, bound in pairs):
        return None
    return lambda value: _is_number(value) and all(_ORDERS[order](value, bound) for order, bound in pairs)


def _cidr(wanted: Any) -> Test | None:
    try:
        network = ipaddress.ip_network(wanted, strict=False)
    except ValueError:
        return None

    def test(value: Any) -> bool:
        try:
            return ipaddress.ip_address(value) in network
        except ValueError:
            return False

    return test


def _anything_but(wanted: Any) -> Test | None:
    if isinstance(wanted, dict):
        if len(wanted) != 1 or not set(wanted) <= {"prefix", "suffix", "equals-ignore-case", "wildcard"}:
            return None
        [(name, given)] = wanted.items()
        texts = given if isinstance(given, list) else [given]
        if any(not isinstance(each, str) or (not each and name in ("prefix", "suffix")) for each in texts):
            return None
        tests = [_COMPARISONS[name](each) for each in texts]
        known = [test for test in tests if test is not None]
        return (lambda value: not any(test(value) for test in known)) if len(known) == len(tests) else None
    others = wanted if isinstance(wanted, list) else [wanted]
    if not others or any(not isinstance(each, (str, int, float)) for each in others):
        return None
    return lambda value: not any(_equal(each, value) for each in others)


_COMPARISONS: Mapping[str, Callable[[Any], Test | None]] = {
    "prefix": _of_text(str.startswith),
    "suffix": _of_text(str.endswith),
    "equals-ignore-case": _ignoring_case,
    "wildcard": _like,
    "numeric": _numeric,
    "cidr": _cidr,
    "anything-but": _anything_but,
}
