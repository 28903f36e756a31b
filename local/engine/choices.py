"""Choice states: the state's own Assign and Output belong to Default only, also where a rule leads to the same state.

A Choice without a match fails with `States.NoChoiceMatched`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.stepfunctions.parser.api import ExecutionFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.choice.state_choice import StateChoice
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from local.engine.patching import replaced


def _no_match(env: Any, state: str) -> FailureEventException:
    name = StatesErrorName(typ=StatesErrorNameType.StatesNoChoiceMatched)
    details = ExecutionFailedEventDetails(error=name.error_name, cause=f"No choice of the state '{state}' matched")
    return FailureEventException(
        FailureEvent(
            env=env,
            error_name=name,
            event_type=HistoryEventType.ExecutionFailed,
            event_details=EventDetails(executionFailedEventDetails=details),
        )
    )


@contextmanager
def mend() -> Iterator[None]:
    def eval_state(self: Any, env: Any) -> None:
        for rule in self.choices_decl.rules:
            rule.eval(env)
            if env.stack.pop() is True:
                env.stack.append(rule.next_stmt.name)
                return
        if self.default_state is None:
            raise _no_match(env, self.name)
        if self.assign_decl:
            self.assign_decl.eval(env=env)
        if self.output:
            self.output.eval(env=env)
        env.stack.append(self.default_state.state_name)

    def eval_state_output(_self: Any, env: Any) -> None:
        env.next_state_name = env.stack.pop()

    with replaced((StateChoice, "_eval_state", eval_state), (StateChoice, "_eval_state_output", eval_state_output)):
        yield
