"""The fast lane: both definitions over one record in memory, each call judged before it is answered.

The states are run by the model's `Machine`, with the local cloud's JSONata; conditions and updates by moto's own
evaluation. Retries are not waited for: an error that is told here is one that did not go away.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncekit.local.clock import VirtualClock
from oncekit.local.deploy import rendered_definitions
from oncekit.local.engine.jsonata import Evaluator
from oncekit.local.engine.limits import MAX_BYTES
from oncekit.local.engine.values import JSONataError
from oncekit.proof.fuzz.judge import Judge, Stack
from oncekit.proof.model.machine import NOW, At, End, Machine, Uncaught
from oncekit.proof.model.record import Record, Table, projected, table

ROOT = Path(__file__).parents[3]
LONGEST = 120
"""Calls of one execution: business logic is started a handful of times, with a handful of calls around each."""
DIED = "States.QueryEvaluationError"


@dataclass(frozen=True)
class Fault(Exception):
    """The error of a call."""

    name: str
    cause: str = ""


@dataclass
class Came:
    """The result of an execution."""

    arn: str
    end: str = ""
    """The state it ended in, or died in."""
    error: str | None = None
    cause: str = ""
    output: Any = None
    calls: list[str] = field(default_factory=list)
    """Positions of the calls that it made."""
    starts: int = 0
    died: bool = False
    """Of an error that the state does not catch."""

    def __str__(self) -> str:
        return f"{self.error or self.output} in {self.end} after {' '.join(self.calls[-6:])}"


Function = Callable[[dict[str, Any]], Any]
"""Business logic: the event to its reply, as JSON; raises Fault."""


class Services:
    """The table, the other executions and the queue, as one request meets them."""

    def __init__(self, stack: Stack, records: Table) -> None:
        self._stack, self._records = stack, records
        self.record: Record = None
        self.executions: dict[str, dict[str, Any]] = {}
        """By ARN: status and input, and the events of the history, the newest first."""
        self.refused: list[Any] = []
        self.started: list[dict[str, Any]] = []

    def clear(self) -> None:
        self.record = None
        self.executions.clear()
        self.refused.clear()
        self.started.clear()

    def answer(self, resource: str, arguments: dict[str, Any], function: Function | None) -> Any:
        """What a service answers. Raises Fault."""
        match resource:
            case "dynamodb:updateItem":
                return self._updated(arguments)
            case "dynamodb:getItem":
                return (
                    {} if self.record is None else json.loads(projected.__wrapped__(self.record, json.dumps(arguments)))
                )
            case "lambda:invoke" if arguments["FunctionName"] == self._stack.cache_function:
                return {"Payload": self._stack.reference(arguments["Payload"])}
            case "lambda:invoke":
                assert function is not None, "recovery starts no business logic"
                return {"Payload": function(arguments["Payload"])}
            case "sqs:sendMessage":
                self.refused.append(arguments["MessageBody"])
                return {}
            case "s3:putObject":
                return {}
            case "sfn:startExecution":
                self.started.append(arguments)
                return {"ExecutionArn": "started"}
        return self._told(resource, arguments["ExecutionArn"])

    def _updated(self, arguments: dict[str, Any]) -> Any:
        try:
            written = self._records.update(self.record, json.dumps(arguments))
        except Exception as error:
            raise Fault("DynamoDB.AmazonDynamoDBException", str(error)) from error
        if written is None:
            raise Fault("DynamoDB.ConditionalCheckFailedException", "The conditional request failed")
        self.record = written
        return {"Attributes": json.loads(written)}

    def _told(self, resource: str, arn: object) -> Any:
        """Of an execution; of another machine's the role may not ask."""
        if not isinstance(arn, str) or not self._stack.is_own(arn):
            raise Fault("Sfn.SfnException", "AccessDeniedException")
        if (found := self.executions.get(arn)) is None:
            raise Fault("Sfn.ExecutionDoesNotExistException", arn)
        match resource:
            case "sfn:describeExecution":
                return {
                    "ExecutionArn": arn,
                    "Name": found.get("name", arn.rpartition(":")[2]),
                    "Status": found["status"],
                    "Input": found["input"],
                }
            case "sfn:getExecutionHistory":
                return {"Events": found["events"]}
            case "sfn:redriveExecution":
                raise Fault("Sfn.ExecutionNotRedrivableException", arn)
        raise AssertionError(f"the fast lane does not know {resource}")


class Stage:
    """Runs executions and branches of recovery, and notes what a call touches that it must not."""

    def __init__(self, definitions: Mapping[str, Mapping[str, Any]], records: Table, stack: Stack) -> None:
        self.stack, self.services = stack, Services(stack, records)
        self._dice = random.Random(0)  # noqa: S311 no secret
        evaluator = Evaluator(VirtualClock(float(NOW)), self._dice)
        self.operation = Machine(definitions["operation"], evaluator)
        self.recover = Machine(definitions["recovery"]["States"]["RecoverRecords"]["ItemProcessor"], evaluator)
        self.look = Machine(definitions["recovery"]["States"]["LookAtDeadExecutions"]["ItemProcessor"], evaluator)
        self.touched: list[str] = []
        self._number = 0

    def begin(self) -> None:
        """Nothing is there, and nothing was touched."""
        self.services.clear()
        self.touched.clear()
        self._dice.seed(0)
        self._number = 0

    def run(self, text: str, judge: Judge, function: Function, stop_at: str | None = None) -> Came:
        """One execution with this input, to its end, or dead as it is about to make the call of `stop_at`."""
        self._number += 1
        came = Came(self.stack.execution(f"e{self._number}"))
        known = self.services.executions[came.arn] = {"status": "RUNNING", "input": text, "events": []}
        self._walk(self.operation, f"{came.arn} e{self._number}", text, judge, came, function, stop_at)
        known["status"] = "FAILED" if came.error else "SUCCEEDED"
        known["events"] = _history(came)
        return came

    def branch(self, machine: Machine, given: Any, judge: Judge, variables: Mapping[str, Any]) -> Came:
        """One item of a Map of the recovery machine."""
        came = Came("recovery")
        self._walk(machine, "recovery r", json.dumps(given), judge, came, None, None, variables)
        return came

    def _walk(
        self,
        machine: Machine,
        me: str,
        text: str,
        judge: Judge,
        came: Came,
        function: Function | None,
        stop_at: str | None,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        step: At | End | None = None
        try:
            step = machine.enter(me, text, variables)
            while isinstance(step, At):
                came.end = step.position
                came.calls.append(step.position)
                if step.position == stop_at:
                    came.error, came.died = "Aborted", True
                    return
                if len(came.calls) > LONGEST:
                    came.error, came.died = f"no end after {LONGEST} calls", True
                    return
                step = self._call(machine, step, me, text, judge, came, function)
        except JSONataError as error:
            came.error, came.cause, came.died = DIED, str(error), True
        except Uncaught as error:
            came.error, came.died = str(error).partition(": ")[2], True
        if isinstance(step, End):
            came.end, came.error, came.output, came.cause = step.state, step.error, step.output, step.cause

    def _call(
        self, machine: Machine, at: At, me: str, text: str, judge: Judge, came: Came, function: Function | None
    ) -> At | End:
        resource = machine.resource(at.position)
        try:
            asked = machine.call(at.position, at.variables, me, text)
            arguments = json.loads(asked)
            self.touched += [f"{at.position} {what}" for what in judge.of(resource, arguments)]
            _carried(arguments)
            came.starts += resource == "lambda:invoke" and arguments["FunctionName"] != self.stack.cache_function
            answer = self.services.answer(resource, arguments, function)
            _carried(answer)
        except JSONataError as error:  # of the arguments: an error that the state itself may catch
            return machine.fail(at.position, at.variables, me, text, DIED, str(error))
        except Fault as fault:
            return machine.fail(at.position, at.variables, me, text, fault.name, fault.cause)
        return machine.succeed(at.position, at.variables, me, text, json.dumps(answer))


def _carried(value: Any) -> None:
    """What Step Functions does with arguments and results that it does not carry. Raises Fault."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) * 4 > MAX_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Fault("States.DataLimitExceeded")


def _history(came: Came) -> list[dict[str, Any]]:
    """The newest first, of what recovery looks at."""
    entered: list[dict[str, Any]] = [
        {"Type": "StateEntered", "StateEnteredEventDetails": {"Name": name}} for name in came.calls
    ]
    if "Finalize" in came.calls or "IsResponseLarge" in came.calls:
        entered.insert(-1, {"Type": "TaskSucceeded", "TaskSucceededEventDetails": {"ResourceType": "lambda"}})
    events: list[dict[str, Any]] = [*entered, {"Type": "ExecutionFailed" if came.error else "ExecutionSucceeded"}]
    return [{"Id": number, **event} for number, event in enumerate(events, 1)][::-1]


@contextmanager
def stage(template: Path = ROOT / "template.yaml") -> Iterator[Stage]:
    """The fast lane of a template."""
    definitions = rendered_definitions(template)
    stack = Stack.of(definitions)
    with table(stack.table) as records:
        yield Stage(definitions, records, stack)
