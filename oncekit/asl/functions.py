"""The functions of JSONata that the engine lacks, or has otherwise than the reference.

Step Functions adds $hash, $random, $uuid, $parse, $partition and $range, and removes $eval. The others below follow the
reference implementation; `None` is JSONata's undefined.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import random
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonata import Jsonata
from jsonata.functions import Functions
from jsonata.jexception import JException
from jsonata.signature import Signature
from jsonata.utils import Utils

from oncekit.asl.javascript import (
    Match,
    Pattern,
    from_units,
    is_function,
    json_text,
    to_units,
)
from oncekit.asl.values import bound

HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
MOST_NUMBERS = 10_000_000
"""As the engine's own range operator has it."""
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([Ee][-+]?[0-9]+)?")


def functions(dice: random.Random) -> Mapping[str, Any]:
    """The functions by name, for the outermost frame of every expression. `dice` is behind $random and $uuid."""

    def unique() -> str:
        return str(uuid.UUID(int=dice.getrandbits(128), version=4))

    def fraction(seed: float | None = None) -> float:
        return dice.random() if seed is None else random.Random(seed).random()  # noqa: S311 no secret

    table: dict[str, tuple[Callable[..., Any], str]] = {
        **_TABLE,
        "uuid": (unique, "<:s>"),
        "random": (fraction, "<n?:n>"),
    }
    made: dict[str, Any] = {name: Function(name, call, signature) for name, (call, signature) in table.items()}
    return made | {"eval": None}


class Function(Jsonata.JFunction):  # type: ignore[misc]  # jsonata-python is untyped
    """A function in Python with a signature of JSONata; arguments that are left out are undefined."""

    def __init__(self, name: str, call: Callable[..., Any], signature: str) -> None:
        super().__init__(Jsonata.JLambda(call), None)
        self.signature, self.function_name = _signature(signature, name), name

    def get_number_of_args(self) -> int:
        """What a partial application such as `$substring(?, 0, 2)` asks for."""
        return len(self.signature._params)


@functools.cache
def _signature(text: str, name: str) -> Signature:
    """Read once for all functions of a name: each evaluator has its own, and each expression that asks for the time."""
    return Signature(text, name)


def string(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if is_function(value):
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        raise JException("D3001", -1, value)
    return json_text(value)


def number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None if value is None else int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and _DECIMAL.fullmatch(value) and math.isfinite(read := float(value)):
        return read
    raise JException("D3030", -1, value)


def _matches(text: str, pattern: Any) -> Iterator[Match]:
    """The matches of a regular expression; another function that matches, which JSONata allows, is refused."""
    if not isinstance(pattern, Pattern):
        raise JException("T1010", -1)
    return pattern.matches(text)


def contains(text: str | None, token: Any) -> bool | None:
    if text is None or isinstance(token, str):
        return None if text is None else token in text
    return next(_matches(to_units(text), token), None) is not None


def match(text: str | None, pattern: Any) -> list[Any] | None:
    if text is None:
        return None
    found: list[Any] = Utils.create_sequence()
    for each in _matches(to_units(text), pattern):
        groups = [None if group is None else from_units(group) for group in each.groups]
        found.append({"match": from_units(each.text), "index": each.start, "groups": groups})
    return found


def replace(text: str | None, pattern: Any, replacement: str) -> str | None:
    if text is None:
        return None
    if pattern == "":
        raise JException("D3010", -1)
    if isinstance(pattern, str):
        return text.replace(pattern, replacement)
    units, parts, position = to_units(text), [], 0
    for each in _matches(units, pattern):
        parts += [units[position : each.start], to_units(_expanded(replacement, each))]
        position = each.end
    return from_units("".join([*parts, units[position:]]))


def _expanded(replacement: str, found: Match) -> str:
    """$0 is the match, $1... are its groups, $$ is a dollar sign; a dollar sign before anything else is itself."""

    def value_of(dollar: re.Match[str]) -> str:
        if dollar[1] in ("$", "0"):
            return "$" if dollar[1] == "$" else found.text
        index = int(dollar[1])
        return (found.groups[index - 1] or "") if index <= len(found.groups) else ""

    return re.sub(r"[$]([$0-9])", value_of, replacement)


def sort(values: list[Any] | None, is_after: Any = None) -> list[Any] | None:
    """Strings by UTF-16 code units, as JavaScript compares them."""
    if values is None or len(values) <= 1:
        return values
    if is_after is not None:
        by_function: list[Any] = Functions.sort(values, is_after)
        return by_function
    if all(isinstance(value, str) for value in values):
        return sorted(values, key=to_units)
    if Utils.is_array_of_numbers(values):
        return sorted(values)
    raise JException("D3070", -1)


def hashed(value: str | None, algorithm: str | None = None) -> str | None:
    if value is None:
        return None
    if algorithm not in HASHES:
        raise JException(f"$hash: the algorithm must be one of {', '.join(HASHES)}, not {algorithm}", -1)
    return hashlib.new(HASHES[algorithm], value.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def parse(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return bound(json.loads(text, parse_constant=no_constant))
    except ValueError as error:
        raise JException(f"$parse: the argument is not JSON: {error}", -1) from error


def no_constant(name: str) -> float:
    """For `json.loads`, which takes NaN and infinities."""
    raise ValueError(f"{name} is not JSON")


def partition(values: Any, size: float | None) -> list[Any] | None:
    """Arrays of so many members each, and the rest."""
    if values is None or size is None:
        return None
    if size < 1 or size != int(size):
        raise JException(f"$partition: the size must be a positive integer, not {json_text(size)}", -1)
    step = int(size)
    return [list(values[start : start + step]) for start in range(0, len(values), step)]


def numbers(first: float | None, last: float | None, step: float | None) -> list[float] | None:
    """From the first to the last, which is in it where a step ends there."""
    if first is None or last is None or step is None:
        return None
    if step == 0:
        raise JException("$range: the step must not be 0", -1)
    count = math.floor((last - first) / step) + 1
    if count > MOST_NUMBERS:
        raise JException(f"$range: {count} numbers are more than {MOST_NUMBERS}", -1)
    return [first + place * step for place in range(count)]


_TABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "string": (string, "<x-:s>"),
    "number": (number, "<(nsb)-:n>"),
    "contains": (contains, "<s-(sf):b>"),
    "match": (match, "<s-f:a<o>>"),
    "replace": (replace, "<s-(sf)s:s>"),
    "sort": (sort, "<af?:a>"),
    "hash": (hashed, "<s-s?:s>"),
    "parse": (parse, "<s-:x>"),
    "partition": (partition, "<an:a>"),
    "range": (numbers, "<nnn:a>"),
}
