"""Numbers, strings and regular expressions as in JavaScript, where Python is different.

JSONata's reference implementation is written in JavaScript, and AWS runs that version (2.0.6): a number is a double,
a regular expression works on UTF-16 code units, and JSON is printed as `JSON.stringify` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

from jsonata import Jsonata
from jsonata.jexception import JException
from jsonata.parser import Parser
from jsonata.regex_engine import RegexFlags
from jsonata.utils import Utils

# Beyond this an integer is a double like any other: neighbours can no longer be told apart.
EXACT_INTEGER = 2**53
_FIFTEEN_DIGITS = Context(prec=15, rounding=ROUND_HALF_UP)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def number_text(value: float) -> str:
    """A number as JavaScript prints it: the shortest digits that read back, an exponent from 1e21 and below 1e-6."""
    if value == 0:
        return "0"
    if isinstance(value, int) and abs(value) <= EXACT_INTEGER:
        return str(value)
    sign, digits, exponent = Decimal(repr(float(value))).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + exponent  # where the decimal point stands, counted from the first digit
    if 0 < point <= 21:
        plain = text.ljust(point, "0")
        body = plain if len(text) <= point else f"{plain[:point]}.{plain[point:]}"
    elif -6 < point <= 0:
        body = f"0.{'0' * -point}{text}"
    else:
        mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
        body = f"{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{body}" if sign else body


def fifteen_digits(value: float) -> float:
    """What `Number(value.toPrecision(15))` leaves of a number: what JSONata's `$string` prints."""
    if isinstance(value, int) and abs(value) < 10**15:
        return value
    return float(_FIFTEEN_DIGITS.create_decimal(Decimal(float(value))))


def string_text(value: str) -> str:
    """A string as `JSON.stringify` prints it: raw, except for what JSON must escape."""
    text: str = encode_basestring(value)
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class TakenForFunction(Jsonata.JFunctionCallable):  # type: ignore[misc]  # jsonata-python is untyped
    """An object whose `_jsonata_lambda` or `_jsonata_function` is true: the reference takes it for a function."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value

    def call(self, _input: Any, _arguments: Any) -> Any:
        raise JException("T1006", -1)


def is_function(value: Any) -> bool:
    """Whether a value of the engine is a function: built in, a lambda, or a regular expression."""
    return isinstance(value, Jsonata.JFunctionCallable | Parser.Symbol | Pattern)


def json_text(value: Any) -> str:
    """A value of the engine as JSONata's `$string` prints it: numbers to 15 digits, functions as an empty string."""
    if isinstance(value, str):
        return string_text(value)
    if value is Utils.NULL_VALUE or value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        printed = fifteen_digits(finite(value))
        return number_text(printed) if isfinite(printed) else "null"  # the largest doubles round up to infinity
    if is_function(value):
        return '""'
    if isinstance(value, dict):
        members = (f"{string_text(name)}:{json_text(each)}" for name, each in value.items() if each is not None)
        return f"{{{','.join(members)}}}"
    return f"[{','.join(map(json_text, value))}]"


def finite(value: float) -> float:
    """The number itself. Raises JSONata's D1001 for an infinity."""
    if isinstance(value, float) and not isfinite(value):
        raise JException("D1001", -1, value)
    return value


def to_units(text: str) -> str:
    """A string in UTF-16 code units: a character outside the basic plane becomes two surrogates."""
    if text.isascii():
        return text
    return _ASTRAL.sub(lambda found: "".join(map(chr, _surrogates(ord(found[0])))), text)


def _surrogates(code: int) -> tuple[int, int]:
    return 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)


def from_units(text: str) -> str:
    """A string of UTF-16 code units with its pairs of surrogates joined again; a lone one stays."""
    if text.isascii() or not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@dataclass(frozen=True)
class Match:
    """One match, in code units. A group that took no part is None."""

    text: str
    start: int
    end: int
    groups: tuple[str | None, ...]


class Pattern:
    """A regular expression of JSONata, with JavaScript's meaning.

    It has `search`, `finditer`, `sub` and `split` for the engine to take it for a pattern; only `matches` is used.
    """

    def __init__(self, source: str, flags: RegexFlags) -> None:
        ignore = re.IGNORECASE if flags.case_insensitive else 0
        lines = re.MULTILINE if flags.multiline else 0
        try:
            self._pattern = re.compile(translated(to_units(source), flags.multiline), ignore | lines)
        except re.error as error:
            raise JException("S0301", 0, f"/{source}/: {error}") from error
        self.search = self._pattern.search
        self.finditer = self._pattern.finditer
        self.sub = self._pattern.sub
        self.split = self._pattern.split

    def matches(self, units: str) -> Iterator[Match]:
        """All matches from left to right. Raises D1004 for an empty match after the first, as the reference does."""
        found = self._pattern.search(units)
        while found is not None:
            yield Match(found[0], found.start(), found.end(), found.groups())
            if found.end() >= len(units):
                return
            found = self._pattern.search(units, found.end())
            if found is not None and found[0] == "":
                raise JException("D1004", -1)


_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": "\\s\ufeff"}
_OUTSIDE = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[A-Za-z0-9_]",
    "W": "[^A-Za-z0-9_]",
    "b": "(?a:\\b)",
    "B": "(?a:\\B)",
    "s": "[\\s\ufeff]",
}


def translated(source: str, multiline: bool = False) -> str:
    """A JavaScript regular expression (without the u flag, empty classes and named groups) as Python writes it."""
    out: list[str] = []
    position, in_class = 0, False
    while position < len(source):
        char = source[position]
        if char == "\\" and position + 1 < len(source):
            following = source[position + 1]
            out.append((_CLASSES if in_class else _OUTSIDE).get(following, char + following))
            position += 2
            continue
        if in_class:
            in_class = char != "]"
            out.append("\\" + char if char in "[&~|" else char)
        elif char == "$" and not multiline:
            out.append("\\Z")  # Python's $ also matches before a line break at the end
        elif char == ".":
            out.append("[^\n\r\u2028\u2029]")
        else:
            in_class = char == "["
            out.append(char)
        position += 1
    return "".join(out)
