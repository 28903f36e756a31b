"""What the states of a machine do, one step at a time.

A state is entered by `begin`: it asks for a Call, a Pause or Branches, or has found its Way at once. What was asked for
comes to an answer or to an error, and `answered` or `failed` say how it goes on. Nothing here does anything: who steps
through a machine makes the calls, waits, keeps the history, or looks at each way that there is.

Assign and Output are evaluated independently: neither sees the result of the other, and what is assigned is visible
from the next state on. Each attempt evaluates Arguments anew. A Choice's own Assign and Output belong to Default only,
also where a rule leads to the same state. A Catch also catches errors of the state's own Assign and Output.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.asl.errors import NO_CHOICE, RUNTIME, StateError, is_named
from oncekit.asl.expression import Evaluator
from oncekit.asl.fields import Frame, Values
from oncekit.asl.sizes import exceeded, is_within, text_of

__all__ = ["Again", "Branches", "Call", "Frame", "Machine", "Pause", "Way"]

LONGEST_WAIT = 2**31 - 1
"""Seconds until a Timestamp, beyond which a Wait is too long: one of 24,855 days was seen to run, of 24,856 not."""


@dataclass(frozen=True, slots=True)
class Call:
    """A Task wants its resource called; times in seconds, None for none."""

    resource: str
    arguments: Any
    timeout: float | None = None
    heartbeat: float | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """A Wait lasts this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Branches:
    """A Map runs its machine once for each item."""

    machine: Machine
    items: list[Any]


@dataclass(frozen=True, slots=True)
class Way:
    """On to the next state, None at the end: with an output and with variables."""

    to: str | None
    output: Any
    assigned: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Again:
    """Another attempt, after so many seconds."""

    seconds: float


class Machine:
    """A definition, or the ItemProcessor of a Map. `dice` is behind the jitter of retries."""

    def __init__(self, definition: Mapping[str, Any], evaluator: Evaluator, dice: random.Random) -> None:
        self.start_at: str = definition["StartAt"]
        self.timeout: float | None = definition.get("TimeoutSeconds")
        self.states: Mapping[str, Mapping[str, Any]] = definition["States"]
        self._evaluator = evaluator
        self._dice = dice
        self._inside = {
            name: Machine(state["ItemProcessor"], evaluator, dice)
            for name, state in self.states.items()
            if state["Type"] == "Map"
        }

    def now(self) -> float:
        return self._evaluator.now()

    def type_of(self, state: str) -> str:
        return str(self.states[state]["Type"])

    # ---- steps ----

    def begin(self, frame: Frame) -> Call | Pause | Branches | Way:
        """What the state asks for, or where it leads. Raises StateError."""
        state, values = self.states[frame.state], self._values(frame)
        match state["Type"]:
            case "Choice":
                return self._choose(frame, state, values)
            case "Fail":
                told = {
                    name: values.expected(state, name, str, "string") for name in ("Error", "Cause") if name in state
                }
                raise StateError(told.get("Error"), told.get("Cause"))
            case "Wait":
                return Pause(self._seconds(state, values))
            case "Task":
                given = values.of(state, "Arguments") if "Arguments" in state else frame.input
                if not is_within(text_of(given)):
                    raise exceeded(f"The state/task '{frame.state}' was given arguments")
                times = (values.whole(state, name, 1) for name in ("TimeoutSeconds", "HeartbeatSeconds"))
                return Call(state["Resource"], given, *times)
            case "Map":
                for name in ("MaxConcurrency", "ToleratedFailurePercentage", "ToleratedFailureCount"):
                    values.number(state, name)
                return Branches(self._inside[frame.state], values.items(state, frame.input))
        return self._on(state, values, frame.input)

    def selected(self, frame: Frame, index: int, item: Any) -> Any:
        """The input of an iteration; `$states.context.Map.Item` is there meanwhile."""
        state = self.states[frame.state]
        if "ItemSelector" not in state:
            return item
        inside = Frame(frame.state, frame.input, frame.variables, within(frame.context, index, item), frame.entered)
        return self._values(inside).of(state, "ItemSelector")

    def answered(self, frame: Frame, result: Any) -> Way:
        """The way on with an answer, or with what the iterations gave. Raises StateError, which `failed` takes."""
        state = self.states[frame.state]
        return self._on(state, self._values(frame, result=result), result)

    def waited(self, frame: Frame) -> Way:
        """The way on at the end of a Wait."""
        return self._on(self.states[frame.state], self._values(frame), frame.input)

    def failed(self, frame: Frame, error: StateError) -> Again | Way:
        """Another attempt, or the way of the Catch. Raises the error itself where there is neither."""
        state = self.states[frame.state]
        for place, retrier in enumerate(state.get("Retry", ())):
            if is_named(set(retrier["ErrorEquals"]), error.error):
                done = frame.retries.get(place, 0)
                if done < retrier.get("MaxAttempts", 3):
                    frame.retries[place] = done + 1
                    return Again(self._delay(retrier, done))
                break
        return self.caught(frame, error)

    def caught(self, frame: Frame, error: StateError) -> Way:
        """The way of the Catch for an error that is not tried again. Raises the error itself where there is none."""
        for place, catcher in enumerate(self.states[frame.state].get("Catch", ())):
            if is_named(set(catcher["ErrorEquals"]), error.error):
                values = self._values(frame, f"Catch[{place}]/", errorOutput=error.output)
                return self._on(catcher, values, error.output)
        raise error

    # ---- parts ----

    def _values(self, frame: Frame, within: str = "", **more: Any) -> Values:
        return Values(self._evaluator, frame, within, more)

    def _choose(self, frame: Frame, state: Mapping[str, Any], values: Values) -> Way:
        for place, rule in enumerate(state["Choices"]):
            inside = values.inside(f"Choices[{place}]/")
            if inside.expected(rule, "Condition", bool, "boolean"):
                return self._on(rule, inside, frame.input)
        if "Default" not in state:
            raise StateError(NO_CHOICE, f"{values.where}No Choice rule matched, and the state has no Default.")
        return self._on({**state, "Next": state["Default"]}, values, frame.input)

    def _on(self, way: Mapping[str, Any], values: Values, output: Any) -> Way:
        assigned = {name: values.at(value, f"Assign/{name}") for name, value in way.get("Assign", {}).items()}
        if "Output" in way:
            output = values.of(way, "Output")
        return Way(way.get("Next"), output, assigned)

    def _seconds(self, state: Mapping[str, Any], values: Values) -> float:
        if "Seconds" in state:
            return float(values.whole(state, "Seconds", 0) or 0)
        seconds = values.instant(state) - self._evaluator.now()
        if seconds > LONGEST_WAIT:
            raise StateError(RUNTIME, f"{values.where}Wait state delay is too long.")
        return max(0.0, seconds)

    def _delay(self, retrier: Mapping[str, Any], done: int) -> float:
        longest = float(retrier.get("MaxDelaySeconds", math.inf))
        first = float(retrier.get("IntervalSeconds", 1))
        # What AWS makes of a wait that is no number any more is in no document: OverflowError.
        delay = min(first * float(retrier.get("BackoffRate", 2.0)) ** done, longest)
        return self._dice.uniform(0, delay) if retrier.get("JitterStrategy") == "FULL" else delay


def within(context: Mapping[str, Any], index: int, item: Any) -> dict[str, Any]:
    """The context of an iteration."""
    return {**context, "Map": {"Item": {"Index": index, "Value": item}}}
