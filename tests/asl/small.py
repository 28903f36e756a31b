"""Small machines, run at once: what their Tasks answer is given, and how long they wait is noted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asl.recorded import START, Player

from oncekit.asl.errors import StateError
from oncekit.asl.expression import Evaluator, strict_syntax
from oncekit.asl.running import run
from oncekit.asl.states import Call, Frame, Machine

Given = dict[str, Any]
Answer = tuple[str, Any]
END: Given = {"Type": "Succeed"}


@dataclass(frozen=True)
class Ended:
    """How an execution ended, and what it did."""

    output: Any
    error: str | None
    cause: str | None
    calls: Sequence[Call]
    pauses: Sequence[float]
    events: Sequence[Mapping[str, Any]]

    @property
    def types(self) -> list[str]:
        return [each["type"] for each in self.events]

    @property
    def states(self) -> list[str]:
        """In the order in which they were entered."""
        entered = (each for each in self.events if each["type"].endswith("StateEntered"))
        return [each["stateEnteredEventDetails"]["name"] for each in entered]


class _Noting(Player):
    def __init__(self, answers: Mapping[str, Sequence[Answer]]) -> None:
        super().__init__(answers)
        self.calls: list[Call] = []
        self.pauses: list[float] = []

    def call(self, frame: Frame, call: Call) -> Any:
        self.calls.append(call)
        return super().call(frame, call)

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().pause(seconds)


def ended(states: Mapping[str, Any], given: Any = None, answers: Mapping[str, Sequence[Answer]] | None = None) -> Ended:
    """A machine of these states, the first of which starts; `answers` has those of each Task, in their order."""
    player, dice = _Noting(answers or {}), random.Random(0)
    definition = {"StartAt": next(iter(states)), "States": states}
    machine = Machine(definition, Evaluator(lambda: player.now, dice), dice)
    arn = "arn:aws:states:us-east-1:123456789012:execution:m:e"
    frame = Frame(machine.start_at, given, {}, {"Execution": {"Id": arn, "Input": given}})
    output, failure = None, StateError(None)
    with strict_syntax():
        try:
            output = run(machine, frame, player)
        except StateError as error:
            failure = error
    return Ended(output, failure.error, failure.cause, player.calls, player.pauses, player.history.events)


def value(expression: str, given: Any = None) -> Any:
    """Of an expression with this input, or the name of its error."""
    end = ended({"S": succeed(expression)}, given)
    return end.output if end.error is None else end.error


def ok(answer: Any) -> Answer:
    return "ok", answer


def fails(error: str, cause: str | None = None) -> Answer:
    return "error", {"error": error, **({} if cause is None else {"cause": cause})}


def succeed(expression: str) -> Given:
    return {"Type": "Succeed", "Output": "{% " + expression + " %}"}


def pass_on(**more: Any) -> Given:
    return {"Type": "Pass", **_way(more)}


def task(resource: str = "aws-sdk:s3:getObject", **more: Any) -> Given:
    return {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", **_way(more)}


def each(*, items: Any = "{% $states.input %}", states: Given | None = None, **more: Any) -> Given:
    """A Map over its input."""
    states = states or {"One": END}
    processor = {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": next(iter(states)), "States": states}
    return {"Type": "Map", "Items": items, "ItemProcessor": processor, **_way(more)}


def _way(more: Given) -> Given:
    return more if "Next" in more else {"End": True, **more}


def at(seconds: float) -> float:
    """So many seconds after the beginning of each execution."""
    return START + seconds
