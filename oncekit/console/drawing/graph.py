"""What a drawing of a state machine is made of: its states, the ways between them, and what a run took."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Definition = Mapping[str, Any]
"""A state machine in Amazon States Language, parsed."""
MOST_NAMED = 3
"""Ways that a state could have taken instead, up to which each is named."""
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
    """What was gone through, from top to bottom, each state with a box that says what could have come next instead."""
    named = {each.name: replace(each, section="", lines=()) for each in nodes}
    path = list(dict.fromkeys(steps))
    ways = [replace(each, line=0) for each in edges if each.source in path]
    drawn = [each for each in ways if each.target in path]
    others: list[Node] = []
    for state in path:
        instead = [each for each in ways if each.source == state and each.target not in path]
        if names := [each.target for each in instead]:
            lines = names if len(names) <= MOST_NAMED else [f"{len(names)} others"]
            others.append(Node(f"Instead, after {state}", "others", ", ".join(names), tuple(lines)))
            drawn.append(Edge(state, others[-1].name, all(each.on_error for each in instead)))
    return [*(named[each] for each in path), *others], drawn


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
