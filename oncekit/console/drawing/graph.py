"""What a drawing of a state machine is made of: its states, the ways between them, and what a run took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Definition = Mapping[str, Any]
"""A state machine in Amazon States Language, parsed."""
MOST_NAMED = 3
"""Ways that a state could have taken instead, up to which each is named."""
ENDS = {"Succeed": "success", "Fail": "failure"}


@dataclass(frozen=True)
class Node:
    """A state; `kind` names its style: that of its type, or success, failure, or finish (one that ends)."""

    name: str
    kind: str
    comment: str
    lines: Sequence[str] = ()
    """What is written in it, where that is not its name."""


@dataclass(frozen=True)
class Edge:
    """A transition; `reason` says what takes it, where that is known."""

    source: str
    target: str
    on_error: bool
    reason: str = ""


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
    named = {each.name: each for each in nodes}
    path = list(dict.fromkeys(steps))
    ways = [each for each in edges if each.source in path]
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
    names = sorted(states, key=lambda name: bool(name != definition["StartAt"]))
    return [Node(name, _kind(states[name]), states[name].get("Comment", "")) for name in names]


def _kind(state: Definition) -> str:
    kind = str(state["Type"])
    return "finish" if state.get("End") else ENDS.get(kind, kind.lower())


def edges(definition: Definition) -> list[Edge]:
    """Every transition to another state once; one that only an error takes is marked."""
    found: dict[tuple[str, str], Edge] = {}
    for name, state in definition["States"].items():
        for target, caught, reason in _targets(state):
            if target == name:
                continue
            known = found.get((name, target))
            reasons = ", ".join(dict.fromkeys(filter(None, (known.reason if known else "", reason))))
            found[name, target] = Edge(name, target, caught and (known is None or known.on_error), reasons)
    return list(found.values())


def _targets(state: Definition) -> Iterator[tuple[str, bool, str]]:
    for key in ("Next", "Default"):
        if key in state:
            yield state[key], False, ""
    for choice in state.get("Choices", ()):
        yield choice["Next"], False, ""
    for catcher in state.get("Catch", ()):
        yield catcher["Next"], True, " ".join(catcher["ErrorEquals"])
