"""What a drawing of a state machine is made of: its states, the ways between them, and what a run took."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Definition = Mapping[str, Any]
"""A state machine in Amazon States Language, parsed."""
ENDS = {"Succeed": "success", "Fail": "failure"}
HEADING = re.compile(r"\[(.+?)\] *")
"""A state whose Comment begins so is the first one of a section: `[Ends] A duplicate gets the stored answer.`"""
FIRST, LAST = "All goes well", "Ends"
"""The sections above the first heading, and of the ends in a definition that has no headings."""


@dataclass(frozen=True)
class Node:
    """A state; `kind` names its style: that of its type, or success, failure, or finish (one that ends)."""

    name: str
    kind: str
    comment: str
    lines: Sequence[str] = ()
    """What is written in it, where that is not its name alone: in a choice also each of its ways."""
    section: str = ""
    instead: Sequence[str] = ()
    """What could have come next, of a path that was taken."""


@dataclass(frozen=True)
class Edge:
    """A transition; `reason` says what takes it, where that is known."""

    source: str
    target: str
    on_error: bool
    reason: str = ""
    line: int = 0
    """Which of the lines in its source it leaves from; 0 is the name."""


@dataclass(frozen=True)
class Mark:
    """What became of a state in a run: how it is coloured (`kind`), the sign on it, and both in words."""

    kind: str
    sign: str
    words: str


@dataclass(frozen=True)
class Taken:
    """What a run went through: names in order, and what became of each state that it entered."""

    steps: Sequence[str] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    """Where a state leads when it is clicked."""


def around(nodes: Sequence[Node], edges: Sequence[Edge], steps: Sequence[str]) -> tuple[Sequence[Node], Sequence[Edge]]:
    """What was gone through, from top to bottom; each state says what could have come next instead."""
    named = {each.name: each for each in nodes}
    instead: dict[str, list[str]] = {name: [] for name in steps}
    drawn = []
    for way in edges:
        if way.source in instead and way.target in instead:
            drawn.append(replace(way, line=0))
        elif way.source in instead:
            instead[way.source].append(f"{'error:' if way.on_error else 'or'} {way.target}")
    path = [replace(named[name], section="", lines=(), instead=others) for name, others in instead.items()]
    return path, drawn


def nodes(definition: Definition) -> list[Node]:
    """Every state, by what kind of work it does; the one to start with first."""
    states = definition["States"]
    named = any(HEADING.match(state.get("Comment", "")) for state in states.values())
    ways, section, found = edges(definition), FIRST, []
    for name, state in states.items():
        heading = HEADING.match(comment := state.get("Comment", ""))
        section = heading[1] if heading else section
        lines = tuple(each.reason for each in ways if each.source == name and each.line)
        place = section if named else LAST if state["Type"] in ENDS else ""
        found.append(Node(name, _kind(state), HEADING.sub("", comment, 1), (name, *lines) if lines else (), place))
    return sorted(found, key=lambda node: node.name != definition["StartAt"])


def _kind(state: Definition) -> str:
    kind = str(state["Type"])
    return "finish" if state.get("End") else ENDS.get(kind, kind.lower())


def edges(definition: Definition) -> list[Edge]:
    """Every transition to another state once; one that only an error takes is marked.

    The Comment of a choice's rule says when it is taken: that of a transition, as CDK writes it, too.
    """
    found: dict[tuple[str, str], Edge] = {}
    for name, state in definition["States"].items():
        explained = any("Comment" in rule for rule in state.get("Choices", ()))
        targets = [each for each in _targets(state) if each[0] != name]
        lines = list(dict.fromkeys(target for target, _, _ in targets))
        for target, caught, reason in targets:
            known = found.get((name, target))
            reasons = ", ".join(dict.fromkeys(filter(None, (known.reason if known else "", reason))))
            line = lines.index(target) + 1 if explained else 0
            found[name, target] = Edge(name, target, caught and (known is None or known.on_error), reasons, line)
    return list(found.values())


def _targets(state: Definition) -> Iterator[tuple[str, bool, str]]:
    for choice in state.get("Choices", ()):
        yield choice["Next"], False, choice.get("Comment", "")
    for key in ("Next", "Default"):
        if key in state:
            yield state[key], False, "otherwise" if "Choices" in state else ""
    for catcher in state.get("Catch", ()):
        yield catcher["Next"], True, " ".join(catcher["ErrorEquals"])
