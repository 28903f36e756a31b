"""The local cloud: runs template.yaml as it stands, in one process, on loopback only."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from local.clock import Clock, VirtualClock
from local.engine import Door, Interceptor, install
from local.execution import Execution
from local.lambda_runtime import FunctionSpec, Invocation, LambdaRuntime
from local.template import REGION, Stack

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}


class LocalCloud:
    """One local cloud; use it as a context manager.

    `parameters` are the template's; `clock` is virtual unless a RealClock is given; `port` 0 takes any free one.
    Raises TemplateError (with the reason) when the template cannot be deployed.
    """

    def __init__(
        self,
        template: Path = Path("template.yaml"),
        *,
        parameters: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        port: int = 0,
    ) -> None:
        self._template = template
        self._parameters = dict(parameters or {})
        self._port = port
        self.clock: Any = clock or VirtualClock()
        self._closing = ExitStack()
        self._added: set[str] = set()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            self.stack = Stack.load(self._template, self._parameters)
            self._open(opening)
            self._closing = opening.pop_all()
        return self

    def _open(self, opening: ExitStack) -> None:
        from moto import mock_aws
        from moto.server import ThreadedMotoServer

        from local.deploy import Deployment

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        opening.enter_context(_only_local())
        opening.enter_context(
            mock_aws(config={"stepfunctions": {"execute_state_machine": True}, "core": {"reset_boto3_session": False}})
        )
        server = ThreadedMotoServer("127.0.0.1", self._port, verbose=False)
        server.start()
        opening.callback(server.stop)
        host, port = server.get_host_and_port()
        self.endpoint_url = f"http://{host}:{port}"
        self.functions = LambdaRuntime(self.environment)
        opening.callback(self.functions.close)
        self.door = Door(self.functions)
        opening.enter_context(install(self.clock, self.door))
        self._deployment = Deployment(self.door, self.functions)
        self._deployment.deploy(self.stack)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.close()

    @property
    def environment(self) -> dict[str, str]:
        """What a client elsewhere needs in its environment to talk to this cloud."""
        return {"AWS_ENDPOINT_URL": self.endpoint_url, **CREDENTIALS}

    @property
    def outputs(self) -> dict[str, str]:
        return self.stack.outputs

    @property
    def resources(self) -> dict[str, str]:
        """Logical id to physical id, as CloudFormation's Ref gives it."""
        return {logical: self.stack.physical_id(logical) for logical in self.stack.resources}

    def redeploy(self) -> None:
        """Deploy the template, definitions and code again; tables, buckets and queues stay."""
        self.stack = Stack.load(self._template, self._parameters)
        self._deployment.deploy(self.stack)

    def client(self, service: str) -> Any:
        """A boto3 client on this cloud, in process."""
        return self.door.direct(service)

    def add_function(
        self,
        operation: str,
        code: Path,
        *,
        timeout: float | None = None,
        concurrency: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """A business function that is not in the template, as an existing one in the account would be."""
        name = f"{self.outputs['FunctionPrefix']}-{operation}"
        seconds = timeout or float(self.stack.parameters["BusinessTimeoutSeconds"])
        self.functions.register(name, FunctionSpec(code, "app.handler", seconds, environment or {}, concurrency=concurrency))
        self._added.add(name)

    def start(self, request: Any, name: str | None = None) -> str:
        """StartExecution with a request, as a JSON value or as its text; the execution's ARN."""
        text = request if isinstance(request, str) and _is_json(request) else json.dumps(request)
        named = {"name": name} if name else {}
        answer = self.client("stepfunctions").start_execution(
            stateMachineArn=self.outputs["StateMachineArn"], input=text, **named
        )
        return str(answer["executionArn"])

    def wait(self, arn: str, timeout: float = 60) -> Execution:
        """Wait for the end of an execution. Raises TimeoutError after `timeout` real seconds, naming the state."""
        from local.engine.executions import ended

        target = self._execution(arn)
        if not ended.wait(lambda: target.status != "RUNNING", timeout):
            execution = self.describe(arn)
            raise TimeoutError(f"{arn} still runs after {timeout} s, in {execution.states[-1:]}")
        return self.describe(arn)

    def describe(self, arn: str) -> Execution:
        """The execution as it is now."""
        from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

        target = self._execution(arn)
        described = dict(target.to_describe_output())
        described["status"], described["input"] = target.status, target.execution_input
        if target.status == "SUCCEEDED":
            described["output"] = to_json_str(target.output)
        events = sorted(target.to_history_output()["events"], key=lambda event: event["id"])
        return Execution.of(described, events)

    def _execution(self, arn: str) -> Any:
        from moto.stepfunctions.parser.models import stepfunctions_parser_backends

        return stepfunctions_parser_backends[arn.split(":")[4]][REGION].describe_execution(arn)

    def run(self, request: Any, name: str | None = None) -> Execution:
        return self.wait(self.start(request, name))

    def run_all(self, requests: Iterable[Any]) -> list[Execution]:
        """Start all, then wait for all."""
        return [self.wait(arn) for arn in [self.start(request) for request in requests]]

    def stop(self, arn: str, error: str = "Aborted", cause: str = "stopped by hand") -> Execution:
        """StopExecution; its function, if one runs, goes on as on AWS."""
        self.client("stepfunctions").stop_execution(executionArn=arn, error=error, cause=cause)
        return self.wait(arn)

    def invocations(self, operation: str) -> list[Invocation]:
        """The starts of an operation's business logic."""
        name = f"{self.outputs['FunctionPrefix']}-{operation}"
        return [i for i in self.functions.invocations if i.function == name]

    def record(self, id: str) -> dict[str, Any] | None:
        """The record of an id with plain Python values, None when there is none."""
        answer = self.client("dynamodb").get_item(
            TableName=self.outputs["TableName"], Key={"id": {"S": id}}, ConsistentRead=True
        )
        return {name: _plain(value) for name, value in answer["Item"].items()} if "Item" in answer else None

    def rejected(self) -> list[dict[str, Any]]:
        """The bodies in the rejected-requests queue; they stay there."""
        from moto.sqs.models import sqs_backends

        url = self.outputs["RejectedQueueUrl"]
        queue = sqs_backends[url.split("/")[-2]][REGION].queues[url.rsplit("/", 1)[-1]]
        return [json.loads(message.body) for message in queue._messages]

    def intercept(self, *interceptors: Interceptor) -> AbstractContextManager[None]:
        """Put interceptors at the service door while the context is open."""
        return self.door.intercept(*interceptors)

    def reset(self) -> None:
        """Empty tables, bucket and queues, end executions, forget invocations; cheap, for between tests."""
        from moto.stepfunctions.parser.models import stepfunctions_parser_backends

        self.door.reset()
        backend = stepfunctions_parser_backends[REGION and "123456789012"][REGION]
        for machine in backend.state_machines:
            for execution in list(machine.executions):
                if execution.status == "RUNNING":
                    execution.stop(None, "Reset", "the local cloud was reset")
            machine.executions.clear()
        self.functions.reset()
        for name in self._added:
            self.functions.unregister(name)
        self._added.clear()
        self._empty(self.stack.resources)

    def _empty(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        from moto.dynamodb.models import dynamodb_backends
        from moto.s3.models import s3_backends
        from moto.sqs.models import sqs_backends

        account = "123456789012"
        for logical, resource in resources.items():
            physical = self.stack.physical_id(logical)
            if resource["Type"] == "AWS::DynamoDB::Table":
                dynamodb_backends[account][REGION].tables[physical].items.clear()
            elif resource["Type"] == "AWS::S3::Bucket":
                s3_backends[account]["aws"].buckets[physical].keys.clear()
            elif resource["Type"] == "AWS::SQS::Queue":
                sqs_backends[account][REGION].queues[physical.rsplit("/", 1)[-1]]._messages.clear()


@contextmanager
def _only_local() -> Iterator[None]:
    """Credentials that are nobody's, and no endpoint or profile of the user's."""
    cleared = ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN")
    before = {name: os.environ.get(name) for name in (*CREDENTIALS, *cleared)}
    os.environ.update(CREDENTIALS)
    for name in cleared:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _plain(value: Mapping[str, Any]) -> Any:
    """A DynamoDB value as a Python value; whole numbers as int."""
    [(kind, content)] = value.items()
    if kind == "N":
        return int(content) if content.lstrip("-").isdigit() else float(content)
    if kind == "M":
        return {name: _plain(member) for name, member in content.items()}
    if kind == "L":
        return [_plain(member) for member in content]
    return None if kind == "NULL" else content


