"""What all states have in common: events, input and output, and Assign.

Assign and Output are evaluated independently: neither sees the result of the other. Inputs and outputs are passed on
without a copy, because nothing in a JSONata state changes them.
"""

from __future__ import annotations

from typing import Any

from moto.stepfunctions.parser.api import (
    ExecutionFailedEventDetails,
    HistoryEventExecutionDataDetails,
    HistoryEventType,
    StateEnteredEventDetails,
    StateExitedEventDetails,
)
from moto.stepfunctions.parser.asl.component.common.assign.assign_decl import AssignDecl
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.outputdecl import Output
from moto.stepfunctions.parser.asl.component.state.choice.state_choice import StateChoice
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task import StateTask
from moto.stepfunctions.parser.asl.component.state.state import CommonStateField
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.engine.expression import iso
from oncekit.local.engine.history import record
from oncekit.local.engine.limits import MAX_BYTES, OF_A_TASK_BYTES, exceeded, is_within, text_of
from oncekit.local.engine.runs import Checkpoint
from oncekit.local.patching import Change

_WHOLE = HistoryEventExecutionDataDetails(truncated=False)


def failure(env: Any, kind: StatesErrorNameType, cause: str) -> FailureEventException:
    """The failure of a state with an error that is Step Functions' own."""
    name = StatesErrorName(typ=kind)
    details = EventDetails(executionFailedEventDetails=ExecutionFailedEventDetails(error=name.error_name, cause=cause))
    return FailureEventException(
        FailureEvent(env=env, error_name=name, event_type=HistoryEventType.TaskFailed, event_details=details)
    )


def _input_text(env: Any) -> str:
    """The present input as text; made once for the state that gives it and the state that takes it."""
    value = env.states._states_data["input"]
    made_of, text = getattr(env, "input_text", (None, None))
    if made_of is not value or text is None:
        text = text_of(value)
        env.input_text = (value, text)
    return text


def enter(state: Any, env: Any) -> None:
    """The state begins: it is in the history, and a redrive goes on from here."""
    details = StateEnteredEventDetails(name=state.name, input=_input_text(env), inputDetails=_WHOLE)
    record(env, state.state_entered_event_type, EventDetails(stateEnteredEventDetails=details))
    context = env.states.context_object.context_object_data
    context["State"] = {"EnteredTime": iso(env.run.clock.now()), "Name": state.name, "RetryCount": 0}
    env.assigned, env.retries, env.caught = {}, {}, False
    if not env.is_frame():
        store = env.variable_store
        env.run.checkpoint = Checkpoint(state.name, env.states._states_data["input"], dict(store._inner_scope))


def _assign(env: Any) -> dict[str, str]:
    """Make what was assigned visible to the next state; the texts of its values."""
    texts = {name: text_of(value) for name, value in env.assigned.items()}
    if not is_within("".join(texts.values())):
        raise exceeded(env, "The Assign field gave variables")
    for name, value in env.assigned.items():
        env.variable_store.set(variable_identifier=name, variable_value=value)
    env.variable_store.reset_tracing()
    return texts


def leave(state: Any, env: Any, assigned: dict[str, str]) -> None:
    """The state has ended, with the texts of what it assigned."""
    if state.state_exited_event_type is None:
        return
    details = StateExitedEventDetails(name=state.name, output=_input_text(env), outputDetails=_WHOLE)
    if assigned:
        details |= {"assignedVariables": assigned, "assignedVariablesDetails": {"truncated": False}}  # type: ignore[misc]  # newer than moto's types
    record(env, state.state_exited_event_type, EventDetails(stateExitedEventDetails=details))


def give_output(state: Any, env: Any) -> None:
    """The output of a JSONata state becomes the input of the next one: its Output, or what is on the stack."""
    if state.output:
        state.output.eval(env=env)
    else:
        hand_on(env, env.stack.pop())


def hand_on(env: Any, value: Any) -> None:
    """Make a value the input, as moto's `States.reset` does, without a copy."""
    data = env.states._states_data
    data["input"], data["result"], data["errorOutput"] = value, None, None


def _eval_body(self: Any, env: Any) -> None:
    enter(self, env)
    if self._is_language_query_jsonpath():
        told = "the local cloud runs state machines whose QueryLanguage is JSONata"
        raise failure(env, StatesErrorNameType.StatesRuntime, told)
    env.stack.append(env.states._states_data["input"])
    self._eval_state(env)
    if not env.is_running():
        return
    self._eval_state_output(env=env)
    if not is_within(_input_text(env), OF_A_TASK_BYTES if isinstance(self, StateTask) else MAX_BYTES):
        raise exceeded(env, f"The state/task '{self.name}' returned a result")
    assigned = _assign(env)
    if not env.caught:  # a Catch has said where to go on, which may be this state again
        self._set_next(env)
    leave(self, env, assigned)


def _eval_assign(self: Any, env: Any) -> None:
    """Into a place of its own: the variables change when the state is left."""
    values: dict[str, Any] = {}
    for binding in self.declaration_bindings:
        binding.eval(env=env)
        values.update(env.stack.pop())
    env.assigned = {**env.assigned, **values}


def _eval_output(self: Any, env: Any) -> None:
    self.jsonata_template_value.eval(env=env)
    hand_on(env, env.stack.pop())


def choose(self: Any, env: Any) -> None:
    """The state's own Assign and Output belong to Default only, also where a rule leads to the same state."""
    for rule in self.choices_decl.rules:
        rule.eval(env)
        if env.stack.pop() is True:
            env.stack.append(rule.next_stmt.name)
            return
    if self.default_state is None:
        raise failure(env, StatesErrorNameType.StatesNoChoiceMatched, f"No choice of the state '{self.name}' matched")
    if self.assign_decl:
        self.assign_decl.eval(env=env)
    if self.output:
        self.output.eval(env=env)
    env.stack.append(self.default_state.state_name)


def _go_where_chosen(self: Any, env: Any) -> None:
    env.next_state_name = env.stack.pop()


def changes() -> list[Change]:
    def nothing(self: Any, env: Any) -> None:
        """A Task has given its output already, where an error in it can be caught."""

    return [
        (CommonStateField, "_eval_body", _eval_body),
        (CommonStateField, "_eval_state_output", give_output),
        (ExecutionState, "_eval_state_output", nothing),
        (StateChoice, "_eval_state", choose),
        (StateChoice, "_eval_state_output", _go_where_chosen),
        (AssignDecl, "_eval_body", _eval_assign),
        (Output, "_eval_body", _eval_output),
    ]
