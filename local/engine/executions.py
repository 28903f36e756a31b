"""Executions as Step Functions keeps them: starts, stops, redrives and histories; and atomic writes of DynamoDB.

StartExecution with the name and input of a running execution answers with that one, any other use of a name is refused;
an input has at most 256 KiB; a redrive goes on from the state that failed, under the same ARN; GetExecutionHistory
pages and reverses.
"""

from __future__ import annotations

import copy
import functools
import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult
from moto.dynamodb.responses import DynamoHandler
from moto.stepfunctions.parser.api import ExecutionStatus, HistoryEventType
from moto.stepfunctions.parser.asl.component.program.program import Program
from moto.stepfunctions.parser.asl.component.state.state import CommonStateField
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.program_state import ProgramRunning
from moto.stepfunctions.parser.asl.parse import asl_parser
from moto.stepfunctions.parser.backend.execution import Execution
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
from moto.stepfunctions.parser.models import StepFunctionsParserBackend
from moto.stepfunctions.responses import StepFunctionResponse

from local.clock import Clock
from local.engine.door import Abandoned
from local.engine.patching import replaced
from local.engine.timing import stopped

MAX_INPUT_BYTES = 262_144
HISTORY_PAGE = 100


class Ended:
    """Lets a thread wait for the end of an execution without polling."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.callbacks: list[Callable[[Any], None]] = []

    def tell(self, execution: Any) -> None:
        with self._changed:
            self._changed.notify_all()
        for callback in self.callbacks:
            callback(execution)

    def wait(self, done: Callable[[], bool], timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(done, timeout)


ended = Ended()


class NotRedrivable(JsonRESTError):
    code = 400

    def __init__(self, arn: str, status: str) -> None:
        super().__init__("ExecutionNotRedrivable", f"Execution {arn} is {status} and cannot be redriven")


class InvalidInput(JsonRESTError):
    code = 400

    def __init__(self, size: int) -> None:
        super().__init__(
            "ValidationException",
            f"Value of {size} bytes at 'input' failed to satisfy constraint: at most {MAX_INPUT_BYTES}",
        )


@contextmanager
def _atomic_dynamodb() -> Iterator[None]:
    lock = threading.RLock()
    call_action = DynamoHandler.call_action

    def one_at_a_time(self: Any) -> Any:
        with lock:
            return call_action(self)

    with replaced((DynamoHandler, "call_action", one_at_a_time)):
        yield


def redrive(execution: Any) -> None:
    """Start a dead execution again, at the state it died in, with its variables and input."""
    if execution.exec_status not in (ExecutionStatus.FAILED, ExecutionStatus.ABORTED, ExecutionStatus.TIMED_OUT):
        raise NotRedrivable(execution.exec_arn, execution.status)
    execution.exec_status = ExecutionStatus.RUNNING
    execution.stop_date = execution.error = execution.cause = None
    execution.exec_worker.redrive()


@contextmanager
def mend(clock: Clock) -> Iterator[None]:
    start_lock = threading.RLock()
    parse = functools.lru_cache(maxsize=16)(asl_parser.AmazonStateLanguageParser.parse)
    begin = StepFunctionsParserBackend.start_execution
    stop = Execution.stop
    logic = ExecutionWorker._execution_logic
    eval_state = CommonStateField._eval_body

    def start_execution(self: Any, arn: str, name: Any = None, execution_input: Any = None, trace: Any = None) -> Any:
        size = len((execution_input or "").encode())
        if size > MAX_INPUT_BYTES:
            raise InvalidInput(size)
        with start_lock:
            return begin(self, arn, name or str(uuid.uuid4()), execution_input, trace)

    def start(self: Any) -> None:
        clock.enter()
        thread = threading.Thread(target=self._execution_logic, daemon=True)
        thread.start()

    def execution_logic(self: Any) -> None:
        try:
            logic(self)
        finally:
            clock.leave()
            ended.tell(self._execution_communication.execution)

    def worker_redrive(self: Any) -> None:
        env, checkpoint = self.env, self.env.checkpoint

        def again() -> None:
            try:
                env.event_manager.add_event(
                    context=env.event_history_context,
                    event_type=HistoryEventType.ExecutionRedriven,
                    event_details=EventDetails(),
                )
                env._program_state = ProgramRunning()
                stopped(env).clear()
                env._frames.clear()
                env.stack.clear()
                env.heap.clear()
                env.states.reset(checkpoint["input"])
                env.variable_store._inner_scope.clear()
                env.variable_store._inner_scope.update(checkpoint["variables"])
                env.next_state_name = checkpoint["state"]
                program = self._get_evaluation_entrypoint()
                run_states(program, env)
                self._execution_communication.terminated()
            finally:
                clock.leave()
                ended.tell(self._execution_communication.execution)

        clock.enter()
        threading.Thread(target=again, daemon=True).start()

    def eval_body(self: Any, env: Any) -> None:
        """A redrive begins where the last state began."""
        if not env.is_frame():
            env.checkpoint = {
                "state": self.name,
                "input": env.states.get_input(),
                "variables": dict(env.variable_store._inner_scope),
            }
        eval_state(self, env)

    def run_program(self: Any, env: Any) -> None:
        """In the thread that is there already; the day that an execution may last is not waited for here."""
        env.next_state_name = self.start_at.start_at_name
        run_states(self, env)

    def run_states(program: Any, env: Any) -> None:
        try:
            program._eval_body(env)
        except Abandoned:
            program._eval_body(env)  # no state runs any more; this writes the end into the history

    def stop_robustly(self: Any, stop_date: Any, error: Any, cause: Any) -> None:
        """Right after the start there is no environment yet: wait for it, it comes within milliseconds."""
        for _ in range(2000):
            if self.exec_worker.env is not None and self.exec_worker.env._program_state is not None:
                break
            threading.Event().wait(0.001)
        stop(self, stop_date, error, cause)

    def history(self: Any) -> Any:
        arn = self._get_param("executionArn")
        execution = self.stepfunction_backend.describe_execution(arn)
        events = sorted(execution.to_history_output()["events"], key=lambda e: e["id"])
        if self._get_param("reverseOrder") in (True, "true"):
            events.reverse()
        first = int(self._get_param("nextToken") or 0)
        size = int(self._get_param("maxResults") or 0) or HISTORY_PAGE
        page = [_without_data(e) for e in events] if self._get_param("includeExecutionData") is False else events
        answer = {"events": page[first : first + size]}
        if first + size < len(events):
            answer["nextToken"] = str(first + size)  # type: ignore[assignment]  # one dict, two kinds of value
        return ActionResult(answer)

    def stop_execution(self: Any) -> Any:
        arn = self._get_param("executionArn")
        execution = self.stepfunction_backend.describe_execution(arn)
        execution.stop(None, self._get_param("error"), self._get_param("cause"))
        execution.error, execution.cause = self._get_param("error"), self._get_param("cause")
        return ActionResult({"stopDate": clock.now()})

    def redrive_execution(self: Any) -> Any:
        redrive(self.stepfunction_backend.describe_execution(self._get_param("executionArn")))
        return ActionResult({"redriveDate": clock.now()})

    levels = {name: logging.getLogger(name).level for name in ("moto.stepfunctions", "moto.stepfunctions.parser")}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with (
            _atomic_dynamodb(),
            replaced(
                (asl_parser.AmazonStateLanguageParser, "parse", staticmethod(parse)),
                (StepFunctionsParserBackend, "start_execution", start_execution),
                (ExecutionWorker, "start", start),
                (ExecutionWorker, "_execution_logic", execution_logic),
                (ExecutionWorker, "redrive", worker_redrive),
                (CommonStateField, "_eval_body", eval_body),
                (Program, "eval", run_program),
                (Execution, "stop", stop_robustly),
                (StepFunctionResponse, "get_execution_history", history),
                (StepFunctionResponse, "stop_execution", stop_execution),
                (StepFunctionResponse, "redrive_execution", redrive_execution),
            ),
        ):
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _without_data(event: dict[str, Any]) -> dict[str, Any]:
    """An event without inputs, outputs, results and causes."""
    plain = copy.copy(event)
    for key, details in event.items():
        if key.endswith("Details") and isinstance(details, dict):
            plain[key] = {k: v for k, v in details.items() if k not in ("input", "output", "parameters", "cause")}
    return json.loads(json.dumps(plain, default=str))  # type: ignore[no-any-return]  # a copy of the same shape
