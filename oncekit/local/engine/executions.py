"""Executions as Step Functions keeps them: starts, descriptions, stops and redrives.

StartExecution with the name and input of a running execution returns that execution; any other use of a name in use is
refused. An Express execution has an ARN of another form, is never the same as another one, and cannot be described. A
redrive continues under the same ARN, from the state that failed or was running, with its input and variables. Answers
about executions may be outdated: views.py. They are remembered for good (on AWS for 90 days), and as long they may be
redriven (on AWS for 14 days).
"""

from __future__ import annotations

import copy
import functools
import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from moto.core.exceptions import AWSError
from moto.core.responses import ActionResult
from moto.stepfunctions.exceptions import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
)
from moto.stepfunctions.parser.api import ExecutionStatus, HistoryEventType
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.backend.execution import Execution
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
from moto.stepfunctions.parser.models import StepFunctionsParserBackend
from moto.stepfunctions.responses import StepFunctionResponse

from oncekit.local.clock import Clock
from oncekit.local.engine import views
from oncekit.local.engine.expression import iso
from oncekit.local.engine.history import check_is_standard, continued, record
from oncekit.local.engine.limits import MAX_BYTES
from oncekit.local.engine.repeats import Repeats
from oncekit.local.engine.runs import Run, ended, instant, watchers
from oncekit.local.engine.views import DEAD, description
from oncekit.local.patching import replaced
from oncekit.local.quotas import EXPRESS_SECONDS


class ExecutionNotRedrivable(AWSError):
    TYPE = "ExecutionNotRedrivable"


class StateMachineTypeNotSupported(AWSError):
    TYPE = "StateMachineTypeNotSupported"


def _check_input(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise InvalidExecutionInput(f"Invalid State Machine Execution Input: 'longer than {MAX_BYTES} bytes'")
    try:
        json.loads(text)
    except ValueError as error:
        raise InvalidExecutionInput(f"Invalid State Machine Execution Input: '{error}'") from error


def _same_or_new(machine: Any, name: str, text: str) -> Any:
    """The running execution that this start is the same as, None for a new one. Raises ExecutionAlreadyExists."""
    for execution in machine.executions:
        if execution.name == name:
            if execution.execution_input == text and execution.exec_status == ExecutionStatus.RUNNING:
                return execution
            raise ExecutionAlreadyExists(f"Execution Already Exists: '{execution.exec_arn}'")
    return None


def _begin(execution: Any, clock: Clock, after: Any = None) -> tuple[Run, Any]:
    """A new run with its own environment, not started yet; `after` is the environment of the previous run."""
    worker = execution.exec_worker
    program = worker._get_evaluation_entrypoint()
    env = worker._get_evaluation_environment()
    env.states.context_object.context_object_data["Execution"]["StartTime"] = iso(execution.start_date.timestamp())
    env.run = Run(execution, env, clock, _limit(execution, program))
    env.assigned, env.retries = {}, {}
    if after is not None:
        continued(after, env)
    worker.env = env
    return env.run, program


def _limit(execution: Any, program: Any) -> float | None:
    own = program.timeout_seconds.timeout_seconds if program.timeout_seconds else None
    if execution.sm_type != "EXPRESS":
        return own
    return EXPRESS_SECONDS if own is None else min(own, EXPRESS_SECONDS)


class ExecutionApi:
    """The calls that start, end and describe executions; `backend` and `response` are moto's."""

    def __init__(self, clock: Clock, repeats: Repeats) -> None:
        self._clock = clock
        self._repeats = repeats
        self._one_at_a_time = threading.RLock()

    @property
    def in_place_of_motos(self) -> tuple[tuple[Any, str, Any], ...]:
        return (
            (StepFunctionsParserBackend, "start_execution", _method(self.start_asynchronously)),
            (ExecutionWorker, "start", _method(self.start_worker)),
            (Execution, "stop", _method(self.stop)),
            (StepFunctionResponse, "describe_execution", _method(self.answer_describe)),
            (StepFunctionResponse, "list_executions", _method(self.answer_list)),
            (StepFunctionResponse, "stop_execution", _method(self.answer_stop)),
            (StepFunctionResponse, "redrive_execution", _method(self.answer_redrive)),
            (StepFunctionResponse, "start_sync_execution", _method(self.answer_start_sync)),
        )

    def note(self, execution: Any) -> None:
        """Each change of status, for outdated answers."""
        views.note(execution, self._clock.now(), description(execution))

    # ---- starts ----

    def start_asynchronously(
        self, backend: Any, arn: str, name: Any = None, text: Any = None, _trace: Any = None
    ) -> Any:
        execution = self._start(backend, arn, name, text)
        if execution.sm_type == "EXPRESS":
            self._run_again(execution)
        return execution

    def _start(self, backend: Any, arn: str, name: Any, text: str | None) -> Any:
        text = "{}" if text is None else text
        _check_input(text)
        if name:
            backend._validate_name(name)
        name = name or str(uuid.uuid4())
        self._clock.tick()
        with self._one_at_a_time:
            machine = backend.describe_state_machine(arn)
            if machine.type != "EXPRESS" and (same := _same_or_new(machine, name, text)) is not None:
                return same
            execution = self._made(backend, machine, name, text)
            execution.start()
        return execution

    def _made(self, backend: Any, machine: Any, name: str, text: str) -> Any:
        express = machine.type == "EXPRESS"
        kind, own = ("express", f":{uuid.uuid4()}") if express else ("execution", "")
        place = f"{backend.partition}:states:{backend.region_name}:{backend.account_id}"
        return Execution(
            name=name,
            sm_type="EXPRESS" if express else "STANDARD",
            role_arn=machine.roleArn,
            exec_arn=f"arn:{place}:{kind}:{machine.name}:{name}{own}",
            account_id=backend.account_id,
            region_name=backend.region_name,
            state_machine=copy.copy(machine),  # an update replaces the machine's definition, and changes nothing in it
            start_date=instant(self._clock),
            cloud_watch_logging_session=None,
            input_data=text,
            trace_header=None,
            activity_store={},
        )

    def _run_again(self, first: Any) -> None:
        """Runs it as often as `repeats` says, under the same ARN."""

        def run() -> None:
            repeated = copy.copy(first)
            repeated.start_date, repeated.told = instant(self._clock), []
            repeated.stop_date = repeated.error = repeated.cause = repeated.output = repeated.exec_worker = None
            repeated.start()

        def run_late() -> None:
            try:
                run()
            finally:
                self._clock.leave()

        for delay in self._repeats.delays(first.exec_arn, first.execution_input):
            if delay > 0:
                self._repeats.to_come(self._clock.at(self._clock.now() + delay, run_late))
            else:
                run()

    def start_worker(self, worker: Any) -> None:
        """Up to its first event at once, so that it can be stopped as soon as its machine lists it."""
        execution = worker._execution_communication.execution
        execution.exec_status = ExecutionStatus.RUNNING
        execution.redrive_count, execution.redrive_date = 0, None
        run, program = _begin(execution, self._clock)
        run.env.next_state_name = program.start_at.start_at_name
        details = {
            "input": execution.execution_input,
            "inputDetails": {"truncated": False},
            "roleArn": execution.role_arn,
        }
        record(run.env, HistoryEventType.ExecutionStarted, EventDetails(executionStartedEventDetails=details))  # type: ignore[typeddict-item]  # a plain dict
        run.env.event_history_context.source_event_id = 0  # as AWS: the first state follows no event
        run.begin()
        execution.state_machine.executions.append(execution)
        run.go(program)

    # ---- ends and redrives ----

    def stop(self, execution: Any, _stop_date: Any, error: str | None, cause: str | None) -> None:
        """The end comes first: what still runs must not take moto's sign to stop for the end of the last state."""
        env = execution.exec_worker.env
        given = {key: value for key, value in (("error", error), ("cause", cause)) if value is not None}
        if env.run.end(ExecutionStatus.ABORTED, given):
            env.set_stop(stop_date=None, cause=cause, error=error)

    def _redrive(self, execution: Any) -> None:
        with self._one_at_a_time:
            if execution.exec_status not in DEAD:
                raise ExecutionNotRedrivable(f"Execution is {execution.status} and cannot be redriven")
            before = execution.exec_worker.env
            checkpoint = before.run.checkpoint
            run, program = _begin(execution, self._clock, after=before)
            env = run.env
            execution.redrive_count += 1
            execution.redrive_date = instant(self._clock)
            context = env.states.context_object.context_object_data["Execution"]
            context |= {"RedriveCount": execution.redrive_count, "RedriveTime": iso(self._clock.now())}
            env.states._states_data["input"] = checkpoint.input
            env.variable_store._inner_scope.update(checkpoint.variables)
            env.next_state_name = checkpoint.state
            details = {"redriveCount": execution.redrive_count}
            record(env, HistoryEventType.ExecutionRedriven, EventDetails(executionRedrivenEventDetails=details))  # type: ignore[typeddict-unknown-key]  # newer than moto
            execution.stop_date = execution.error = execution.cause = None
            execution.exec_status = ExecutionStatus.RUNNING
            run.begin()
            run.go(program)

    # ---- answers ----

    def _standard(self, response: Any) -> Any:
        arn = response._get_param("executionArn")
        check_is_standard(arn)
        return response.stepfunction_backend.describe_execution(arn)

    def answer_describe(self, response: Any) -> Any:
        execution = self._standard(response)
        if (seen := views.seen(execution, self._clock.now())) is None:
            raise ExecutionDoesNotExist(f"Execution Does Not Exist: '{execution.exec_arn}'")
        # "Only metadata", says AWS's guide; that an execution's input and output are none is unconfirmed.
        left_out = ("input", "output") if response._get_param("includedData") == "METADATA_ONLY" else ()
        return ActionResult({name: value for name, value in seen.items() if name not in left_out})

    def answer_list(self, response: Any) -> Any:
        """One page, newest first: what runs by its start, what has ended by its end (API Reference)."""
        machine = response.stepfunction_backend.describe_state_machine(response._get_param("stateMachineArn"))
        wanted = response._get_param("statusFilter")
        found = [description(each) for each in machine.executions if wanted in (None, each.status)]
        found.sort(key=lambda each: each.get("stopDate") or each["startDate"], reverse=True)
        return ActionResult({"executions": found[: int(response._get_param("maxResults") or len(found))]})

    def answer_stop(self, response: Any) -> Any:
        execution = self._standard(response)
        execution.stop(None, response._get_param("error"), response._get_param("cause"))
        return ActionResult({"stopDate": execution.stop_date})

    def answer_redrive(self, response: Any) -> Any:
        execution = self._standard(response)
        self._redrive(execution)
        return ActionResult({"redriveDate": execution.redrive_date})

    def answer_start_sync(self, response: Any) -> Any:
        """Waits for the end, in real time as well when the clock's is virtual: nothing else can be done meanwhile."""
        arn = response._get_param("stateMachineArn")
        if response.stepfunction_backend.describe_state_machine(arn).type != "EXPRESS":
            raise StateMachineTypeNotSupported("This operation is not supported by this type of state machine")
        given = response._get_param("name"), response._get_param("input")
        execution = self._start(response.stepfunction_backend, arn, *given)
        with ended:
            ended.wait_for(lambda: execution.exec_status != ExecutionStatus.RUNNING, EXPRESS_SECONDS)
        return ActionResult(description(execution))


def _method(ours: Callable[..., Any]) -> Callable[..., Any]:
    """As a method of moto's class, whose object comes first; a bound method would not be given it."""

    @functools.wraps(ours)
    def method(motos: Any, *args: Any, **named: Any) -> Any:
        return ours(motos, *args, **named)

    return method


@contextmanager
def patch(clock: Clock, repeats: Repeats) -> Iterator[None]:
    api = ExecutionApi(clock, repeats)
    for name in ("moto.stepfunctions", "moto.stepfunctions.parser"):
        # moto logs every failure of a state as an error, also those that the state handles.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    watchers.append(api.note)
    try:
        with closing(repeats), replaced(*api.in_place_of_motos):
            yield
    finally:
        watchers.remove(api.note)
