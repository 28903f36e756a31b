"""Mutants of one JSONata expression, as texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from oncekit.proof.mutants import conditions
from oncekit.proof.mutants.change import Change, other_numbers, short
from oncekit.proof.mutants.tokens import Token, ends_operand, jsonata, members, reach_left, reach_right

TURNED = {"=": ("!=",), "!=": ("=",), "<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<")}
_OTHER_WAY = {"+": "-", "-": "+", "*": "/", "/": "*"}
_ENDS_CLAUSE = ("or", "?", ":", ",", ";", ":=")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.:#/-]*")


def changes(text: str) -> Iterator[Change]:
    """Every mutant of an expression, without its `{%` and `%}`."""
    tokens = jsonata(text)
    for number, token in enumerate(tokens):
        yield from _clauses(text, tokens, number)
        yield from _comparisons(text, tokens, number)
        yield from _values(text, tokens, number)
        if token.text in ("[", "{") and token.kind == "operator":
            yield from _dropped_members(text, tokens, number)


def _with(text: str, first: Token, last: Token, new: str) -> str:
    return text[: first.start] + new + text[last.end :]


def _clauses(text: str, tokens: Sequence[Token], number: int) -> Iterator[Change]:
    """The two sides of `and` and `or`, each dropped and each negated; what decides a `?`, negated."""
    token = tokens[number]
    if token.kind == "name" and token.text in ("and", "or"):
        stops = (*_ENDS_CLAUSE, "and") if token.text == "and" else _ENDS_CLAUSE
        first, last = reach_left(tokens, number, stops), reach_right(tokens, number, stops)
        left = text[tokens[first].start : tokens[number - 1].end]
        right = text[tokens[number + 1].start : tokens[last].end]
        yield Change("clause dropped", f"without {short(left)}", _with(text, tokens[first], tokens[last], right))
        yield Change("clause dropped", f"without {short(right)}", _with(text, tokens[first], tokens[last], left))
        for side, begin, end in ((left, first, number - 1), (right, number + 1, last)):
            negated = _with(text, tokens[begin], tokens[end], f"$not({side})")
            yield Change("clause negated", f"not {short(side)}", negated)
    if token.kind == "operator" and token.text == "?":
        first = reach_left(tokens, number, ("?", ":", ",", ";", ":="))
        asked = text[tokens[first].start : tokens[number - 1].end]
        negated = _with(text, tokens[first], tokens[number - 1], f"$not({asked})")
        yield Change("clause negated", f"not {short(asked)}", negated)


def _comparisons(text: str, tokens: Sequence[Token], number: int) -> Iterator[Change]:
    token = tokens[number]
    if token.kind != "operator":
        return
    for new in TURNED.get(token.text, ()):
        yield Change("comparison", f"{_around(text, tokens, number)} with {new}", _with(text, token, token, new))
    if token.text in _OTHER_WAY and number and ends_operand(tokens[number - 1]):
        new = _OTHER_WAY[token.text]
        yield Change("arithmetic", f"{_around(text, tokens, number)} with {new}", _with(text, token, token, new))


def _around(text: str, tokens: Sequence[Token], number: int) -> str:
    """An operator and what is on both sides of it."""
    stops = (*_ENDS_CLAUSE, "and", "=", "<", ">", "<=", ">=", "!=")
    first, last = reach_left(tokens, number, stops), reach_right(tokens, number, stops)
    return short(text[tokens[first].start : tokens[last].end])


def _values(text: str, tokens: Sequence[Token], number: int) -> Iterator[Change]:
    token = tokens[number]
    if token.kind == "number":
        for new in other_numbers(token.text):
            yield Change("number", f"{new} for {_before(text, token)}{token.text}", _with(text, token, token, new))
    elif token.kind == "string":
        yield from _strings(text, token)
    elif token.kind == "regex":
        for what, new in _patterns(token.text):
            yield Change("pattern", what, _with(text, token, token, new))
    elif token.kind == "name" and token.text in ("true", "false"):
        new = "false" if token.text == "true" else "true"
        yield Change("boolean", f"{new} for {_before(text, token)}{token.text}", _with(text, token, token, new))
    elif token.kind == "name" and number and tokens[number - 1].text == "." and not token.text.startswith("$"):
        what = f"{_before(text, token)}{token.text} spelled wrong"
        yield Change("name", what, _with(text, token, token, f"{token.text}x"))


def _before(text: str, token: Token) -> str:
    return " ".join(text[max(0, token.start - 24) : token.start].split(" ")[-3:])


def _strings(text: str, token: Token) -> Iterator[Change]:
    inside = token.text[1:-1]
    quote = token.text[0]
    if " AND " in inside:
        for change in conditions.changes(inside):
            yield Change(change.kind, change.what, _with(text, token, token, quote + change.text + quote))
    elif _IDENTIFIER.fullmatch(inside):
        what = f"{_before(text, token)}{token.text} spelled wrong"
        yield Change("name", what, _with(text, token, token, f"{quote}{inside}x{quote}"))


def _patterns(text: str) -> Iterator[tuple[str, str]]:
    """A regular expression without its anchors, and with other counts in its braces."""
    for anchor in ("^", "$"):
        at = 1 if anchor == "^" and text[1] == "^" else text.rfind("$") if anchor == "$" else 0
        if at > 0:
            yield f"{text} without {anchor}", text[:at] + text[at + 1 :]
    for match in re.finditer(r"(?<=[{,])\d+(?=[,}])", text):
        for new in other_numbers(match[0]):
            yield f"{text} with {new} for {match[0]}", text[: match.start()] + new + text[match.end() :]


def _dropped_members(text: str, tokens: Sequence[Token], number: int) -> Iterator[Change]:
    """A list or an object without one of its members. Behind a value, a bracket is a filter, and stays."""
    if number and tokens[number].text == "[" and ends_operand(tokens[number - 1]):
        return
    found = list(members(tokens, number))
    if tokens[number].text == "{" and (not found or tokens[found[0][0] + 1].text != ":"):
        return  # the body of a function
    if tokens[number].text == "[" and len(found) < 2:
        return
    for index, (first, last) in enumerate(found):
        dropped = text[tokens[first].start : tokens[last].end]
        if index + 1 < len(found):
            new = text[: tokens[first].start] + text[tokens[found[index + 1][0]].start :]
        else:
            before = tokens[found[index - 1][1]].end if index else tokens[number].end
            new = text[:before] + text[tokens[last].end :]
        yield Change("member dropped", f"without {short(dropped)}", new)
