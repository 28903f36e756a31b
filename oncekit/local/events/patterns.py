"""Event patterns of rules, judged as EventBridge judges them.

moto's matcher is not used: it treats true as 1, does not look into arrays of objects, and an unknown comparison matches
everything. Here, as on AWS:

- An event is its fields: values by path, whose names are joined by dots. A member `a.b` is the same as `b` inside `a`,
  in a pattern, too. An object or an empty array is no field.
- All paths of a pattern must have a field that matches; of the alternatives in an array, one must.
- Fields that lie in different elements of one array of the event do not match together.
- Values match by type and value: "1" is not 1, and 1.0 is 1 (so has it the
  matcher that AWS published; its User Guide says otherwise: unconfirmed).
- All comparisons but `exists: false` need a field; a field that is null is one.

A pattern that AWS refuses is a PatternError. One of which it is not known whether AWS takes it, or what it makes of it,
is NotJudged: its rule is left out, and told.

Sources: EventBridge User Guide, *Comparison operators for use in event patterns*; what that leaves open is taken from
the matcher that AWS published, https://github.com/aws/event-ruler (JsonRuleCompiler, Event, ACFinder, CIDR).
"""

from __future__ import annotations

import itertools
import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

Test = Callable[[Any], bool]
Place = frozenset[tuple[int, int]]
"""Which element a field lies in, of each array around it: number of the array, index."""
Way = Mapping[str, Sequence[Test]]
"""By path, the tests of which one must hold."""

_MOST_ASTERISKS = 4
"""On one path. AWS refuses what is too complex, and no document says from where on. Refused are six (recorded by
LocalStack, content_wildcard_complex_EXC, 2025-10-15); a public template has four. What lies between is unconfirmed."""
_COMPARISONS = {
    "anything-but": "texts, numbers, or a prefix, suffix, wildcard or equals-ignore-case of texts that are not empty",
    "cidr": "a range of addresses such as 10.0.0.0/24, of more than one",
    "equals-ignore-case": "a text",
    "exists": "true or false",
    "numeric": 'an array such as ["=", 5], ["<", 5] or [">", 0, "<=", 5], the lower limit first',
    "prefix": 'a text or {"equals-ignore-case": a text}',
    "suffix": 'a text or {"equals-ignore-case": a text}',
    "wildcard": "a text without two asterisks in a row, and with backslashes only before an asterisk or a backslash",
}
"""By name: what AWS takes as its argument."""


class PatternError(ValueError):
    """AWS refuses the pattern; the message says what is wrong, and where."""


class NotJudged(ValueError):
    """A pattern that AWS may take, but that the local cloud does not judge; the message says why."""


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """Whether an event matches the pattern. Raises PatternError or NotJudged."""
    fields = list(_fields(event, (), frozenset(), itertools.count()))
    return any(_fits(sorted(way.items()), fields, frozenset()) for way in _ways(pattern))


def check(pattern: Any) -> None:
    """Raises PatternError or NotJudged."""
    _ways(pattern)


# ---- the event ----

Field = tuple[str, Any, Place]


def _fields(value: Any, path: tuple[str, ...], place: Place, arrays: Iterator[int]) -> Iterator[Field]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _fields(each, (*path, name), place, arrays)
    elif isinstance(value, list):
        array = next(arrays)
        for index, each in enumerate(value):
            inside = place | {(array, index)} if isinstance(each, dict | list) else place
            yield from _fields(each, path, inside, arrays)
    else:
        yield ".".join(path), value, place


def _fits(wanted: Sequence[tuple[str, Sequence[Test]]], fields: Sequence[Field], place: Place) -> bool:
    """Whether there are fields for all paths that lie together, and with what was found before, at `place`.

    As in AWS's matcher the paths go by their order, also for `exists: false`: only what was found before it counts.
    """
    if not wanted:
        return True
    (path, tests), *others = wanted
    there = [(value, place | at) for name, value, at in fields if name == path and _is_one(place | at)]
    if not there:
        return _is_absent in tests and _fits(others, fields, place)
    places = {both for value, both in there if any(test(value) for test in tests)}
    return any(_fits(others, fields, both) for both in places)


def _is_one(place: Place) -> bool:
    """Whether it names one element of each array."""
    return len(dict(place)) == len(place)


# ---- the pattern ----


def _ways(pattern: Any, path: str = "") -> list[Way]:
    """The pattern without $or: an event matches it by matching one of these."""
    if not isinstance(pattern, dict) or not pattern:
        kinds = "an object with members, or an array of values" if path else "an object with members"
        raise PatternError(f"{_at(path)} is {_text(pattern)}, but must be {kinds}")
    ways: list[Way] = [{}]
    for name, wanted in pattern.items():
        inner = f"{path}.{name}" if path else str(name)
        if name == "$or":
            found = _either(wanted, path)
        elif isinstance(wanted, list):
            found = [{inner: _tests(wanted, inner)}]
        else:
            found = _ways(wanted, inner)
        ways = [_both(way, each) for way in ways for each in found]
    return ways


def _either(parts: Any, path: str) -> list[Way]:
    """AWS also takes a `$or` of another form as the name of a member."""
    if not (isinstance(parts, list) and len(parts) > 1 and all(isinstance(each, dict) for each in parts)):
        raise NotJudged(f"{_at(path)} has a $or that is not an array of two objects or more")
    if reserved := {name for each in parts for name in each if name in _COMPARISONS}:
        raise NotJudged(f"{_at(path)} has a $or with a member {min(reserved)}, which is the name of a comparison")
    return [way for each in parts for way in _ways(each, path)]


def _both(one: Way, other: Way) -> Way:
    if twice := one.keys() & other.keys():
        raise NotJudged(f"{_at(min(twice))} stands twice, and which one counts is not documented")
    return {**one, **other}


def _tests(wanted: list[Any], path: str) -> list[Test]:
    if not wanted:
        raise PatternError(f"{_at(path)} is an empty array, which AWS refuses")
    tests = [_test(each, path) for each in wanted]
    if sum(map(_asterisks, wanted)) > _MOST_ASTERISKS:
        raise NotJudged(f"{_at(path)} has more than {_MOST_ASTERISKS} asterisks: it may be too complex for AWS")
    return tests


def _test(wanted: Any, path: str) -> Test:
    """The test of one alternative. Raises PatternError."""
    if isinstance(wanted, list):
        raise PatternError(f"{_at(path)} has an array within an array")
    if not isinstance(wanted, dict):
        return lambda value: _equal(wanted, value)
    if len(wanted) != 1:
        raise PatternError(f"{_at(path)} has {_text(wanted)}, but an object has one comparison")
    [(name, argument)] = wanted.items()
    if name not in _COMPARISONS:
        raise PatternError(f"{_at(path)} has {_text(wanted)}: AWS has no comparison {name}")
    if (test := _comparison(name, argument)) is None:
        raise PatternError(f"{_at(path)} has {_text(wanted)}: {name} takes {_COMPARISONS[name]}")
    return test


def _at(path: str) -> str:
    return f"the pattern at {path}" if path else "the pattern"


def _text(value: Any) -> str:
    return json.dumps(value, default=str)


def _asterisks(wanted: Any) -> int:
    given = wanted.get("anything-but", wanted) if isinstance(wanted, dict) else None
    return _text(given["wildcard"]).count("*") if isinstance(given, dict) and "wildcard" in given else 0


# ---- comparisons ----


def _comparison(name: str, argument: Any) -> Test | None:
    """The test that a comparison makes; None for an argument that AWS refuses."""
    match name, argument:
        case "exists", bool():
            return _is_there if argument else _is_absent
        case "prefix", str():
            return _of_texts(lambda value: value.startswith(argument))
        case "suffix", str():
            return _of_texts(lambda value: value.endswith(argument))
        case "prefix", {"equals-ignore-case": str(text), **more} if not more:
            return _of_texts(lambda value: _same_letters(text, value[: len(text)]))
        case "suffix", {"equals-ignore-case": str(text), **more} if not more:
            return _of_texts(lambda value: _same_letters(text, value[max(len(value) - len(text), 0) :]))
        case "equals-ignore-case", str():
            return _of_texts(lambda value: _same_letters(argument, value))
        case "wildcard", str():
            return _wildcard(argument)
        case "cidr", str():
            return _cidr(argument)
        case "numeric", list():
            return _numeric(argument)
        case "anything-but", _:
            return _anything_but(argument)
    return None


def _equal(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool) or wanted is None or value is None:
        return wanted is value
    return isinstance(wanted, str) == isinstance(value, str) and bool(wanted == value)


def _is_there(_value: Any) -> bool:
    return True


def _is_absent(_value: Any) -> bool:
    """No field passes; `_fits` looks for it where there is none."""
    return False


def _of_texts(test: Callable[[str], bool]) -> Test:
    return lambda value: isinstance(value, str) and test(value)


def _same_letters(wanted: str, value: str) -> bool:
    """Letter by letter, as AWS's matcher does it."""
    pairs = zip(wanted, value, strict=False)
    return len(wanted) == len(value) and all(letter in (one, one.lower(), one.upper()) for one, letter in pairs)


def _wildcard(text: str) -> Test | None:
    r"""`*` is any text, `\*` an asterisk and `\\` a backslash."""
    parts = re.findall(r"\\[*\\]|[^\\]", text, re.DOTALL)
    if "".join(parts) != text or ("*", "*") in itertools.pairwise(parts):
        return None
    expression = re.compile("".join(".*" if each == "*" else re.escape(each[-1]) for each in parts), re.DOTALL)
    return _of_texts(lambda value: expression.fullmatch(value) is not None)


def _cidr(text: str) -> Test | None:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None

    def is_inside(value: str) -> bool:
        try:
            return ip_address(value) in network
        except ValueError:
            return False

    is_range = text.endswith(f"/{network.prefixlen}") and network.prefixlen < network.max_prefixlen
    return _of_texts(is_inside) if is_range else None


_SIGNS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _numeric(terms: list[Any]) -> Test | None:
    match terms:
        case ["=" | "<" | "<=" | ">" | ">=" as sign, number] if _is_number(number):
            bounds = [(_SIGNS[sign], number)]
        case [">" | ">=" as above, low, "<" | "<=" as below, high] if (
            _is_number(low) and _is_number(high) and low < high
        ):
            bounds = [(_SIGNS[above], low), (_SIGNS[below], high)]
        case _:
            return None
    return lambda value: _is_number(value) and all(holds(value, number) for holds, number in bounds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _anything_but(argument: Any) -> Test | None:
    name, others = "", argument
    if isinstance(argument, dict) and len(argument) == 1:
        [(name, others)] = argument.items()
        if name not in ("prefix", "suffix", "wildcard", "equals-ignore-case"):
            return None
    others = others if isinstance(others, list) else [others]
    are_texts = all(isinstance(each, str) for each in others)
    if not others or not (are_texts or (not name and all(map(_is_number, others)))):
        return None
    if not name:
        return lambda value: not any(_equal(each, value) for each in others)
    if name in ("prefix", "suffix") and "" in others:
        return None
    tests = [test for each in others if (test := _comparison(name, each)) is not None]
    return (lambda value: not any(test(value) for test in tests)) if len(tests) == len(others) else None
