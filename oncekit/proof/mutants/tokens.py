"""Expressions cut into tokens, JSONata's and DynamoDB's, and how far an operand of an operator reaches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

_JSONATA = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
    |(?P<name>\$\$?\w*|[A-Za-z_]\w*|`[^`]*`)
    |(?P<operator>:=|!=|<=|>=|\*\*|~>|\.\.|[-+*/%&|=<>^~.?:,;()\[\]{}@#!])""",
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+/[im]*")
_DYNAMODB = re.compile(
    r"""(?P<space>\s+)|(?P<number>\d+)|(?P<name>[:\#]?[A-Za-z_]\w*)|(?P<operator><>|<=|>=|[-+=<>(),.\[\]])""",
    re.VERBOSE,
)
_OPENS, _CLOSES = "([{", ")]}"
WORDS = frozenset({"and", "or", "in"})


class NotReadable(ValueError):
    """A text that is no expression."""


@dataclass(frozen=True)
class Token:
    """One word of an expression and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def jsonata(text: str) -> list[Token]:
    """The tokens without the space between them. Raises NotReadable."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _REGEX.match(text, position) if _begins_operand(found) else None
        kind = "regex"
        if match is None:
            match = _JSONATA.match(text, position)
            if match is None:
                raise NotReadable(f"at {position}: {text[position : position + 20]!r}")
            kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, match[0], position, match.end()))
        position = match.end()
    return found


def dynamodb(text: str) -> list[Token]:
    """The tokens of a condition, an update or a projection. Raises NotReadable."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _DYNAMODB.match(text, position)
        if match is None:
            raise NotReadable(f"at {position}: {text[position : position + 20]!r}")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], position, match.end()))
        position = match.end()
    return found


def _begins_operand(before: Sequence[Token]) -> bool:
    return not before or not ends_operand(before[-1])


def ends_operand(token: Token) -> bool:
    """Whether a value may end here, so that what follows is an operator."""
    if token.kind == "operator":
        return token.text in ")]}"
    return token.text not in WORDS


def reach_left(tokens: Sequence[Token], operator: int, stops: Collection[str]) -> int:
    """The number of the first token of the operand before `operator`."""
    depth, first = 0, operator
    for number in range(operator - 1, -1, -1):
        text = tokens[number].text if tokens[number].kind in ("operator", "name") else ""
        if text in _CLOSES and text:
            depth += 1
        elif text in _OPENS and text:
            depth -= 1
        if depth < 0 or (depth == 0 and text in stops):
            break
        first = number
    return first


def reach_right(tokens: Sequence[Token], operator: int, stops: Collection[str]) -> int:
    """The number of the last token of the operand behind `operator`."""
    depth, last = 0, operator
    for number in range(operator + 1, len(tokens)):
        text = tokens[number].text if tokens[number].kind in ("operator", "name") else ""
        if text in _OPENS and text:
            depth += 1
        elif text in _CLOSES and text:
            depth -= 1
        if depth < 0 or (depth == 0 and text in stops):
            break
        last = number
    return last


def members(tokens: Sequence[Token], opening: int) -> Iterator[tuple[int, int]]:
    """First and last token of each element between a bracket and the one that closes it."""
    depth, first = 0, opening + 1
    for number in range(opening + 1, len(tokens)):
        text = tokens[number].text if tokens[number].kind == "operator" else ""
        if text in _CLOSES and text:
            if depth == 0:
                if first < number:
                    yield first, number - 1
                return
            depth -= 1
        elif text in _OPENS and text:
            depth += 1
        elif text == "," and depth == 0:
            yield first, number - 1
            first = number + 1
