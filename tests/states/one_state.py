"""One state of a definition by itself: what it makes of its input, of an answer or of an error, and where it goes.

The expressions are the definitions' own, rendered as in the local cloud and evaluated with its JSONata. Time stands
still at NOW.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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


class State:
    """A state with the values that its expressions may read."""

    def __init__(self, name: str, raw: Mapping[str, Any], lane: Lane, at: float = NOW) -> None:
        self.name, self.raw, self._lane = name, raw, lane
        dice = random.Random(0)
        self._machine = Machine({"StartAt": name, "States": {name: raw}}, Evaluator(lambda: float(at), dice), dice)

    def with_text(self, old: str, new: str) -> State:
        """The same state with another text in its expressions, as another parameter would give it."""
        old, new = json.dumps(old)[1:-1], json.dumps(new)[1:-1]
        written = json.dumps(self.raw)
        assert old in written, f"{self.name} has no {old}"
        return State(self.name, json.loads(written.replace(old, new)), self._lane)

    def _at(self, variables: Mapping[str, Any], given: Any = None) -> Frame:
        return Frame(self.name, given, {**self._lane.begun, **variables}, self._lane.context(given))

    def chooses(self, variables: Mapping[str, Any], given: Any = None) -> Way:
        """The way of a Choice."""
        way = self._machine.begin(self._at(variables, given))
        assert isinstance(way, Way)
        return way

    def calls(self, variables: Mapping[str, Any]) -> Any:
        """The arguments of a Task's call."""
        call = self._machine.begin(self._at(variables))
        assert isinstance(call, Call)
        return call.arguments

    def takes(self, result: Any, variables: Mapping[str, Any], given: Any = None) -> Way:
        """The way on with the answer of a call, or with what the branches of a Map gave."""
        return self._machine.answered(self._at(variables, given), result)

    def maps(self, given: Any) -> Way:
        """The way of a Map whose one branch gives what it gets, also when its items cannot be evaluated."""
        frame = self._at({}, given)
        try:
            branches = self._machine.begin(frame)
            assert isinstance(branches, Branches)
            return self._machine.answered(frame, branches.items)
        except StateError as error:
            return self._machine.caught(frame, error)

    def fails(self, error: str, variables: Mapping[str, Any], cause: str = "", given: Any = None) -> Way:
        """The way on with an error that is not tried again, and that the state catches."""
        return self._machine.caught(self._at(variables, given), StateError(error, cause))


def states_of(definition: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every state by its name, those inside of a Map included."""
    for name, state in definition["States"].items():
        yield name, state
        if "ItemProcessor" in state:
            yield from states_of(state["ItemProcessor"])
