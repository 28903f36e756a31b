"""Variables: each is assigned on every way to its use, and a Map's inner states leave the outer ones alone.

AWS evaluates a variable that was never assigned to nothing, and most of what is made of nothing ends the execution.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, Scope, State, Text
from oncekit.gate.reading import FUNCTIONS, Reading, read

_Names = frozenset[str]
_NONE: _Names = frozenset()
_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")


def check(machine: Machine) -> Iterator[Finding]:
    flows: dict[str, _Flow] = {}
    outside: dict[int, _Names] = {}
    for scope in machine.scopes:  # the outer ones come first
        entry = flows[scope.owner.name].certain[scope.owner.name] if scope.owner else _NONE
        flow = _Flow.of(scope, entry)
        flows |= dict.fromkeys(scope.states, flow)
        above = outside.get(id(scope.owner.scope), _NONE) | _assigned(scope.owner.scope) if scope.owner else _NONE
        outside[id(scope)] = above
        yield from _misnamed(machine, scope, above)
        for state in scope.states.values():
            if state.name in flow.certain:
                yield from _unassigned(machine, state, flow)


def _assigned(scope: Scope) -> _Names:
    return frozenset(name for state in scope.states.values() for _, name in state.assignments())


def _misnamed(machine: Machine, scope: Scope, above: _Names) -> Iterator[Finding]:
    for state in scope.states.values():
        for path, name in state.assignments():
            where = f"{'.'.join(path)}.{name}"
            if name in above:
                yield machine.finding(
                    state,
                    f"{where}: ${name} is a variable outside of {_owner(scope)}, and AWS refuses an inner state that "
                    "assigns it; take another name, or hand the value out as Output",
                )
            elif name == "states" or name in FUNCTIONS:
                yield machine.finding(state, f"{where}: ${name} is AWS's own name; take another one for the variable")
            elif not _VALID.fullmatch(name):
                yield machine.finding(
                    state, f"{where} is not a name of a variable: up to 80 letters, digits and underscores"
                )


def _owner(scope: Scope) -> str:
    return scope.owner.name if scope.owner else "the machine"


@dataclass(frozen=True)
class _Flow:
    """What is assigned on every way to each state of a scope that can be reached."""

    scope: Scope
    entry: _Names
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
        return cls(scope, entry, certain)

    def without(self, name: str, goal: str) -> list[str]:
        """The states of a shortest way to `goal` on which `name` is not assigned."""
        before: dict[str, str | None] = {self.scope.start: None}
        ahead = [self.scope.start]
        for here in ahead:
            for way in self.scope.states[here].ways:
                assigns = name in way.assigned | _conditions(self.scope.states[here], way.path)
                if not assigns and way.target in self.scope.states and way.target not in before:
                    before[way.target] = here
                    ahead.append(way.target)
        route: list[str] = []
        here_or_none: str | None = goal if goal in before else None
        while here_or_none is not None:
            route.insert(0, here_or_none)
            here_or_none = before[here_or_none]
        return route


def _conditions(state: State, path: tuple[str, ...]) -> _Names:
    """Variables that are there at `path` of a choice, because of how the conditions before it were answered."""
    if state.type != "Choice":
        return _NONE
    rules = _readings(state)
    within = path[:1] == ("Choices",)
    number = int(path[1]) if within else len(rules)
    names = frozenset(name for rule in rules[:number] for name in rule.when_false)
    return names | rules[number].when_true if within and path[2:] != ("Condition",) else names


@functools.lru_cache(maxsize=256)
def _readings(state: State) -> tuple[Reading, ...]:
    """Of the conditions of a choice; asked for on each way out of it, and for each text in it."""
    return tuple(_condition(rule) for rule in state.raw.get("Choices", []))


def _condition(rule: Mapping[str, object]) -> Reading:
    text = Text((), str(rule.get("Condition", "")))
    return read(text.source) if text.is_expression else Reading()


def _unassigned(machine: Machine, state: State, flow: _Flow) -> Iterator[Finding]:
    told: set[tuple[str, str]] = set()
    for text in state.expressions():
        known = flow.certain[state.name] | _conditions(state, text.path)
        for use in read(text.source).uses:
            if not use.guarded and use.name not in known and (use.name, text.field) not in told:
                told.add((use.name, text.field))
                yield machine.finding(state, f"{text.field}: {_why(machine, state, flow, use.name)}")


def _why(machine: Machine, state: State, flow: _Flow, name: str) -> str:
    anywhere = {name for scope in machine.scopes for name in _assigned(scope)}
    if name not in anywhere:
        likely = difflib.get_close_matches(name, anywhere, 1)
        return f"${name} is assigned nowhere; " + (f"is it ${likely[0]}?" if likely else "assign it before")
    in_sight, scope = _assigned(state.scope), state.scope
    while scope.owner:
        scope = scope.owner.scope
        in_sight |= _assigned(scope)
    if name not in in_sight:
        inside = next(each for each in machine.scopes if name in _assigned(each))
        return f"${name} is assigned only inside of {_owner(inside)}, and ends with it; hand it out as Output"
    route = flow.without(name, state.name)
    own = any(assigned == name for _, assigned in state.assignments())
    hint = " (what the state assigns itself is seen only after it)" if own else ""
    return (
        f"${name} is not assigned on the way {' > '.join(route)}{hint}; assign it there, or ask $exists(${name}) first"
    )
