"""The history of an execution: events in order, closed at its end."""

from __future__ import annotations

from typing import Any

from moto.stepfunctions.exceptions import InvalidArn
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventManager
from moto.stepfunctions.responses import StepFunctionResponse

from oncekit.local.clock import Clock
from oncekit.local.engine.expression import iso
from oncekit.local.patching import Change


class Abandoned(BaseException):
    """The execution is over. Not an Exception, since no state may handle it."""


def record(env: Any, kind: Any, details: Any = None, *, last: bool = False) -> None:
    """Add an event that follows the one before it. Raises Abandoned when the last one is there already."""
    _append(env.event_manager, env.run.clock, env.event_history_context, kind, details, last=last)


def _append(
    manager: Any, clock: Clock, context: Any, kind: Any, details: Any, *, follow: bool = True, last: bool = False
) -> int:
    with manager._mutex:
        if getattr(manager, "closed", False):
            raise Abandoned
        manager.closed = last
        number: int = manager._event_id_gen.get()
        event = dict(details or {})
        event |= {"id": number, "previousEventId": context.source_event_id, "type": kind, "timestamp": iso(clock.now())}
        context.last_published_event_id = number
        if follow:
            context.source_event_id = number
        manager._history_event_list.append(event)
        return number


def continued(before: Any, after: Any) -> None:
    """Let the events of one environment follow those of another that has ended."""
    events = list(before.event_manager._history_event_list)
    after.event_manager._history_event_list.extend(events)
    after.event_manager._event_id_gen._next_id = len(events) + 1
    after.event_history_context.source_event_id = after.event_history_context.last_published_event_id = len(events)


def changes(clock: Clock) -> list[Change]:
    def add_event(
        self: Any,
        context: Any,
        event_type: Any,
        event_details: Any = None,
        *_: Any,
        update_source_event_id: bool = True,
    ) -> int:
        return _append(self, clock, context, event_type, event_details, follow=update_source_event_id)

    def get_event_history(self: Any) -> list[dict[str, Any]]:
        with self._mutex:
            return [dict(event) for event in self._history_event_list]

    def get_execution_history(self: Any) -> Any:
        check_is_standard(self._get_param("executionArn"))
        return answer(self)

    answer = StepFunctionResponse.get_execution_history
    return [
        (EventManager, "add_event", add_event),
        (EventManager, "get_event_history", get_event_history),
        (StepFunctionResponse, "get_execution_history", get_execution_history),
    ]


def check_is_standard(arn: str) -> None:
    """An Express execution is known by its own ARN only to whoever reads its log. Raises InvalidArn."""
    if arn.split(":")[5:6] == ["express"]:
        raise InvalidArn("Invalid Arn: 'Resource type not valid in this context: express'")
