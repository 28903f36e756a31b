"""One state of a definition by itself: what it makes of its input, of an answer or of an error, and where it goes.

The expressions are the definitions' own, rendered as in the local cloud. They are evaluated by the local cloud's
interpreter (State), or by AWS itself (aws_state.py). Time stands still at NOW.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from oncekit.asl.errors import StateError
from oncekit.asl.expression import Evaluator
from oncekit.asl.states import Branches, Call, Frame, Machine, Way

NOW = 1_767_225_600
ME = "arn:aws:states:us-east-1:123456789012:execution:once-OperationStateMachine:me"
FAST_ID = "arn:aws:states:us-east-1:123456789012:express:once-FastStateMachine:me:0f8e"
STOPS_AT = NOW + 295
MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Lane:
    """The execution that a state runs in, and what its first states assigned there. It started at NOW."""

    execution: str
    begun: Mapping[str, Any]

    def context(self, given: Any) -> dict[str, Any]:
        execution = {"Id": self.execution, "Name": "me", "Input": given, "StartTime": "2026-01-01T00:00:00.750Z"}
        return {"Execution": execution}


FULL = Lane(ME, {"me": ME, "ran": False, "throttled": {"times": 0, "since": 0}})
FAST = Lane(FAST_ID, {"me": f"{FAST_ID}:nonce", "ran": False, "http": {}, "stopsAt": STOPS_AT})


@dataclass(frozen=True)
class State:
    """A state with the values that its expressions may read, in the machine it is of; `at` is what time it is."""

    name: str
    machine: Mapping[str, Any]
    lane: Lane
    at: float = NOW

    @property
    def raw(self) -> Mapping[str, Any]:
        raw: Mapping[str, Any] = self.machine["States"][self.name]
        return raw

    def with_text(self, old: str, new: str) -> Self:
        """The same state with another text in its expressions, as another parameter would give it."""
        old, new = json.dumps(old)[1:-1], json.dumps(new)[1:-1]
        written = json.dumps(self.raw)
        assert old in written, f"{self.name} has no {old}"
        changed = json.loads(written.replace(old, new))
        return replace(self, machine={**self.machine, "States": {**self.machine["States"], self.name: changed}})

    @functools.cached_property
    def _machine(self) -> Machine:
        dice = random.Random(0)
        evaluator = Evaluator(lambda: float(self.at), dice)
        return Machine({"StartAt": self.name, "States": {self.name: self.raw}}, evaluator, dice)

    def _frame(self, variables: Mapping[str, Any], given: Any = None) -> Frame:
        return Frame(self.name, given, {**self.lane.begun, **variables}, self.lane.context(given))

    def chooses(self, variables: Mapping[str, Any], given: Any = None) -> Way:
        """The way of a Choice, or of another state that asks nobody."""
        way = self._machine.begin(self._frame(variables, given))
        assert isinstance(way, Way)
        return way

    def calls(self, variables: Mapping[str, Any]) -> Any:
        """The arguments of a Task's call."""
        call = self._machine.begin(self._frame(variables))
        assert isinstance(call, Call)
        return call.arguments

    def takes(self, result: Any, variables: Mapping[str, Any], given: Any = None) -> Way:
        """The way on with the answer of a call, or with what the branches of a Map gave."""
        return self._machine.answered(self._frame(variables, given), result)

    def maps(self, given: Any) -> Way:
        """The way of a Map whose one branch gives what it gets, also when its items cannot be evaluated."""
        frame = self._frame({}, given)
        try:
            return self._machine.answered(frame, self._items(frame))
        except StateError as error:
            return self._machine.caught(frame, error)

    def selects(self, given: Any) -> list[Any]:
        """The inputs of a Map's iterations."""
        frame = self._frame({}, given)
        return [self._machine.selected(frame, index, item) for index, item in enumerate(self._items(frame))]

    def _items(self, frame: Frame) -> list[Any]:
        branches = self._machine.begin(frame)
        assert isinstance(branches, Branches)
        return branches.items

    def fails(self, error: str, variables: Mapping[str, Any], cause: str = "", given: Any = None) -> Way:
        """The way on with an error that is not tried again, and that the state catches."""
        return self._machine.caught(self._frame(variables, given), StateError(error, cause))


def states_of(definition: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every state by its name, those inside of a Map included."""
    for name, state in definition["States"].items():
        yield name, state
        if "ItemProcessor" in state:
            yield from states_of(state["ItemProcessor"])


def machine_of(definition: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The machine that has this state: the definition itself, or what is inside of a Map."""
    if name in definition["States"]:
        return definition
    inside = (each["ItemProcessor"] for each in definition["States"].values() if "ItemProcessor" in each)
    return next(machine_of(each, name) for each in inside if name in dict(states_of(each)))
