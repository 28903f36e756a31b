"""Mutants of one expression of DynamoDB: conditions, updates and projections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from oncekit.proof.mutants.change import Change, short
from oncekit.proof.mutants.tokens import Token, dynamodb, reach_left, reach_right

_TURNED = {"=": ("<>",), "<>": ("=",), "<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<")}
_SECTION = re.compile(r"\b(SET|REMOVE|ADD|DELETE)\b")
_ENDS = ("AND", "OR", ",")


def changes(text: str) -> Iterator[Change]:
    """Every mutant of a condition or a key condition."""
    tokens = dynamodb(text)
    if not any(token.text in ("AND", "OR") for token in tokens):
        yield Change("clause negated", f"NOT {short(text)}", f"NOT ({text})")
    for number, token in enumerate(tokens):
        if token.text in ("AND", "OR"):
            stops = ("OR",) if token.text == "OR" else ("AND", "OR")
            first, last = reach_left(tokens, number, stops), reach_right(tokens, number, stops)
            left, right = _text(text, tokens, first, number - 1), _text(text, tokens, number + 1, last)
            for kept, dropped in ((right, left), (left, right)):
                yield Change("clause dropped", f"without {short(dropped)}", _put(text, tokens, first, last, kept))
            for side, begin, end in ((left, first, number - 1), (right, number + 1, last)):
                negated = _put(text, tokens, begin, end, f"(NOT ({side}))")
                yield Change("clause negated", f"NOT {short(side)}", negated)
        for new in _TURNED.get(token.text, ()):
            first, last = reach_left(tokens, number, _ENDS), reach_right(tokens, number, _ENDS)
            around = _text(text, tokens, first, last)
            yield Change("comparison", f"{short(around)} with {new}", _put(text, tokens, number, number, new))
        yield from _items_of_in(text, tokens, number)


def _items_of_in(text: str, tokens: Sequence[Token], number: int) -> Iterator[Change]:
    if tokens[number].text != "IN":
        return
    last = reach_right(tokens, number, ("AND", "OR"))
    items = [token.text for token in tokens[number + 2 : last] if token.text != ","]
    for item in items if len(items) > 1 else ():
        kept = ", ".join(each for each in items if each != item)
        new = _put(text, tokens, number + 1, last, f"({kept})")
        yield Change("member dropped", f"{item} not in the list", new)


def updates(text: str) -> Iterator[Change]:
    """Every SET and REMOVE item dropped, and what it adds or takes."""
    sections = _sections(text)
    for verb, items in sections.items():
        for item in items:
            rest = {v: [each for each in kept if (v, each) != (verb, item)] for v, kept in sections.items()}
            new = " ".join(f"{v} {', '.join(kept)}" for v, kept in rest.items() if kept)
            yield Change(f"{verb} dropped", f"without {verb} {short(item)}", new)
    for sign, other in ((" + ", " - "), (" - ", " + ")):
        for match in re.finditer(re.escape(sign), text):
            new = text[: match.start()] + other + text[match.end() :]
            yield Change("arithmetic", f"{text[max(0, match.start() - 30) : match.end() + 8]} with{other}", new)
    for match in re.finditer(r"(\w+) = if_not_exists\((\w+), (:\w+)\)", text):
        new = text[: match.start()] + f"{match[1]} = {match[3]}" + text[match.end() :]
        yield Change("clause dropped", f"without if_not_exists({match[2]}, {match[3]})", new)


def _sections(text: str) -> dict[str, list[str]]:
    parts = _SECTION.split(text)
    return {verb: _items(body) for verb, body in zip(parts[1::2], parts[2::2], strict=True)}


def _items(text: str) -> list[str]:
    """What commas part, outside of parentheses."""
    return [each.strip() for each in re.split(r",(?![^()]*\))", text.strip())]


def projections(text: str) -> Iterator[Change]:
    """Every name of a projection dropped."""
    names = _items(text)
    for name in names if len(names) > 1 else ():
        yield Change("member dropped", f"without {name}", ", ".join(each for each in names if each != name))


def placeholders(text: str) -> set[str]:
    """The `#names` and `:values` that an expression uses."""
    return set(re.findall(r"[#:]\w+", text))


def _text(text: str, tokens: Sequence[Token], first: int, last: int) -> str:
    return text[tokens[first].start : tokens[last].end]


def _put(text: str, tokens: Sequence[Token], first: int, last: int, new: str) -> str:
    return text[: tokens[first].start] + new + text[tokens[last].end :]
