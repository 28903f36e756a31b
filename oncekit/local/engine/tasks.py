"""A Task: its attempts, retries and catches.

A Catch also catches errors of the Task's own Assign and Output. Retries are counted for each retrier, and wait on the
clock. Nothing of a failed attempt is left when the next one begins.
"""

from __future__ import annotations

import random
from typing import Any

from moto.stepfunctions.parser.asl.component.common.catch.catch_outcome import CatchOutcome
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.common.retry.jitter_strategy_decl import JitterStrategy
from moto.stepfunctions.parser.asl.component.common.retry.retry_outcome import RetryOutcome
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState

from oncekit.local.engine.history import record
from oncekit.local.engine.limits import matches
from oncekit.local.engine.service_calls import ServiceCalls, Where
from oncekit.local.engine.states import give_output
from oncekit.local.patching import Change


def retry_delay(retry: Any, error: str | None, done: dict[int, int], dice: random.Random) -> float | None:
    """Seconds until the next attempt, None when there is none. `done` counts the retries of each retrier so far."""
    for index, retrier in enumerate(retry.retriers):
        if not matches(retrier.error_equals, error):
            continue
        count = done.get(index, 0)
        if count >= retrier.max_attempts.attempts:
            return None
        done[index] = count + 1
        longest = float(retrier.max_delay_seconds.max_delays_seconds)
        # What AWS makes of a wait that is no number any more is in no document: OverflowError.
        delay = min(retrier.interval_seconds.seconds * float(retrier.backoff_rate.rate) ** count, longest)
        return dice.uniform(0, delay) if retrier.jitter_strategy.jitter_strategy is JitterStrategy.FULL else delay
    return None


def eval_state(self: Any, env: Any) -> None:
    depth = len(env.stack)
    while env.is_running():
        try:
            self._evaluate_with_timeout(env)
        except Exception as error:  # as moto: what it is on AWS, `_from_error` says
            del env.stack[depth:]
            if retried_or_caught(self, env, error):
                continue
        return


def retried_or_caught(state: Any, env: Any, error: Exception) -> bool:
    """Whether there is another attempt; False when the error was caught. Raises it when it was neither."""
    failure_event = state._from_error(env=env, ex=error)
    if not getattr(failure_event, "recorded", False):
        record(env, failure_event.event_type, failure_event.event_details)
    output = state._construct_error_output_value(failure_event=failure_event)
    env.assigned = {}
    env.states.set_error_output(output)
    env.states.set_result(output)
    if state.retry and state._handle_retry(env=env, failure_event=failure_event) == RetryOutcome.CanRetry:
        return True
    if (failed := getattr(state, "failed_event", None)) is not None:  # a Map
        record(env, failed)
    if state.catch:
        state._handle_catch(env=env, failure_event=failure_event)
        if env.stack[-1] == CatchOutcome.Caught:
            env.caught = True
            return False
    raise error if isinstance(error, FailureEventException) else FailureEventException(failure_event=failure_event)


def changes(service_calls: ServiceCalls, dice: random.Random) -> list[Change]:
    def evaluate(self: Any, env: Any) -> None:
        """In the execution's own thread: only a function takes real time, and `service_calls` waits for it."""
        context = env.states.context_object.context_object_data
        self.timeout.eval(env=env)
        service_calls.at(
            Where(env.run, context["State"]["Name"], context["State"].get("RetryCount", 0), env.stack.pop())
        )
        self._eval_execution(env)
        env.states._states_data["result"] = env.stack[-1]
        if self.assign_decl:
            self.assign_decl.eval(env=env)
        give_output(self, env)

    def handle_retry(self: Any, env: Any, failure_event: Any) -> RetryOutcome:
        error = failure_event.error_name.error_name if failure_event.error_name else None
        delay = retry_delay(self.retry, error, env.retries, dice)
        if delay is None:
            return RetryOutcome.NoRetrier
        env.run.pause(delay, env.is_running)
        env.states.context_object.context_object_data["State"]["RetryCount"] += 1
        return RetryOutcome.CanRetry

    return [
        (ExecutionState, "_eval_state", eval_state),
        (ExecutionState, "_evaluate_with_timeout", evaluate),
        (ExecutionState, "_handle_retry", handle_retry),
    ]
