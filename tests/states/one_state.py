"""One state of a definition by itself: what it makes of its input, of an answer or of an error, and where it goes.

The expressions are the definitions' own, rendered as in the local cloud and evaluated with its JSONata. Time stands
still at NOW.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oncekit.local import VirtualClock
from oncekit.local.engine.expression import Evaluator
from oncekit.local.engine.limits import is_named
from oncekit.local.engine.values import JSONataError

NOW = 1_767_225_600
ME = "arn:aws:states:us-east-1:123456789012:execution:once-OperationStateMachine:me"
FAST_ID = "arn:aws:states:us-east-1:123456789012:express:once-FastStateMachine:me:0f8e"
STOPS_AT = NOW + 295
MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Way:
    """Where a state leads, and what it assigned, or gave as its output."""

    to: str
    assigned: dict[str, Any] = field(default_factory=dict)
    output: Any = None


@dataclass(frozen=True)
class Lane:
    """The execution that a state runs in, and what its first states assigned there. It started at NOW."""

    execution: str
    begun: Mapping[str, Any]

    def scope(self, given: Any) -> dict[str, Any]:
        execution = {"Id": self.execution, "Name": "me", "Input": given, "StartTime": "2026-01-01T00:00:00.750Z"}
        return {"context": {"Execution": execution}, **({} if given is None else {"input": given})}


FULL = Lane(ME, {"me": ME, "ran": False, "throttled": {"times": 0, "since": 0}})
FAST = Lane(FAST_ID, {"me": f"{FAST_ID}:nonce", "ran": False, "http": {}, "stopsAt": STOPS_AT})


class State:
    """A state with the values that its expressions may read."""

    def __init__(self, name: str, raw: Mapping[str, Any], lane: Lane, at: float = NOW) -> None:
        self.name, self.raw, self._lane = name, raw, lane
        self._evaluator = Evaluator(VirtualClock(float(at)), random.Random(0))

    def with_text(self, old: str, new: str) -> State:
        """The same state with another text in its expressions, as another parameter would give it."""
        old, new = json.dumps(old)[1:-1], json.dumps(new)[1:-1]
        written = json.dumps(self.raw)
        assert old in written, f"{self.name} has no {old}"
        return State(self.name, json.loads(written.replace(old, new)), self._lane)

    def chooses(self, variables: Mapping[str, Any], given: Any = None) -> Way:
        """The way of a Choice."""
        scope = self._lane.scope(given)
        for rule in self.raw["Choices"]:
            if self._value(rule["Condition"], scope, variables) is True:
                return self._way(rule, scope, variables)
        return self._way(self.raw, scope, variables)

    def calls(self, variables: Mapping[str, Any]) -> Any:
        """The arguments of a Task's call."""
        return self._value(self.raw["Arguments"], self._lane.scope(None), variables)

    def takes(self, result: Any, variables: Mapping[str, Any], given: Any = None) -> Way:
        """The way on with the answer of a call, or with what the branches of a Map gave."""
        return self._way(self.raw, {**self._lane.scope(given), "result": result}, variables)

    def maps(self, given: Any) -> Way:
        """The way of a Map whose one branch gives what it gets, also when its items cannot be evaluated."""
        try:
            return self.takes(self._value(self.raw["Items"], self._lane.scope(given), {}), {}, given)
        except JSONataError:
            return self.fails("States.QueryEvaluationError", {}, given=given)

    def fails(self, error: str, variables: Mapping[str, Any], cause: str = "", given: Any = None) -> Way:
        """The way on with an error that is not tried again, and that the state catches."""
        scope = {**self._lane.scope(given), "errorOutput": {"Error": error, "Cause": cause}}
        way = next(each for each in self.raw["Catch"] if is_named(set(each["ErrorEquals"]), error))
        return self._way(way, scope, variables)

    def _way(self, way: Mapping[str, Any], scope: Mapping[str, Any], variables: Mapping[str, Any]) -> Way:
        assigned = self._value(way.get("Assign", {}), scope, variables)
        output = self._value(way["Output"], scope, variables) if "Output" in way else None
        return Way(way.get("Next") or way.get("Default") or "", assigned, output)

    def _value(self, node: Any, scope: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
        if isinstance(node, dict):
            return {name: self._value(each, scope, variables) for name, each in node.items()}
        if isinstance(node, list):
            return [self._value(each, scope, variables) for each in node]
        if isinstance(node, str) and node.startswith("{%"):
            return self._evaluator.evaluate(node[2:-2], scope, {**self._lane.begun, **variables})
        return node


def states_of(definition: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every state by its name, those inside of a Map included."""
    for name, state in definition["States"].items():
        yield name, state
        if "ItemProcessor" in state:
            yield from states_of(state["ItemProcessor"])
