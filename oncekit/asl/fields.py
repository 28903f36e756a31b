"""The fields of a state: their values, with what the state can read, and what they must be."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oncekit.asl.definition import is_expression
from oncekit.asl.errors import QueryError
from oncekit.asl.expression import Evaluator, Scope
from oncekit.asl.sizes import text_of
from oncekit.asl.values import JSONataError, json_type

MOST_SECONDS = 99_999_999
"""The Developer Guide's maximum of `Seconds`, `TimeoutSeconds` and `HeartbeatSeconds`."""
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")


@dataclass(slots=True)
class Frame:
    """Where an execution is, or an iteration of a Map: its state, and all that expressions can read there.

    `context` is `$states.context`; `entered` is the number of the event that tells of the state's beginning.
    """

    state: str
    input: Any
    variables: Mapping[str, Any]
    context: dict[str, Any]
    entered: int = 0
    retries: dict[int, int] = field(default_factory=dict)
    """How often each Retrier of the state has led to another attempt, by its place."""


class Values:
    """The values of a state's fields, with what the state can read."""

    def __init__(self, evaluator: Evaluator, frame: Frame, within: str, more: Mapping[str, Any]) -> None:
        self._evaluator = evaluator
        self._frame = frame
        self._within = within
        self._more = more
        self._scope: Scope | None = None

    @property
    def where(self) -> str:
        """As causes of AWS begin."""
        entered = f"(entered at the event id #{self._frame.entered})"
        return f"An error occurred while executing the state '{self._frame.state}' {entered}. "

    def inside(self, within: str) -> Values:
        """The same for a part of the state."""
        other = Values(self._evaluator, self._frame, within, self._more)
        other._scope = self._bound()
        return other

    def _bound(self) -> Scope:
        if self._scope is None:
            states = {"input": self._frame.input, "context": self._frame.context, **self._more}
            self._scope = self._evaluator.scope(states, self._frame.variables)
        return self._scope

    def of(self, fields: Mapping[str, Any], name: str) -> Any:
        """The value of a field that is there. Raises QueryError."""
        return self.at(fields[name], name)

    def at(self, node: Any, location: str) -> Any:
        """The value of what a field has at a place, with all expressions in it evaluated."""
        if isinstance(node, str):
            return self._expression(node[2:-2], location) if is_expression(node) else node
        if isinstance(node, dict):
            return {name: self.at(each, f"{location}/{name}") for name, each in node.items()}
        if isinstance(node, list):
            return [self.at(each, f"{location}[{place}]") for place, each in enumerate(node)]
        return node

    def _expression(self, source: str, location: str) -> Any:
        try:
            return self._evaluator.value(source, self._bound())
        except JSONataError as error:
            raise self._wrong(source, location, str(error)) from error

    def _wrong(self, source: str, location: str, problem: str) -> QueryError:
        place = f"{self._within}{location}"
        told = f"The JSONata expression '{source.strip()}' specified for the field '{place}' {problem}"
        return QueryError(f"{self.where}{told}", place)

    def expected(self, fields: Mapping[str, Any], name: str, kind: Any, called: str) -> Any:
        """The value of a field that must be of a type of JSON."""
        value = self.of(fields, name)
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        told = f"Expected '{called}', but was '{json_type(value)}' for value: {text_of(value)}"
        source = str(fields[name])
        source = source[2:-2] if is_expression(source) else source
        raise self._wrong(source, name, f"returned an unexpected result type. {told}")

    def number(self, fields: Mapping[str, Any], name: str) -> float | None:
        return self.expected(fields, name, (int, float), "number") if name in fields else None

    def whole(self, fields: Mapping[str, Any], name: str, least: int) -> int | None:
        """The value of a field of seconds, if it is there: "an integer in the stated range". Raises QueryError."""
        value = self.number(fields, name)
        if value is not None and not (least <= value <= MOST_SECONDS and value == int(value)):
            told = f"The field '{name}' must be an integer from {least} to {MOST_SECONDS}, but was {text_of(value)}"
            raise QueryError(f"{self.where}{told}", f"{self._within}{name}")
        return None if value is None else int(value)

    def items(self, fields: Mapping[str, Any], given: Any) -> list[Any]:
        if "Items" in fields:
            return list(self.expected(fields, "Items", list, "array"))
        if not isinstance(given, list):
            raise QueryError(f"{self.where}Map state input must be an array but was: {text_of(given)}", None)
        return given

    def instant(self, fields: Mapping[str, Any]) -> float:
        """Epoch seconds of a Wait's Timestamp."""
        text = self.of(fields, "Timestamp")
        try:
            when = datetime.datetime.fromisoformat(text) if _INSTANT.fullmatch(str(text)) else None
        except ValueError:
            when = None
        if when is None:
            told = "cannot be parsed as an ISO-8601 extended offset date-time format string"
            raise TimestampError(f"{self.where}The Timestamp field {told}: {text}", f"{self._within}Timestamp")
        return math.floor(when.timestamp())


class TimestampError(QueryError):
    """A Wait's Timestamp that is none."""
