"""The API of Step Functions: for boto3 clients in this process, and at the endpoint for all others."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from oncekit.contract.quotas import EXPRESS_SECONDS
from oncekit.local.client_errors import client_error
from oncekit.local.endpoint.own_services import Answer as Served
from oncekit.local.endpoint.own_services import Proceed, Request
from oncekit.local.engine import views
from oncekit.local.engine.executions import Executions
from oncekit.local.engine.live import RUNNING, LiveExecution, StateMachine
from oncekit.local.engine.runs import ended

Given = Mapping[str, Any]
Answer = dict[str, Any]


class StepFunctions:
    """Answers the calls that users of this cloud make; any other is refused by name."""

    def __init__(self, executions: Executions, now: Callable[[], float]) -> None:
        self._executions = executions
        self._now = now
        self._answers: dict[str, Callable[[Given], Answer]] = {
            "CreateStateMachine": self._create,
            "UpdateStateMachine": self._update,
            "DeleteStateMachine": self._delete,
            "DescribeStateMachine": self._describe_machine,
            "DescribeStateMachineAlias": self._describe_alias,
            "StartExecution": self._start,
            "StartSyncExecution": self._start_sync,
            "StopExecution": self._stop,
            "RedriveExecution": self._redrive,
            "DescribeExecution": self._describe,
            "ListExecutions": self._list,
            "GetExecutionHistory": self._history,
        }

    @property
    def machines(self) -> Sequence[StateMachine]:
        return self._executions.all_machines

    def answer(self, operation: str, given: Given) -> Answer:
        """Raises ClientError."""
        if operation not in self._answers:
            told = f"the local cloud has no {operation} of Step Functions"
            raise client_error("UnknownOperationException", told, operation)
        try:
            return self._answers[operation](given)
        except KeyError as error:
            raise client_error("ValidationException", f"{operation} needs {error}", operation) from error

    def served(self, request: Request, _proceed: Proceed) -> Served:
        """The answer to a signed request, in this process or at the endpoint. Raises ClientError."""
        answer = self.answer(request.target, request.asked.parameters)
        told = json.dumps(answer, default=datetime.datetime.timestamp)
        return 200, {"Content-Type": "application/x-amz-json-1.0"}, told.encode()

    # ---- machines ----

    def _create(self, given: Given) -> Answer:
        kind = given.get("type") or "STANDARD"
        machine = self._executions.create(given["name"], given["definition"], given["roleArn"], kind)
        return {"stateMachineArn": machine.arn, "creationDate": machine.created}

    def _update(self, given: Given) -> Answer:
        self._executions.update(given["stateMachineArn"], given.get("definition"), given.get("roleArn"))
        return {"updateDate": datetime.datetime.fromtimestamp(self._now(), datetime.UTC)}

    def _delete(self, given: Given) -> Answer:
        self._executions.delete(given["stateMachineArn"])
        return {}

    def _describe_machine(self, given: Given) -> Answer:
        machine = self._executions.machine(given["stateMachineArn"])
        return {
            "stateMachineArn": machine.arn,
            "name": machine.name,
            "status": "ACTIVE",
            "definition": machine.definition,
            "roleArn": machine.role_arn,
            "type": machine.type,
            "creationDate": machine.created,
        }

    def _describe_alias(self, given: Given) -> Answer:
        arn = given["stateMachineAliasArn"]
        machine = self._executions.machine(arn)
        return {
            "stateMachineAliasArn": arn,
            "name": arn.rpartition(":")[2],
            "routingConfiguration": [{"stateMachineVersionArn": f"{machine.arn}:1", "weight": 100}],
        }

    # ---- executions ----

    def _start(self, given: Given) -> Answer:
        execution = self._executions.start(given["stateMachineArn"], given.get("name"), given.get("input"))
        return {"executionArn": execution.arn, "startDate": execution.start_date}

    def _start_sync(self, given: Given) -> Answer:
        """Waits for the end, in real time as well when the clock's is virtual: nothing else can be done meanwhile."""
        arn = given["stateMachineArn"]
        if self._executions.machine(arn).type != "EXPRESS":
            raise _not_of_this_type("StartSyncExecution")
        execution = self._executions.start(arn, given.get("name"), given.get("input"), is_alone=True)
        with ended:
            ended.wait_for(lambda: execution.status != RUNNING, EXPRESS_SECONDS)
        return views.description(execution)

    def _standard(self, given: Given) -> LiveExecution:
        arn = given["executionArn"]
        if arn.split(":")[5:6] == ["express"]:  # known by its own ARN only to whoever reads its log
            told = "Invalid Arn: 'Resource type not valid in this context: express'"
            raise client_error("InvalidArn", told, "StepFunctions")
        execution = self._executions.find(arn)
        if execution is None:
            raise _does_not_exist(arn)
        return execution

    def _stop(self, given: Given) -> Answer:
        execution = self._standard(given)
        execution.stop(given.get("error"), given.get("cause"))
        return {"stopDate": execution.stop_date}

    def _redrive(self, given: Given) -> Answer:
        execution = self._standard(given)
        self._executions.redrive(execution)
        return {"redriveDate": execution.redrive_date}

    def _describe(self, given: Given) -> Answer:
        execution = self._standard(given)
        if (seen := views.seen(execution, self._now())) is None:
            raise _does_not_exist(execution.arn)
        # "Only metadata", says AWS's guide; that an execution's input and output are none is unconfirmed.
        left_out = ("input", "output") if given.get("includedData") == "METADATA_ONLY" else ()
        return {name: value for name, value in seen.items() if name not in left_out}

    def _list(self, given: Given) -> Answer:
        """Newest first: what runs by its start or redrive, what has ended by its end (API Reference)."""
        machine = self._executions.machine(given["stateMachineArn"])
        if machine.type == "EXPRESS":
            raise _not_of_this_type("ListExecutions")
        wanted = given.get("statusFilter")
        found = [views.description(each) for each in machine.executions if wanted in (None, each.status)]
        found.sort(key=lambda each: each.get("stopDate") or each.get("redriveDate") or each["startDate"], reverse=True)
        return _page("executions", found, given)

    def _history(self, given: Given) -> Answer:
        events = list(self._standard(given).run.history.events)
        instant = datetime.datetime.fromisoformat
        return _page("events", [{**each, "timestamp": instant(each["timestamp"])} for each in events], given)


def _page(name: str, found: list[dict[str, Any]], given: Given) -> Answer:
    """100 of them, or as many as were asked for, from the token on."""
    start = int(given.get("nextToken") or 0)
    end = start + int(given.get("maxResults") or 100)
    more = {"nextToken": str(end)} if end < len(found) else {}
    return {name: found[start:end], **more}


def _not_of_this_type(operation: str) -> ClientError:
    told = "This operation is not supported by this type of state machine"
    return client_error("StateMachineTypeNotSupported", told, operation)


def _does_not_exist(arn: str) -> ClientError:
    return client_error("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'", "StepFunctions")
