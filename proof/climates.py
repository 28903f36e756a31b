"""Climates: what holds for a whole run, beneath the one fault of its weather.

stale              DescribeExecution and ListExecutions answer as they would have some seconds ago
recovery twice     every run of the recovery machine comes twice, at once and in step
recovery late      every run of it comes twice, the second long after
full history       GetExecutionHistory leaves parameters and causes in, whatever was asked for
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local.engine import Call
from local.events import Delivery

if TYPE_CHECKING:
    from proof.world import Proceed, World

LAG = 20.0
"""Seconds for which a change of an execution may be unseen; AWS names no bound ("may not reflect very recent updates")."""
LATE = 400.0
"""Seconds: longer than a recovery period."""


class Climate:
    """A mild one: nothing happens."""

    def __init__(self, world: World) -> None:
        self._world = world

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        return proceed()

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        return (0.0,)


class Stale(Climate):
    """Reads of executions lag behind; what an execution was before a redrive is remembered for that."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._before: dict[str, tuple[float, dict[str, Any]]] = {}

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        now = self._world.turns.now()
        if call.action == "redrive_execution":
            arn = call.parameters["executionArn"]
            dead = self._world.cloud.client("stepfunctions").describe_execution(executionArn=arn)
            answer = proceed()
            self._before[arn] = now, {name: value for name, value in dead.items() if name != "ResponseMetadata"}
            return answer
        if call.action == "describe_execution":
            return self._described(call.parameters["executionArn"], now, proceed())
        if call.action == "list_executions":
            answer = proceed()
            return {**answer, "executions": [each for each in answer["executions"] if not _is_fresh(each, now)]}
        return proceed()

    def _described(self, arn: str, now: float, answer: dict[str, Any]) -> dict[str, Any]:
        redriven_at, before = self._before.get(arn, (now - LAG, {}))
        if now - redriven_at < LAG:
            return before
        if _is_fresh(answer, now):
            gone = ("stopDate", "output", "outputDetails", "error", "cause")
            return {**{name: value for name, value in answer.items() if name not in gone}, "status": "RUNNING"}
        return answer


def _is_fresh(execution: Mapping[str, Any], now: float) -> bool:
    """Whether it ended a moment ago."""
    return "stopDate" in execution and now - execution["stopDate"].timestamp() < LAG


class Doubled(Climate):
    """The recovery machine is asynchronous and Express: it may run twice."""

    def __init__(self, world: World, after: float) -> None:
        super().__init__(world)
        self._after = after

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        self._world.turns.wait()  # so that the other one goes on between any two calls
        return proceed()

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        return (0.0, self._after) if "Recovery" in delivery.target else (0.0,)


class FullHistory(Climate):
    """AWS does not say what `includeExecutionData: false` leaves out."""

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if call.action != "get_execution_history":
            return proceed()
        assert isinstance(call.parameters, dict)
        call.parameters["includeExecutionData"] = True
        answer = proceed()
        return {**answer, "events": [_without(event, ("input", "output")) for event in answer["events"]]}


def _without(event: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {
        key: {k: v for k, v in value.items() if k not in names} if isinstance(value, dict) else value
        for key, value in event.items()
    }


CLIMATES: Mapping[str, Callable[[World], Climate]] = {
    "mild": Climate,
    "stale": Stale,
    "recovery twice": lambda world: Doubled(world, 0.0),
    "recovery late": lambda world: Doubled(world, LATE),
    "full history": FullHistory,
}
