"""Mutants of one mapping template in Velocity, as texts: line by line, for a directive has one of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oncekit.proof.mutants.change import Change, other_numbers, short

_ASKS = re.compile(r"#(?:if|elseif)\((.*?)\)(?=##|,|\")")
_SETS = re.compile(r'#set\(\$[\w.-]+ = (?:"([\w.:-]+)"|(\d+)|(true|false))\)##$')
_ENCODES = re.compile(r"\$util\.(urlEncode|escapeJavaScript)\(")
_REPLACES = re.compile(r'\.replaceAll\("[^"]*", "[^"]*"\)')
_OVERRIDES = re.compile(r"#set\(\$context\.\w+Override\b.*\)##$")
_TURNED = {"==": "!=", "!=": "==", "<": ">="}


def changes(text: str) -> Iterator[Change]:
    """Every mutant of a template."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        for change in _of_line(line):
            new = [*lines[:number], change.text, *lines[number + 1 :]]
            yield Change(change.kind, change.what, "\n".join(new))


def _of_line(line: str) -> Iterator[Change]:
    if _OVERRIDES.search(line):
        yield Change("override dropped", f"without {short(line.removesuffix('##'))}", "##")
    for asked in _ASKS.finditer(line):
        yield from _condition(line, asked)
    if found := _SETS.search(line):
        yield from _assigned(line, found)
    for call in _ENCODES.finditer(line):
        end = _closing(line, call.end())
        bare = line[: call.start()] + line[call.end() : end] + line[end + 1 :]
        yield Change("encoding dropped", f"without {call[1]}: {short(line)}", bare)
    for call in _REPLACES.finditer(line):
        what = f"without {call[0]}: {short(line)}"
        yield Change("call dropped", what, line[: call.start()] + line[call.end() :])


def _condition(line: str, asked: re.Match[str]) -> Iterator[Change]:
    """The condition negated, each of its clauses dropped, each comparison turned."""

    def with_(new: str) -> str:
        return line[: asked.start(1)] + new + line[asked.end(1) :]

    inside = asked[1]
    yield Change("clause negated", f"not {short(inside)}", with_(f"!({inside})"))
    for operator in ("&&", "||"):
        clauses = inside.split(f" {operator} ")
        for dropped in clauses if len(clauses) > 1 else ():
            left = [each for each in clauses if each is not dropped]
            yield Change("clause dropped", f"without {short(dropped)}", with_(f" {operator} ".join(left)))
    if len(re.findall("&&|[|][|]", inside)):
        for found in re.finditer(r" (==|!=|<) ", inside):
            new = f"{inside[: found.start(1)]}{_TURNED[found[1]]}{inside[found.end(1) :]}"
            yield Change("comparison", f"{short(inside)} with {_TURNED[found[1]]} at {found.start(1)}", with_(new))


def _assigned(line: str, found: re.Match[str]) -> Iterator[Change]:
    word, number, boolean = found.groups()
    if word:
        new = f"{line[: found.start(1)]}{word}x{line[found.end(1) :]}"
        yield Change("name", f"{short(line.removesuffix('##'))} spelled wrong", new)
    elif number:
        for other in other_numbers(number)[:1]:
            new = line[: found.start(2)] + other + line[found.end(2) :]
            yield Change("number", f"{other} in {short(line.removesuffix('##'))}", new)
    else:
        turned = "false" if boolean == "true" else "true"
        new = line[: found.start(3)] + turned + line[found.end(3) :]
        yield Change("boolean", f"{turned} in {short(line.removesuffix('##'))}", new)


def _closing(line: str, start: int) -> int:
    """Where the bracket that is open at `start` is closed."""
    depth = 1
    for at in range(start, len(line)):
        depth += (line[at] == "(") - (line[at] == ")")
        if not depth:
            return at
    raise ValueError(f"a bracket is not closed: {line}")
