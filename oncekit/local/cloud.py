"""The local cloud: template.yaml, deployed and running in this process."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from oncekit.local.access_keys import AccessKeys
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.ageing import ageing
from oncekit.local.assumed_roles import holder_of_temporary
from oncekit.local.clock import Clock, VirtualClock
from oncekit.local.contents import empty_everything
from oncekit.local.deploy import Stack, deploy
from oncekit.local.engine.repeats import Again, Repeats
from oncekit.local.engine.service_calls import Door, Interceptor
from oncekit.local.engine.views import BEFORE_THE_LAST_CHANGE, behind_for_everyone
from oncekit.local.events import Delivery, Fate, lost
from oncekit.local.execution import Execution, Invocation, as_text, execution_of, state_of
from oncekit.local.expressions import quick_update_expressions
from oncekit.local.isolation import NO_PROXY, no_other_cloud
from oncekit.local.items import plain
from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime
from oncekit.local.lambda_runtime.descriptions import serve_descriptions
from oncekit.local.lambda_runtime.moto_functions import CreatedFunctions
from oncekit.local.lambda_runtime.moto_invocations import serve_moto_invocations
from oncekit.local.permissions import Caller, Denial, Permissions
from oncekit.local.permissions.http import HttpGuard
from oncekit.local.quick_start import import_interpreter
from oncekit.local.resources import STACK, aliases_of_state_machines
from oncekit.local.server import Server
from oncekit.local.stack_answers import serve_stack
from oncekit.local.template import Template, load

PREFIX = f"{STACK}_op-"
"""What the template puts before an operation's name to make its function's."""

_open = threading.Lock()


class LocalCloudError(RuntimeError):
    """The local cloud cannot do what it was asked; the message says why and what to do."""


class LocalCloud:
    """Deploys a template on this machine and runs it: open it with `with`, one at a time in a process.

    `parameters` are those of the template; `clock` is virtual unless a RealClock is given; `port` is that of the
    endpoint, 0 for any free one; `events` says whether rules, schedules and pipes deliver; `on_output` gets the name of
    a function and each line that it prints. Raises TemplateError or DefinitionError when the template cannot be
    deployed, and PortInUseError.
    """

    def __init__(
        self,
        template: Path = Path("template.yaml"),
        parameters: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        port: int = 0,
        events: bool = True,
        on_output: Callable[[str, str], None] | None = None,
    ) -> None:
        self.clock: Clock = clock or VirtualClock()
        self._path = template
        self._parameters = dict(parameters or {})
        self._port = port
        self._events = events
        self._on_output = on_output
        self._stack = ExitStack()
        self._added: dict[str, FunctionSpec] = {}

    def __enter__(self) -> LocalCloud:
        if not _open.acquire(blocking=False):
            raise LocalCloudError(
                "a local cloud is open in this process already; use that one, and `deployed_with` for other parameters"
            )
        self._stack.callback(_open.release)
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        self._keys = AccessKeys(holder_of_temporary)
        self._stack.enter_context(no_other_cloud(self._keys.own.environment))
        template = load(self._path, self._parameters)  # what is wrong with it is said before anything is started
        import_interpreter()
        from moto import mock_aws

        from oncekit.local.engine import executions, install
        from oncekit.local.events.exchange import Exchange

        self._ended = executions.ended
        self._stack.enter_context(
            mock_aws(config={"core": {"mock_credentials": False}, "stepfunctions": {"execute_state_machine": True}})
        )
        self.permissions = Permissions()
        self._server = Server(self._keys, HttpGuard(self._caller, self.permissions), self._port)
        self._stack.callback(self._server.close)
        self.functions = LambdaRuntime(self.environment, self._on_output, self._keys)
        self._stack.callback(self.functions.close)
        self._stack.enter_context(serve_moto_invocations(self.functions))
        self._stack.enter_context(
            serve_stack(lambda: self.outputs, lambda: self.parameters, lambda: self._deployed.resources)
        )
        self._created = CreatedFunctions(self.functions, self._functions_of_the_template, self._folder_of_layer)
        self._stack.enter_context(self._created.served())
        self._stack.enter_context(
            serve_descriptions(lambda: self.functions.functions, self._created.told, self._layers)
        )
        self._door = Door(self.functions, self.permissions, self._keys.own)
        self._repeats = Repeats()
        self._stack.enter_context(install(self.clock, self._door, self._repeats))
        self._stack.enter_context(ageing(self.clock))
        self._stack.enter_context(aliases_of_state_machines())
        self._stack.enter_context(quick_update_expressions())
        self._exchange = Exchange(self.clock, self._door.direct, self.permissions, self._events)
        self._stack.enter_context(self._exchange.installed())
        self._stack.callback(self._fall_silent)
        self._deploy(template, None)

    # ---- what is there ----

    @property
    def endpoint_url(self) -> str:
        """Where boto3 clients and `aws --endpoint-url` find the services."""
        return self._server.url

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that point any AWS client at this cloud, with the access key of this run."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            # A profile may say that endpoints like the one above are not looked at: the call would go to AWS.
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
            **NO_PROXY,
            **self._keys.own.environment,
        }

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the template."""
        return self._deployed.outputs

    @property
    def resources(self) -> Mapping[str, str]:
        """What CloudFormation's Ref gives, by logical id: a name, or a URL or an ARN."""
        return {logical_id: resource.ref for logical_id, resource in self._deployed.resources.items()}

    @property
    def tables(self) -> Mapping[str, str]:
        """The names of the DynamoDB tables, by logical id."""
        resources = self._deployed.resources.items()
        return {logical_id: made.ref for logical_id, made in resources if made.type == "AWS::DynamoDB::Table"}

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of the template, with their values."""
        return self._template.parameters

    def _functions_of_the_template(self) -> Mapping[str, Mapping[str, Any]]:
        resources = self._deployed.resources.values()
        return {each.ref: each.properties for each in resources if each.type == "AWS::Lambda::Function"}

    def _layers(self) -> Mapping[str, Mapping[str, Any]]:
        resources = self._deployed.resources.values()
        return {each.ref: each.properties for each in resources if each.type == "AWS::Lambda::LayerVersion"}

    def _folder_of_layer(self, arn: str) -> Path | None:
        content = self._layers().get(arn)
        return None if content is None else self._template.folder / str(content["Content"]["S3Key"])

    def client(self, service: str) -> Any:
        """A boto3 client of a service, on the backend in this process; interceptors do not see its calls."""
        return self._door.direct(service)

    # ---- deployment ----

    def redeploy(self, parameters: Mapping[str, object] | None = None, template: Path | None = None) -> None:
        """Deploy the template again as it is now on disk, or another one. Data stays; executions go on as they began.

        `parameters` replace those given before. When it raises, what was deployed goes on working.
        """
        given = self._parameters if parameters is None else dict(parameters)
        path = template or self._path
        self._deploy(load(path, given), self._deployed)
        self._parameters, self._path = given, path

    @contextmanager
    def deployed_with(self, parameters: Mapping[str, object], template: Path | None = None) -> Iterator[None]:
        """Other parameters, beside those given before, or another template, while the context is open."""
        before = self._parameters, self._path
        self.redeploy({**self._parameters, **parameters}, template)
        try:
            yield
        finally:
            self.redeploy(*before)

    def _deploy(self, template: Template, before: Stack | None) -> None:
        deployed = deploy(template, self._door.direct, self.functions, self.endpoint_url, before)
        self.permissions.deploy(deployed.resources)
        self._exchange.deploy(deployed.resources)
        self._deployed = deployed
        self._template = template

    def add_function(
        self,
        operation: str,
        code: Path,
        *,
        handler: str = "app.handler",
        concurrency: int | None = None,
        timeout: float | None = None,
        environment: Mapping[str, str] | None = None,
        role: str | None = None,
    ) -> None:
        """Deploy the business function of an operation that is not in the template, until the next `reset`.

        It gets what the template gives each of its operations: the layer, the response bucket, and the timeout unless
        another is given. It may do everything unless `role` is given, the logical id of a role of the template.
        """
        if not code.is_dir():
            raise LocalCloudError(f"operation {operation}: {code} is no folder")
        if role is not None and self.permissions.arn_of(role) is None:
            raise LocalCloudError(f"operation {operation}: the template has no role {role}")
        path = {folder for spec in self._deployed.functions.values() for folder in spec.python_path}
        spec = FunctionSpec(
            code=code.resolve(),
            handler=handler,
            timeout=timeout or float(self.parameters.get("BusinessTimeoutSeconds", 30)),
            environment={
                "RESPONSE_BUCKET": self.resources.get("ResponseBucket", ""),
                "POWERTOOLS_SERVICE_NAME": operation,
                "POWERTOOLS_METRICS_NAMESPACE": "Once",
                "ONCE_STACK": STACK,
                **(environment or {}),
            },
            memory=512,
            concurrency=concurrency,
            python_path=tuple(sorted(path)),
            role=None if role is None else self.permissions.arn_of(role),
        )
        self._added[PREFIX + operation] = spec
        self.functions.register(PREFIX + operation, spec)

    # ---- executions ----

    def start(self, request: Any, name: str | None = None) -> str:
        """Start an execution with `request` as input and return its ARN. A string of JSON is the input itself.

        Raises botocore's ClientError as StartExecution does.
        """
        given = {"name": name or str(uuid.uuid4()), "input": as_text(request)}
        started = self._door.quickly(
            "stepfunctions", "start_execution", {"stateMachineArn": self.outputs["StateMachineArn"], **given}
        )
        arn: str = started["executionArn"]
        return arn

    def describe(self, arn: str) -> Execution:
        """The execution as it is now."""
        return execution_of(self._find(arn))

    def wait(self, arn: str, timeout: float = 60) -> Execution:
        """Wait for the end of an execution, `timeout` real seconds at most. Raises TimeoutError, naming its state."""
        running = self._find(arn)
        if not self._ended.wait(lambda: running.status != "RUNNING", timeout):
            raise TimeoutError(f"after {timeout:g} s, execution {running.name} is still in {state_of(running)}")
        return execution_of(running)

    def run(self, request: Any, name: str | None = None, timeout: float = 60) -> Execution:
        """Start an execution and wait for its end."""
        return self.wait(self.start(request, name), timeout)

    def run_all(self, requests: Iterable[Any], timeout: float = 120) -> list[Execution]:
        """Start one execution for each request, all at once, and wait for all; in the order of the requests."""
        self.clock.enter()  # virtual time stands still until all are started
        try:
            arns = [self.start(request) for request in requests]
        finally:
            self.clock.leave()
        end = time.monotonic() + timeout
        return [self.wait(arn, max(0.0, end - time.monotonic())) for arn in arns]

    def stop(self, arn: str, error: str = "Aborted", cause: str = "stopped by hand") -> Execution:
        """Stop an execution, also right after its start; its function goes on, as on AWS."""
        self.client("stepfunctions").stop_execution(executionArn=arn, error=error, cause=cause)
        return self.wait(arn)

    def _find(self, arn: str) -> Any:
        for machine in self._machines():
            for execution in reversed(machine.executions):
                if execution.exec_arn == arn:
                    return execution
        raise LocalCloudError(f"there is no execution {arn}")

    def _machines(self) -> list[Any]:
        from moto.stepfunctions.parser.models import stepfunctions_parser_backends

        machines: list[Any] = stepfunctions_parser_backends[ACCOUNT][REGION].state_machines
        return machines

    # ---- what they did ----

    def invocations(self, operation: str | None = None) -> list[Invocation]:
        """The starts of business logic, oldest first: of one operation, or of all."""
        return [
            Invocation(
                each.request_id,
                each.function.removeprefix(PREFIX),
                each.event,
                each.started_at,
                each.ended_at,
                each.outcome,
            )
            for each in self.functions.invocations
            if each.function.startswith(PREFIX) and operation in (None, each.function.removeprefix(PREFIX))
        ]

    def logs(self, operation: str) -> list[str]:
        """The last lines that the function of an operation printed."""
        return self.functions.logs(PREFIX + operation)

    def record(self, id: str) -> dict[str, Any] | None:
        """The record of an id as plain Python values, or None."""
        answer = self.client("dynamodb").get_item(
            TableName=self.resources["IdempotencyTable"], Key={"id": {"S": id}}, ConsistentRead=True
        )
        return plain(answer["Item"]) if "Item" in answer else None

    def rejected(self) -> list[dict[str, Any]]:
        """The bodies in the rejected-requests queue, oldest first; they stay there."""
        from moto.sqs.models import sqs_backends

        name = self.resources["RejectedRequestsQueue"].rpartition("/")[2]
        return [json.loads(message.body) for message in sqs_backends[ACCOUNT][REGION].queues[name]._messages]

    def denials(self) -> tuple[Denial, ...]:
        """Calls that a role did not allow, each once, oldest first, since the start or the last reset."""
        return self.permissions.denials

    def _caller(self, access_key_id: str) -> Caller | None:
        """Who has an access key id. A function without a role, and the developer, may do everything."""
        holder = self._keys.holder(access_key_id)
        if holder is None or holder.function is None or holder.role is None:
            return None
        return Caller(holder.role, holder.function)

    @contextmanager
    def stale(self, seconds: float = BEFORE_THE_LAST_CHANGE) -> Iterator[None]:
        """Whoever describes or lists executions is told what was true so long ago, while the context is open.

        Without `seconds`: what was true before the last change of the execution's status.
        """
        with behind_for_everyone(seconds):
            yield

    @contextmanager
    def repeating(self, *again: Again) -> Iterator[None]:
        """Asynchronous Express executions that start while the context is open may run more than once."""
        self._repeats.says += again
        try:
            yield
        finally:
            self._repeats.says[:] = [each for each in self._repeats.says if each not in again]

    @contextmanager
    def intercept(self, *interceptors: Interceptor) -> Iterator[None]:
        """Interceptors between the state machine and the services, the first outermost, while the context is open."""
        with self._door.intercept(*interceptors):
            yield

    # ---- what is delivered ----

    @contextmanager
    def delivering(self, on: bool = True) -> Iterator[None]:
        """Deliver events, or do not, while the context is open, whatever the cloud was opened with."""
        with self._exchange.switched(on):
            yield

    @contextmanager
    def lose_events(self, fate: Fate = lost) -> Iterator[None]:
        """Deliveries are lost while the context is open; or what `fate` makes of them, as `twice` or `late(60)`."""
        with self._exchange.fated(fate):
            yield

    def deliveries(self) -> tuple[Delivery, ...]:
        """What rules, schedules and pipes delivered or tried to, oldest first, since the start or the last reset."""
        return self._exchange.deliveries()

    def settle(self, timeout: float = 60) -> None:
        """Wait until no execution runs and no delivery is under way, `timeout` real seconds at most.

        Virtual time goes on to the ends of waits and to the retries of deliveries, but not to a schedule's next turn,
        nor to when a message in a queue becomes visible again: `clock.advance` goes there. Raises TimeoutError, naming
        what still runs, and RuntimeError when a delivery went wrong by a fault of this cloud.
        """
        if not self._exchange.settle(timeout):
            running = [each for machine in self._machines() for each in machine.executions if each.status == "RUNNING"]
            what = ", ".join(f"execution {each.name} in {state_of(each)}" for each in running) or "a delivery"
            raise TimeoutError(f"after {timeout:g} s, this still goes on: {what}")

    def reset(self) -> None:
        """Forget records, rows, objects, messages, executions, invocations, deliveries, interceptors, additions.

        Schedules begin anew; the messages that deliveries left behind are gone, and so is what was allowed and denied.
        """
        self._door.reset()
        self._repeats.forget()
        self._fall_silent()
        self.permissions.reset()
        self.functions.reset()
        for name in self._added:
            if name not in self._deployed.functions:
                self.functions.unregister(name)
            else:
                self.functions.register(name, self._deployed.functions[name])
        self._added.clear()
        self._created.clear()
        empty_everything()

    def _fall_silent(self) -> None:
        """Stop all executions and deliveries, without the events that this would set off."""
        with self._exchange.resetting():
            self._stop_everything()

    def _stop_everything(self) -> None:
        for machine in self._machines():
            running = [each for each in machine.executions if each.status == "RUNNING"]
            for execution in running:  # not through the API, which stops no Express execution
                execution.stop(None, "Reset", "the local cloud was reset")
            for execution in running:
                self.wait(execution.exec_arn)
            machine.executions.clear()
