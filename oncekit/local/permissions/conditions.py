"""Conditions of statements: StringEquals, StringLike, ArnEquals, ArnLike, Bool and Null on what is known of a call."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oncekit.local.account import ACCOUNT, REGION

# What is the same for every call; `aws:SecureTransport` as if the local cloud spoke TLS, as AWS does.
_COMMON = {
    "aws:principalaccount": ACCOUNT,
    "aws:requestedregion": REGION,
    "aws:resourceaccount": ACCOUNT,
    "aws:securetransport": "true",
}


def matches(pattern: str, value: str) -> bool:
    """Whether a text is as a pattern has it, in which `*` is any text and `?` any character."""
    return pattern == value or _compiled(pattern).fullmatch(value) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern), re.DOTALL)


_OPERATORS: Mapping[str, tuple[Callable[[str, str], bool], bool]] = {
    "stringequals": (operator.eq, True),
    "stringnotequals": (operator.eq, False),
    "stringlike": (matches, True),
    "stringnotlike": (matches, False),
    "arnequals": (matches, True),  # AWS: ArnEquals and ArnLike are the same
    "arnlike": (matches, True),
    "bool": (lambda expected, value: expected.lower() == value.lower(), True),
}


def holds(condition: Mapping[str, Mapping[str, Any]], context: Mapping[str, str | None]) -> bool | None:
    """Whether all parts of a condition hold; None when that hangs on a key or an operator that nobody here knows."""
    known = {**_COMMON, **{key.lower(): value for key, value in context.items()}}
    told = [
        _part_holds(compared, key, _texts(expected), known)
        for compared, parts in condition.items()
        for key, expected in parts.items()
    ]
    if False in told:
        return False
    return None if None in told else True


def _part_holds(compared: str, key: str, expected: list[str], known: Mapping[str, str | None]) -> bool | None:
    # A key has one value here, so that for any value is for all values.
    name = compared.lower().removeprefix("foranyvalue:").removeprefix("forallvalues:").removesuffix("ifexists")
    if key.lower() not in known or name not in {*_OPERATORS, "null"}:
        return None
    value = known[key.lower()]
    if name == "null":
        return str(value is None).lower() in expected
    alike, wanted = _OPERATORS[name]
    # AWS: a key that is not there matches nothing, so that only a negated operator holds; for all of no values holds.
    if value is None:
        return compared.lower().endswith("ifexists") or compared.lower().startswith("forallvalues:") or not wanted
    return any(alike(each, value) for each in expected) is wanted


def _texts(value: Any) -> list[str]:
    values: Iterable[Any] = value if isinstance(value, list) else [value]
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
