"""JSONata in the interpreter: moto has a hook for it, but no engine, and would insert values into the source text.

AWS evaluates JSONata 2.0.6 with `$states` and the variables as bindings. If an expression fails, or returns nothing or
a function, the error is `States.QueryEvaluationError`, with an event that says so.
"""

from __future__ import annotations

import random
from typing import Any

from moto.stepfunctions.parser.api import EvaluationFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.string.string_expression import StringJSONata
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison import ConditionStringJSONata
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.clock import Clock
from oncekit.local.engine.expression import Evaluator
from oncekit.local.engine.history import record
from oncekit.local.engine.values import JSONataError
from oncekit.local.patching import Change


def _failure(env: Any, source: str, problem: str) -> FailureEventException:
    """Recorded at once, as AWS does for every type of state; the failure of the state follows."""
    name = StatesErrorName(typ=StatesErrorNameType.StatesQueryEvaluationError)
    field = env.next_field_name
    where = f" specified for the field '{field}'" if field else ""
    cause = f"The JSONata expression '{source.strip()}'{where} {problem}"
    state = (env.states.context_object.context_object_data.get("State") or {}).get("Name")
    details = EventDetails(
        evaluationFailedEventDetails=EvaluationFailedEventDetails(
            error=name.error_name, cause=cause, location=field, state=state
        )
    )
    record(env, HistoryEventType.EvaluationFailed, details)
    event = FailureEvent(env=env, error_name=name, event_type=HistoryEventType.EvaluationFailed, event_details=details)
    event.recorded = True  # type: ignore[attr-defined]  # read by tasks.py
    return FailureEventException(event)


def changes(clock: Clock, dice: random.Random) -> list[Change]:
    evaluator = Evaluator(clock, dice)

    def eval_body(self: Any, env: Any) -> None:
        store = env.variable_store
        variables = {**store._outer_scope, **store._inner_scope} if store._outer_scope else store._inner_scope
        try:
            env.stack.append(evaluator.evaluate(self.expression, env.states._states_data, variables))
        except JSONataError as error:
            raise _failure(env, self.expression, str(error)) from error

    def eval_condition(self: Any, env: Any) -> None:
        self.string_jsonata.eval(env=env)
        if not isinstance(env.stack[-1], bool):
            raise _failure(env, self.string_jsonata.expression, "returned an unsupported result type: not a boolean")

    return [(StringJSONata, "_eval_body", eval_body), (ConditionStringJSONata, "_eval_body", eval_condition)]
