"""A definition as the checks read it: states in their scopes, ways from state to state, and expressions."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_INNER = ("ItemProcessor", "Iterator", "Branches")
_OWN_FIELDS = ("Comment", "Type", "Next", "Default", "Resource", "ErrorEquals", "QueryLanguage", *_INNER)


@dataclass(frozen=True, order=True)
class Finding:
    """One fault, in one line: what is wrong, why it is wrong on AWS, and what to do."""

    file: str
    """As it is called beside the template."""
    where: str
    """A state; empty for a file as a whole."""
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.where, " ".join(self.text.split())) if part)


@dataclass(frozen=True)
class Text:
    """A string in a state, and where it is: `("Catch", "0", "Assign", "failure")`."""

    path: tuple[str, ...]
    value: str

    @property
    def field(self) -> str:
        return ".".join(self.path)

    @property
    def is_expression(self) -> bool:
        return self.value.startswith("{%") and self.value.endswith("%}")

    @property
    def source(self) -> str:
        """The JSONata in it."""
        return self.value.removeprefix("{%").removesuffix("%}").strip()


class Way(NamedTuple):
    """One way out of a state, where it is written, and the variables that are assigned on it."""

    target: str
    path: tuple[str, ...]
    assigned: frozenset[str]


@dataclass(frozen=True, eq=False)
class State:
    """One state, wherever it is; equal to none but itself, so that what is found out about it can be kept."""

    name: str
    raw: Mapping[str, Any]
    scope: Scope

    @property
    def type(self) -> str:
        return str(self.raw.get("Type", ""))

    @property
    def resource(self) -> str:
        """The integration of a Task without its prefix: `dynamodb:updateItem`."""
        return str(self.raw.get("Resource", "")).removeprefix("arn:aws:states:::")

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Of a Task; empty where an expression makes them."""
        found = self.raw.get("Arguments")
        return found if isinstance(found, Mapping) else {}

    @property
    def clauses(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Every clause of Retry and of Catch, with where it is: `Catch.0`."""
        for kind in ("Retry", "Catch"):
            for number, clause in enumerate(self.raw.get(kind, [])):
                yield f"{kind}.{number}", clause

    @functools.cached_property
    def ways(self) -> tuple[Way, ...]:
        """Every way out. What a state assigns holds on its own way; a choice or a catch assigns for itself alone."""
        rules = [
            ((kind, str(n)), each) for kind in ("Choices", "Catch") for n, each in enumerate(self.raw.get(kind, []))
        ]
        own = [((key,), {**self.raw, "Next": self.raw[key]}) for key in ("Default", "Next", "End") if key in self.raw]
        return tuple(Way(str(each["Next"]), path, frozenset(each.get("Assign", {}))) for path, each in [*rules, *own])

    @property
    def assigned(self) -> frozenset[str]:
        """Every variable that the state assigns on one of its ways."""
        return frozenset(name for way in self.ways for name in way.assigned)

    @functools.cached_property
    def texts(self) -> tuple[Text, ...]:
        """Every string of the state itself that may be an expression."""
        return tuple(_texts(self.raw, ()))

    def expressions(self) -> Iterator[Text]:
        return (text for text in self.texts if text.is_expression)


def _texts(node: Any, path: tuple[str, ...]) -> Iterator[Text]:
    if isinstance(node, str):
        yield Text(path, node)
    elif isinstance(node, Mapping):
        for key, value in node.items():
            # Inside of arguments these words are the service's own.
            if key not in _OWN_FIELDS or set(path) & {"Arguments", "Assign", "Output"}:
                yield from _texts(value, (*path, str(key)))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _texts(value, (*path, str(number)))


@dataclass(frozen=True, eq=False)
class Scope:
    """States that go to each other: those of the machine, or those inside of one Map or branch."""

    start: str
    owner: State | None
    """The Map that they are in."""
    states: dict[str, State] = field(default_factory=dict)

    @property
    def assigned(self) -> frozenset[str]:
        return frozenset(name for state in self.states.values() for name in state.assigned)

    @property
    def above(self) -> frozenset[str]:
        """The variables of the scopes around it."""
        return self.owner.scope.assigned | self.owner.scope.above if self.owner else frozenset()


@dataclass(frozen=True, eq=False)
class Machine:
    """A state machine of the template; equal to none but itself."""

    file: str
    definition: Mapping[str, Any]
    """Without placeholders."""
    type: str
    """STANDARD or EXPRESS."""

    @functools.cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The outermost first."""
        return tuple(_scopes(self.definition, None))

    @property
    def states(self) -> Iterator[State]:
        for scope in self.scopes:
            yield from scope.states.values()

    def tasks(self, *resources: str) -> Iterator[State]:
        """The Tasks with one of these integrations; all of them without any."""
        for state in self.states:
            if state.type == "Task" and (not resources or state.resource in resources):
                yield state

    def finding(self, state: State | None, text: str) -> Finding:
        return Finding(self.file, state.name if state else "", text)


def _scopes(definition: Mapping[str, Any], owner: State | None) -> Iterator[Scope]:
    scope = Scope(str(definition.get("StartAt", "")), owner)
    for name, raw in definition.get("States", {}).items():
        scope.states[name] = State(name, raw, scope)
    yield scope
    for state in scope.states.values():
        for key in _INNER:
            inner = state.raw.get(key, [])
            for each in inner if isinstance(inner, list) else [inner]:
                yield from _scopes(each, state)
