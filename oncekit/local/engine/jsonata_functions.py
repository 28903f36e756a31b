"""The functions of JSONata in Step Functions: its own, and those in which the engine differs from the reference.

Step Functions adds $partition, $range, $hash, $random, $uuid and $parse, and removes $eval. The others below follow
the reference implementation; `None` is JSONata's undefined.
"""

from __future__ import annotations

import base64
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

from oncekit.local.engine.javascript import (
    Match,
    Pattern,
    finite,
    from_units,
    is_function,
    json_text,
    to_units,
)
from oncekit.local.engine.values import bound

HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([Ee][-+]?[0-9]+)?")
_OTHER_BASE = re.compile(r"0[xX][0-9A-Fa-f]+|0[oO][0-7]+|0[bB][01]+")
MAX_RANGE = 1000
"""As many elements has an array of $range on AWS at most."""


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


def string(value: Any, pretty: bool | None = None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if is_function(value):
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        raise JException("D3001", -1, value)
    return json_text(value, 2 if pretty is True else 0)


def number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None if value is None else int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) and math.isfinite(read := float(value)):
            return read
        if _OTHER_BASE.fullmatch(value):
            return float(int(value, 0))
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


def match(text: str | None, pattern: Any, limit: float | None = None) -> list[Any] | None:
    if text is None:
        return None
    if limit is not None and limit < 0:
        raise JException("D3040", -1, limit)
    found: list[Any] = Utils.create_sequence()
    for each in _limited(_matches(to_units(text), pattern), limit):
        groups = [None if group is None else from_units(group) for group in each.groups]
        found.append({"match": from_units(each.text), "index": each.start, "groups": groups})
    return found


def replace(text: str | None, pattern: Any, replacement: Any, limit: float | None = None) -> str | None:
    if text is None:
        return None
    if pattern == "":
        raise JException("D3010", -1)
    if limit is not None and limit < 0:
        raise JException("D3011", -1, limit)
    if isinstance(pattern, str):
        return text.replace(pattern, str(replacement), -1 if limit is None else math.ceil(limit))
    units, parts, position = to_units(text), [], 0
    for each in _limited(_matches(units, pattern), limit):
        parts += [units[position : each.start], _substitute(replacement, each)]
        position = each.start + len(each.text)
    return from_units("".join([*parts, units[position:]]))


def _limited(found: Iterator[Match], limit: float | None) -> Iterator[Match]:
    """At most `limit` of them; the one after them is looked for too, as the reference does, and may raise."""
    left = math.inf if limit is None else limit
    each = next(found, None) if left > 0 else None
    while each is not None and left > 0:
        yield each
        left -= 1
        each = next(found, None)


def _substitute(replacement: Any, found: Match) -> str:
    if isinstance(replacement, str):
        return to_units(_expanded(replacement, found))
    groups = [None if group is None else from_units(group) for group in found.groups]
    argument = {"match": from_units(found.text), "start": found.start, "end": found.end, "groups": groups}
    result = Functions.func_apply(replacement, [argument])
    if not isinstance(result, str):
        raise JException("D3012", -1, result)
    return to_units(result)


def _expanded(replacement: str, found: Match) -> str:
    """$0 is the match, $1... are its groups, $$ is a dollar sign; a dollar sign before anything else is itself."""
    out, position = [], 0
    while (dollar := replacement.find("$", position)) != -1:
        out.append(replacement[position:dollar])
        position = dollar + 1
        following = replacement[position : position + 1]
        if following in ("$", "0"):
            out.append("$" if following == "$" else found.text)
            position += 1
            continue
        most = len(str(len(found.groups))) if found.groups else 1
        digits = re.match("[0-9]+", replacement[position : position + most])
        if digits is None:
            out.append("$")
            continue
        index = int(digits[0])
        if most > 1 and index > len(found.groups):
            index = int(digits[0][: most - 1])
        if 0 < index <= len(found.groups):
            out.append(found.groups[index - 1] or "")
        position += len(str(index))
    return "".join([*out, replacement[position:]])


def split(text: str | None, separator: Any, limit: float | None = None) -> list[str] | None:
    if text is None:
        return None
    if limit is not None and limit < 0:
        raise JException("D3020", -1, limit)
    units, parts = to_units(text), []
    if isinstance(separator, str):
        parts = units.split(to_units(separator)) if separator else list(units)
        return [from_units(part) for part in (parts if limit is None else parts[: int(limit)])]
    position = 0
    for each in _limited(_matches(units, separator), limit):
        parts.append(units[position : each.start])
        position = each.end
    if limit is None or len(parts) < limit:
        parts.append(units[position:])
    return [from_units(part) for part in parts]


def mapped(values: list[Any] | None, function: Any) -> list[Any] | None:
    """Without Python's generators between one level of a recursion and the next: they would eat the C stack."""
    if values is None:
        return None
    results: list[Any] = Utils.create_sequence()
    for index, value in enumerate(values):
        result = Functions.func_apply(function, Functions.hof_func_args(function, value, index, values))
        if result is not None:
            results.append(result)
    return results


def filtered(values: list[Any] | None, function: Any) -> list[Any] | None:
    if values is None:
        return None
    results: list[Any] = Utils.create_sequence()
    for index, value in enumerate(values):
        if Functions.to_boolean(
            Functions.func_apply(function, Functions.hof_func_args(function, value, index, values))
        ):
            results.append(value)
    return results


def sort(values: list[Any] | None, comparator: Any = None) -> list[Any] | None:
    """Stable; strings by UTF-16 code units, as JavaScript compares them."""
    if values is None or len(values) <= 1:
        return values
    if comparator is not None:

        def compare(left: Any, right: Any) -> int:
            return 1 if Functions.to_boolean(Functions.func_apply(comparator, [left, right])) else -1

        return _merged(values, compare)
    if all(isinstance(value, str) for value in values):
        return sorted(values, key=functools.cmp_to_key(_compare_text) if not all(map(str.isascii, values)) else None)
    if Utils.is_array_of_numbers(values):
        return sorted(values)
    raise JException("D3070", -1)


def _compare_text(left: str, right: str) -> int:
    one, other = to_units(left), to_units(right)
    return (one > other) - (one < other)


def _merged(values: list[Any], compare: Callable[[Any, Any], int]) -> list[Any]:
    """Merge sort as the reference does it: right before left only if the comparator says so."""
    if len(values) <= 1:
        return values
    middle = len(values) // 2
    left, right = _merged(values[:middle], compare), _merged(values[middle:], compare)
    result, i, j = [], 0, 0
    while i < len(left) and j < len(right):
        if compare(left[i], right[j]) > 0:
            result.append(right[j])
            j += 1
        else:
            result.append(left[i])
            i += 1
    return result + left[i:] + right[j:]


def same(left: Any, right: Any) -> bool:
    """JavaScript's `===`: neither true and 1 nor two arrays of equal content are the same."""
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, dict | list):
        return left is right
    return bool(left == right)


def base64encode(text: str | None) -> str | None:
    """Of the lower byte of each code unit, as the reference does."""
    return None if text is None else base64.b64encode(bytes(ord(unit) & 0xFF for unit in to_units(text))).decode()


def base64decode(text: str | None) -> str | None:
    return None if text is None else base64.b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")


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
        return bound(json.loads(text, parse_constant=_no_constant))
    except ValueError as error:
        raise JException(f"$parse: the argument is not JSON: {error}", -1) from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def partition(values: list[Any] | None, size: float) -> list[Any] | None:
    if values is None:
        return None
    if size < 1 or size != int(size):
        raise JException("$partition: the chunk size must be a positive integer", -1)
    whole = int(size)
    return Utils.JList([Utils.JList(values[i : i + whole]) for i in range(0, len(values), whole)])  # type: ignore[no-any-return]


def number_range(first: float, last: float, step: float) -> list[float]:
    """From first to last, both included."""
    if step == 0:
        raise JException("$range: the step must not be 0", -1)
    count = max(math.floor((last - first) / step) + 1, 0)
    if count > MAX_RANGE:
        raise JException(f"$range: {count} elements are more than {MAX_RANGE}", -1)
    values = Utils.JList([first + i * step for i in range(count)])
    values.keep_singleton = values.sequence = True
    return values  # type: ignore[no-any-return]


def total(values: list[float] | None) -> float | None:
    """One after the other, as doubles: a sum of Python integers would be exact where JavaScript's is not."""
    return None if values is None else finite(functools.reduce(lambda left, right: float(left) + right, values, 0.0))


_TABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "string": (string, "<x-b?:s>"),
    "number": (number, "<(nsb)-:n>"),
    "contains": (contains, "<s-(sf):b>"),
    "match": (match, "<s-f<s:o>n?:a<o>>"),
    "replace": (replace, "<s-(sf)(sf)n?:s>"),
    "split": (split, "<s-(sf)n?:a<s>>"),
    "map": (mapped, "<af>"),
    "filter": (filtered, "<af>"),
    "sort": (sort, "<af?:a>"),
    "sum": (total, "<a<n>:n>"),
    "base64encode": (base64encode, "<s-:s>"),
    "base64decode": (base64decode, "<s-:s>"),
    "hash": (hashed, "<s-s?:s>"),
    "parse": (parse, "<s-:x>"),
    "partition": (partition, "<an:a>"),
    "range": (number_range, "<nnn:a>"),
}
