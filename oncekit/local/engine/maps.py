"""Map: iterations, one after the other. A Parallel is refused: no machine here has one.

AWS runs up to 40 iterations of an inline Map at a time; here it is as if every Map had MaxConcurrency 1. The first
failure is that of the state. All results together are the state's result: over 256 KiB it fails with
`States.DataLimitExceeded`, even if Output or Assign would use only a part of it. Variables that are assigned inside are
not visible outside.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import inline_iteration_component
from moto.stepfunctions.parser.asl.component.state.exec.state_map.state_map import StateMap
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel.state_parallel import StateParallel
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.engine.history import Abandoned, record
from oncekit.local.engine.limits import exceeded, is_within, text_of
from oncekit.local.engine.runs import TimedOut
from oncekit.local.engine.states import failure, hand_on
from oncekit.local.engine.tasks import eval_state
from oncekit.local.patching import Change


class _OfIteration(FailureEventException):
    """The failure of an iteration as that of the state around it; its own event is in the history already."""

    def __init__(self, env: Any, error: FailureEventException) -> None:
        self._details = error.get_execution_failed_event_details() or {}
        event = FailureEvent(
            env=env,
            error_name=_Name(self._details.get("error")),
            event_type=HistoryEventType.ExecutionFailed,
            event_details=EventDetails(executionFailedEventDetails=self._details),
        )
        event.recorded = True  # type: ignore[attr-defined]  # read by tasks.py
        super().__init__(event)

    def get_execution_failed_event_details(self) -> Any:
        """With the state that it happened in, which moto would say once more for each state around it."""
        return self._details


class _Name(ErrorName):
    """Any name: moto's for errors that are not its own refuses those of Step Functions."""


def _iterate(self: Any, env: Any) -> None:
    """An inline Map."""
    given = env.stack.pop()
    selector = given.item_selector or given.parameters
    state_input = env.stack[-1] if env.stack else None
    program = self._get_iteration_program()
    results = []
    for number, item in enumerate(given.input_items):
        frame = env.open_inner_frame()
        frame.assigned, frame.retries = {}, {}
        try:
            frame.states.context_object.context_object_data["Map"] = {"Item": {"Index": number, "Value": item}}
            hand_on(frame, item)
            if selector is not None:
                hand_on(frame, state_input)
                frame.stack.append(state_input)
                selector.eval(frame)
                hand_on(frame, frame.stack.pop())
            results.append(_result(env, frame, program, given.state_name, number))
        finally:
            env.close_frame(frame)
    if not is_within(text_of(results)):
        raise exceeded(env, f"The state/task '{given.state_name}' returned a result")
    env.stack.append(results)


def _result(env: Any, frame: Any, program: Any, state: str, number: int) -> Any:
    """One iteration, from its first state to its last; its output."""

    def note(what: str) -> None:
        details: Any = {f"mapIteration{what}EventDetails": {"name": state, "index": number}}
        record(frame, HistoryEventType(f"MapIteration{what}"), EventDetails(details))

    note("Started")
    frame.next_state_name = program.start_at.start_at_name
    try:
        while frame.is_running():
            env.run.check()
            program._get_state(frame.next_state_name).eval(frame)
            frame.stack.clear()
            frame.heap.clear()
        env.run.check()
    except (Abandoned, TimedOut):
        with suppress(Abandoned):
            note("Aborted")
        raise
    except FailureEventException as error:
        note("Failed")
        raise _OfIteration(env, error) from error
    except Exception as error:  # a fault of the interpreter; AWS calls it States.Runtime
        cause = f"{type(error).__name__}({error})"
        raise failure(env, StatesErrorNameType.StatesRuntime, cause) from error
    note("Succeeded")
    return frame.states._states_data["input"]


def _refuse(_self: Any, env: Any) -> None:
    raise failure(env, StatesErrorNameType.StatesRuntime, "the local cloud does not run Parallel states")


def changes() -> list[Change]:
    return [
        (inline_iteration_component.InlineIterationComponent, "_eval_body", _iterate),
        (StateMap, "_eval_state", eval_state),
        (StateMap, "failed_event", HistoryEventType.MapStateFailed),
        (StateParallel, "_eval_state", _refuse),
    ]
