"""Variables: each is assigned on every way to its use, and a Map's inner states leave the outer ones alone.

AWS evaluates a variable that was never assigned to nothing, and most of what is made of nothing ends the execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oncekit.gate.machine import Finding, Machine, Scope, State, Text
from oncekit.gate.reading import Facts, read

_Names = frozenset[str]
_NONE: _Names = frozenset()


def check(machine: Machine) -> Iterator[Finding]:
    flows: dict[State | None, _Flow] = {}
    for scope in machine.scopes:  # the outer ones come first
        flow = _Flow.of(scope, flows[scope.owner].certain.get(scope.owner.name, _NONE) if scope.owner else _NONE)
        flows |= dict.fromkeys(scope.states.values(), flow)
        for state in scope.states.values():
            for name in sorted(state.assigned & scope.above):
                yield machine.finding(
                    state,
                    f"assigns ${name}, a variable from outside of its Map, which AWS refuses; take another name, or "
                    "hand the value out as Output",
                )
            if state.name in flow.certain:
                yield from _unassigned(machine, state, flow.certain[state.name])


@dataclass(frozen=True)
class _Flow:
    """What is assigned on every way to each state of a scope that can be reached."""

    scope: Scope
    certain: Mapping[str, _Names]

    @classmethod
    def of(cls, scope: Scope, entry: _Names) -> _Flow:
        certain: dict[str, _Names] = {scope.start: entry} if scope.start in scope.states else {}
        ahead = list(certain)
        while ahead:
            state = scope.states[ahead.pop()]
            for way in state.ways:
                arriving = certain[state.name] | way.assigned | _conditions(state, way.path)
                known = certain.get(way.target)
                meeting = arriving if known is None else known & arriving
                if way.target in scope.states and meeting != known:
                    certain[way.target] = meeting
                    ahead.append(way.target)
        return cls(scope, certain)


def _conditions(state: State, path: tuple[str, ...]) -> _Names:
    """Variables that are there at `path` of a choice, because of how the conditions before it were answered."""
    if state.type != "Choice":
        return _NONE
    rules = _facts(state)
    within = path[:1] == ("Choices",)
    number = int(path[1]) if within else len(rules)
    names = frozenset(name for facts in rules[:number] for name in facts.when_false)
    return names | rules[number].when_true if within and path[2:] != ("Condition",) else names


def _facts(state: State) -> tuple[Facts, ...]:
    """Of the conditions of a choice."""
    return tuple(read(Text((), str(rule["Condition"])).source).facts for rule in state.raw.get("Choices", []))


def _unassigned(machine: Machine, state: State, certain: _Names) -> Iterator[Finding]:
    for text in state.expressions():
        for name in read(text.source).uses:
            if name not in certain | _conditions(state, text.path):
                yield machine.finding(
                    state,
                    f"{text.field}: ${name} is not assigned on every way here; assign it, or ask $exists(${name})",
                )
