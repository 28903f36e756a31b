"""The local cloud with Once's template: starts requests, and shows invocations of operations, and records.

The cloud beneath it, `cloud.py`, runs any template. All that it has of Once is the name of its stack, what its messages
advise: commands of `once`, and what is in `once_inside.py`. What is Once's in an application is found here, see `once`.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from operator import methodcaller
from pathlib import Path
from typing import Any

from oncekit.contract.items import plain_item
from oncekit.contract.lanes import FULL, MACHINES, Lane
from oncekit.contract.objects import keys_below
from oncekit.contract.operation_functions import LIVE, OperationFunctions
from oncekit.contract.own_stack import own_stack
from oncekit.local.clock import VirtualClock
from oncekit.local.cloud import Cloud, LocalCloudError, NotLoadedError
from oncekit.local.deployment.moto_resources import items_of, items_with
from oncekit.local.deployment.resources import STACK
from oncekit.local.deployment.stack import NOTHING, Application
from oncekit.local.execution import Execution, Invocation, as_text
from oncekit.local.lambda_runtime import FunctionSpec
from oncekit.local.lambda_runtime.languages import runtime_in

OPEN = "openShard"
"""The attribute of a record that is open: it is what puts it into the index that a sweep reads."""
PENDING = "pendingSince"
"""The attribute of a record whose work goes on elsewhere."""
PREFIX = f"{STACK}_op-"
"""Before an operation in the name of a function that `add_function` makes, as of the examples'."""


__tracebackhide__ = methodcaller("errisinstance", LocalCloudError)
"""What pytest shows of it: its sentence, and the user's line."""


class LocalCloud(Cloud):
    """The cloud that people use: starts requests, and shows what business logic did and what the records contain."""

    @property
    def once(self) -> Application:
        """Once itself: the template, or the application in it that is Once's; without anything where there is none."""
        return own_stack(self.application) or NOTHING

    def add_function(
        self,
        operation: str,
        code: Path,
        *,
        timeout: float | None = None,
        environment: Mapping[str, str] | None = None,
        role: str | None = None,
    ) -> None:
        """Deploy the business function of an operation that is not in the template, until the next `reset`.

        Its handler is `app.handler`, in Python, or in Node.js where the folder has that, or its `bootstrap`.
        The operation itself stays in the parameter Operations.
        It gets what the template gives each of its operations: the layer, and the timeout unless another is given.
        It may do everything unless `role` is given, the logical id of a role of the template.
        """
        if not isinstance(code, Path) or not code.is_dir():
            raise LocalCloudError(f"operation {operation}: {str(code)!r} is no pathlib.Path of a folder")
        if role is not None and self.permissions.arn_of(role) is None:
            raise LocalCloudError(f"operation {operation}: the template has no role {role}")
        path = {folder for spec in self.deployed.functions.values() for folder in spec.python_path}
        spec = FunctionSpec(
            code=code.resolve(),
            handler="app.handler",
            runtime=runtime_in(code),
            timeout=timeout or float(self.once.parameters.get("BusinessTimeoutSeconds", 30)),
            environment={
                "POWERTOOLS_SERVICE_NAME": operation,
                "POWERTOOLS_METRICS_NAMESPACE": "Once",
                "ONCE_STACK": STACK,
                **(environment or {}),
            },
            memory=512,
            python_path=tuple(sorted(path)),
            role=None if role is None else self.permissions.arn_of(role),
        )
        found = self.operations.function_of(operation)
        if found is None and self.once is not self.application:
            raise LocalCloudError(
                f"operation {operation}: Once is inside of the template: name the function there, as "
                f"`once new {operation} --function LOGICAL_ID` does"
            )
        self.register_function(found.name if found else PREFIX + operation, spec)
        if found is None:
            named = filter(None, (self.once.parameters.get("Operations"), f"{operation}={PREFIX}{operation}:{LIVE}"))
            self.redeploy({**self._parameters, "Operations": ",".join(named)})

    def _quiet_until(self, target: str) -> float:
        """A sweep looks for open records, and for nothing else: without one, all sweeps find the same until then.

        Of what is pending they find nothing either before its time is up; it may be months.
        """
        own = self.once.outputs
        if target != own.get("RecoveryStateMachineArn") or not isinstance(self.clock, VirtualClock):
            return super()._quiet_until(target)
        found = items_with(own["TableName"], OPEN)
        return min([self.clock.quiet_until(), *(_lease_of(item) if PENDING in item else 0.0 for item in found)])

    @property
    def operations(self) -> OperationFunctions:
        """Which function each operation has."""
        return OperationFunctions.of(self.once.outputs)

    # ---- requests ----

    def start(self, request: Any, name: str | None = None, lane: Lane = FULL) -> str:
        """Start an execution with `request` as input and return its ARN. A string of JSON is the input itself.

        Raises botocore's ClientError as StartExecution does, and LocalCloudError where the operation's function does
        not run here, or cannot be loaded.
        """
        self.check_that_it_runs(request)
        machine = self.once.outputs[MACHINES[lane]]
        return self.start_machine(machine, as_text(request), name or str(uuid.uuid4()))

    def check_that_it_runs(self, request: Any) -> None:
        """Else the state machine would say that there is no function, and ask for one to be deployed; or it would try
        again, as it should on AWS, what nobody repairs in virtual time.
        """
        with suppress(ValueError):
            given = json.loads(as_text(request))
            operation = given.get("operation") if isinstance(given, dict) else None
            if isinstance(operation, str) and (reason := self.why_not_started(operation)):
                raise reason

    def why_not_started(self, operation: str) -> LocalCloudError | None:
        """Why the function of an operation is not run here, or cannot be loaded; it is loaded now."""
        if (named := self.operations.function_of(operation)) is None:
            return None
        named_here = {**self.resources, **self.deployed.unread_refs}
        function = next((name for name, ref in named_here.items() if ref == named.name), named.name)
        where = f"{_line_of(self._path, function)}operation {operation}: its function {function}"
        if reason := self._why_not(named.name):
            return LocalCloudError(f"{where} is not run here: {reason}")
        with self.clock.held():  # what runs already does not get ahead meanwhile
            reason = (self.functions.why_not_loaded(named.name) or "").removesuffix(".")
        return NotLoadedError(f"{reason}. {where} cannot be loaded, so it is not started.") if reason else None

    def _why_not(self, function: str) -> str | None:
        spec = self.deployed.functions.get(function)
        if spec is not None and spec.concurrency == 0:  # the full lane would try for three days
            return "with ReservedConcurrentExecutions: 0 nothing starts it, nor does anything on AWS"
        return self.functions.in_name_only.get(function)

    def run(self, request: Any, name: str | None = None, timeout: float = 60, lane: Lane = FULL) -> Execution:
        """Start an execution and wait for its end."""
        return self.wait(self.start(request, name, lane), timeout)

    def run_all(self, requests: Iterable[Any]) -> list[Execution]:
        """Start one execution for each request, all at once, and wait for all; in the order of the requests."""
        with self.clock.held():
            arns = [self.start(request) for request in requests]
        return [self.wait(arn) for arn in arns]

    # ---- what they did ----

    def invocations(self, operation: str | None = None) -> list[Invocation]:
        """The starts of business logic, oldest first: of one operation, or of all.

        What could not be loaded did not start.
        """
        operations = self.operations
        return [
            Invocation(each.request_id, operation or found[0], each.event, each.started_at, each.ended_at, each.outcome)
            for each in self.functions.invocations
            if each.is_started
            and (found := operations.operations_of(each.function, each.event))
            and operation in (None, *found)
        ]

    def logs(self, operation: str) -> list[str]:
        """The last lines that the function of an operation printed."""
        found = self.operations.function_of(operation)
        return [] if found is None else self.functions.logs(found.name)

    def record(self, id: str) -> dict[str, Any] | None:
        """The record of an id as plain Python values, or None."""
        answer = self.client("dynamodb").get_item(
            TableName=self.once.outputs["TableName"], Key={"id": {"S": id}}, ConsistentRead=True
        )
        return plain_item(answer["Item"]) if "Item" in answer else None

    def records(self) -> list[dict[str, Any]]:
        """All of them."""
        return [plain_item(item) for item in self.record_items()]

    def record_items(self) -> list[dict[str, Any]]:
        """The records as the API gives items."""
        return items_of(self.once.outputs["TableName"])

    def rejected(self) -> list[dict[str, Any]]:
        """The refused requests that are kept, each with its reason, oldest first."""
        bucket, store = self.once.outputs["ResponseBucketName"], self.client("s3")
        keys = keys_below(store, bucket, "rejected/")
        return [json.loads(store.get_object(Bucket=bucket, Key=key)["Body"].read()) for key in keys]


def _line_of(template: Path, logical_id: str) -> str:
    """`template.yaml:7: `; empty for what is in an application inside of it."""
    found = re.search(rf"^ +[\"']?{logical_id}[\"']?:", template.read_text(), re.MULTILINE)
    return f"{template.name}:{template.read_text()[: found.start()].count(chr(10)) + 1}: " if found else ""


def _lease_of(record: Mapping[str, Any]) -> float:
    return float(record.get("leaseExpiresAt", {}).get("N", 0))
