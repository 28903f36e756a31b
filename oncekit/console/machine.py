"""The states of a definition, and the ways between them, as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.console.drawing.vertices import Edge, Node

Definition = Mapping[str, Any]
"""A state machine in Amazon States Language, parsed."""
ENDS = {"Succeed": "success", "Fail": "failure"}


def nodes(definition: Definition) -> list[Node]:
    """Every state, by what kind of work it does; the one to start with first."""
    states = definition["States"]
    names = sorted(states, key=lambda name: bool(name != definition["StartAt"]))
    return [Node(name, _kind(states[name]), states[name].get("Comment", "")) for name in names]


def _kind(state: Definition) -> str:
    kind = str(state["Type"])
    return "finish" if state.get("End") else ENDS.get(kind, kind.lower())


def edges(definition: Definition) -> list[Edge]:
    """Every transition once; one that only an error takes is marked."""
    found: dict[tuple[str, str], Edge] = {}
    for name, state in definition["States"].items():
        for target, caught, reason in _targets(state):
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
