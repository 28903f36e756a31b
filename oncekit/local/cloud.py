"""The local cloud: template.yaml, deployed and running in this process."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from oncekit.local.account import REGION
from oncekit.local.changed_packages import wrong_package
from oncekit.local.clock import Clock, VirtualClock
from oncekit.local.deployment import parameter_answers, secret_answers
from oncekit.local.deployment.deploy import FUNCTION, FUNCTIONS, deploy
from oncekit.local.deployment.moto_resources import count_items, count_messages, empty_everything
from oncekit.local.deployment.resources import Deployed
from oncekit.local.deployment.stack import Application, Stack
from oncekit.local.deployment.stack_answers import answering
from oncekit.local.endpoint.access_keys import AccessKey, AccessKeys
from oncekit.local.endpoint.loopback import Loopback
from oncekit.local.endpoint.own_services import OwnServices
from oncekit.local.endpoint.server import Server
from oncekit.local.engine.api import StepFunctions
from oncekit.local.engine.live import StateMachine
from oncekit.local.engine.repeats import Again, Repeats
from oncekit.local.engine.service_calls import Interceptor, ServiceCalls
from oncekit.local.events import Fate
from oncekit.local.execution import Execution, Executions, state_of
from oncekit.local.gateway.callers import Callers
from oncekit.local.gateway.http_api import http_apis
from oncekit.local.gateway.listener import Gateway
from oncekit.local.gateway.rest_api import rest_apis
from oncekit.local.isolation import NO_PROXY, no_other_cloud
from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime, LogLine
from oncekit.local.lambda_runtime.api import LambdaApi
from oncekit.local.permissions import Denial, Permissions
from oncekit.local.quick_start import import_models, without_collections
from oncekit.local.templates.template import Template, load

_open = threading.Lock()
_DEAD_LETTERS = re.compile(r'"(?:deadLetterTargetArn|DeadLetterConfig": {"Arn)": "([^"]+)"')


class LocalCloudError(RuntimeError):
    """The local cloud cannot do what was requested; the message says why, and what to do."""


class NotLoadedError(LocalCloudError):
    """The code of a function cannot be loaded."""


class _Refs(dict[str, str]):
    """A KeyError names the template: that may be another one than somebody has in mind."""

    def __init__(self, there: Mapping[str, str], template: Path) -> None:
        super().__init__(there)
        self._template = template

    def __missing__(self, logical_id: str) -> str:
        raise KeyError(f"{self._template} has no resource {logical_id}")


class Cloud:
    """Deploys a template on this machine and runs it: open it with `with`, one at a time in a process.

    `parameters` are those of the template; `clock` is virtual unless a RealClock is given; `port` is that of the
    endpoint, `http_port` that of the template's API, 0 for any free one; `events` says whether events are
    delivered; `on_output` gets each line of the logs of functions; `dice` are behind jitter, $random and $uuid.
    Raises TemplateError or DefinitionError when the template cannot be deployed, and PortInUseError.
    """

    def __init__(
        self,
        template: Path = Path("template.yaml"),
        parameters: Mapping[str, object] | None = None,
        clock: Clock | None = None,
        port: int = 0,
        events: bool = True,
        on_output: Callable[[LogLine], None] | None = None,
        dice: random.Random | None = None,
        http_port: int = 0,
        access_key: AccessKey | None = None,
    ) -> None:
        self.clock: Clock = clock or VirtualClock()
        self._path = template
        self._parameters = dict(parameters or {})
        self._port = port
        self._http_port = http_port
        self._access_key = access_key
        self._events = events
        self._on_output = on_output
        self._dice = dice
        self._step_functions: StepFunctions | None = None
        self.executions = Executions(self._machines)
        self.deployed = Stack({}, {}, {}, {}, {})
        self._known: dict[str, Deployed] = {}
        self.sources: frozenset[Path] = frozenset()
        """The files and folders that it is deployed from, and those that the last deployment missed."""
        self._stack = ExitStack()
        self._added: set[str] = set()

    def __enter__(self) -> Self:
        if not _open.acquire(blocking=False):
            raise LocalCloudError(
                "a local cloud is open in this process already; use that one, and `deployed_with` for other parameters"
            )
        self._stack.callback(_open.release)
        try:
            with without_collections():
                self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        self._keys = AccessKeys(self._access_key)
        self._stack.enter_context(no_other_cloud(self._keys.own.environment))
        template = load(self._path, self._parameters)  # what is wrong with it is said before anything is started
        if (reason := wrong_package()) is not None:
            raise LocalCloudError(reason)
        import_models()
        from moto import mock_aws

        from oncekit.local.engine import dynamodb, install
        from oncekit.local.events import queues
        from oncekit.local.events.exchange import Exchange

        self._stack.enter_context(mock_aws(config={"core": {"mock_credentials": False}}))
        self.permissions = Permissions()
        self.services = OwnServices()
        self._server = Server(
            self._keys, self.permissions, self.services, self._port, self._watched, lambda: self.clock.now()
        )
        self._stack.callback(self._server.close)
        self.functions = LambdaRuntime(self.environment, self._on_output, self._keys)
        self._stack.callback(self.functions.close)
        self._lambda_api = LambdaApi(
            self.functions,
            lambda: self._of_the_template(FUNCTION),
            lambda: self._of_the_template("AWS::Lambda::EventSourceMapping"),
            lambda arn: self.deployed.layers.get(arn),
        )
        self._stack.enter_context(self._lambda_api.open())
        self.services.named |= {
            "cloudformation": answering(lambda: self.application),
            "dynamodb": dynamodb.answering(self.clock, lambda: self._exchange.written()),
            "lambda": self._lambda_api.answer,
            "sqs": queues.answer,
            "secretsmanager": secret_answers.answering(lambda: self.deployed.resources),
            "ssm": parameter_answers.answering(lambda: self.deployed.resources),
        }
        self._stack.enter_context(self.services.served())
        self._service_calls = ServiceCalls(self.functions, self.permissions, self._keys.own)
        self._repeats = Repeats()
        calls = self._service_calls
        executions = self._stack.enter_context(install(self.clock, calls, self._repeats, self._dice))
        self._step_functions = StepFunctions(executions, self.clock.now)
        self.services.named["states"] = self._step_functions.served
        calls.answered_here["stepfunctions"] = self._step_functions.answer
        self._exchange = Exchange(
            self.clock, calls.direct, self.functions.invoke, self.permissions, self._events, self._quiet_until
        )
        self.functions.asynchronously = self._exchange.invocations.accept
        self._stack.enter_context(self._exchange.installed())
        self._stack.callback(self._fall_silent)
        callers = Callers(self._keys, self.permissions, self.clock)
        self._gateway = Gateway(callers, calls.make, self.functions.invoke, self.permissions, self.clock)
        self._gateway_server = Loopback(self._http_port)
        self._stack.callback(self._gateway_server.close)
        self._deploy(template)
        self._server.open(self._server.front)
        self._gateway_server.open(self._gateway.front)

    def _machines(self) -> Sequence[StateMachine]:
        return () if self._step_functions is None else self._step_functions.machines

    def _watched(self, _environ: Any, application: Any) -> Any:
        """What answers a request at the endpoint; the test kit stands before it."""
        return application

    def _quiet_until(self, _target: str) -> float:
        """Until when the target of a schedule, by its ARN, would find nothing to do."""
        return 0.0

    # ---- what is there ----

    @property
    def endpoint_url(self) -> str:
        """Where boto3 clients and `aws --endpoint-url` find the services."""
        return self._server.url

    @property
    def http_url(self) -> str:
        """Where the template's API answers; its stage is not in the path."""
        return self._gateway_server.url

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
    def application(self) -> Application:
        """The template and the applications inside it, each with its own; the URL of an API is that of this machine."""
        return self._application

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs of the template, and those of the applications inside it where it has none of the name."""
        return self._outputs

    @property
    def resources(self) -> Mapping[str, str]:
        """The values of CloudFormation's Ref, by logical id: a name, a URL or an ARN."""
        there = {logical_id: resource.ref for logical_id, resource in self.deployed.resources.items()}
        return _Refs(there, self._path)

    def named(self, kind: str) -> Mapping[str, str]:
        """The values of Ref of the resources of a type, by logical id."""
        resources = self.deployed.resources.items()
        return {logical_id: made.ref for logical_id, made in resources if made.type == kind and made.ref}

    @property
    def tables(self) -> Mapping[str, str]:
        """The names of the DynamoDB tables, by logical id."""
        return self.named("AWS::DynamoDB::Table")

    def item_counts(self) -> Mapping[str, int]:
        """How many items each DynamoDB table has, by logical id."""
        return {logical_id: count_items(name) for logical_id, name in self.tables.items()}

    def dead_letters(self) -> Mapping[str, int]:
        """How many messages each dead-letter queue has, by logical id."""
        return {logical_id: count_messages(url) for logical_id, url in self._dead_letter_queues.items()}

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of the template and of the applications inside it, with their values."""
        return self.deployed.parameters

    def _of_the_template(self, type: str) -> Mapping[str, Mapping[str, Any]]:
        resources = self.deployed.resources.values()
        return {each.ref: each.properties for each in resources if each.ref and each.type == type}

    def client(self, service: str) -> Any:
        """A boto3 client of a service, on the backend in this process; interceptors do not see its calls."""
        return self._service_calls.direct(service)

    # ---- deployment ----

    def redeploy(self, parameters: Mapping[str, object] | None = None, template: Path | None = None) -> None:
        """Deploy the template again as it is now on disk, or another one. Data stays; executions go on as they began.

        `parameters` replace those given before. What is wrong with a template is told before anything is changed; what
        moto or a rule fails on later leaves the rest as it is by then, and the next deployment goes on from there.
        Of another template what cannot be read is in name only, as at the start; of this one, what could not before.
        """
        given = self._parameters if parameters is None else dict(parameters)
        path = template or self._path
        self._deploy(load(path, given), self.deployed.unread if path == self._path else None)
        self._parameters, self._path = given, path

    @contextmanager
    def deployed_with(self, parameters: Mapping[str, object], template: Path | None = None) -> Iterator[None]:
        """Deploy with other parameters, in addition to earlier ones, or another template, while the context is open."""
        before = self._parameters, self._path
        self.redeploy({**self._parameters, **parameters}, template)
        try:
            yield
        finally:
            self.redeploy(*before)

    def _deploy(self, template: Template, before: Mapping[str, str] | None = None) -> None:
        """`before` has what was unread of the same template until now: what else is, is refused."""
        made_of: set[Path] = set()
        try:
            deployed = deploy(template, self._service_calls.make, self.endpoint_url, self._known, made_of, before)
            refused = self._exchange.unreadable(deployed.resources).items()
            deployed = deployed.without({each: why for each, why in refused if before is None or each in before})
            for name in set(deployed.functions) - self._added:
                self.functions.register(name, deployed.functions[name])
            self._run(deployed)  # a queue may have messages for a function
        finally:
            self.sources |= made_of
        for name in set(self.deployed.functions) - set(deployed.functions) - self._added:
            self.functions.put_away(name)
        made = deployed.resources.values()
        unread = ((ref, *deployed.unread[name].split(": ", 1)) for name, ref in deployed.unread_refs.items())
        self.functions.in_name_only = {
            **{ref: why for ref, kind, why in unread if kind in FUNCTIONS},
            **{each.ref: each.why for each in made if each.type == FUNCTION and each.why},
        }
        self.deployed = deployed
        self.sources = frozenset(made_of)

    def _run(self, deployed: Stack) -> None:
        """What delivers, checks and serves goes by these resources from now on."""
        apis = [*rest_apis(deployed.resources), *http_apis(deployed.resources)]
        self.permissions.deploy(deployed.resources)
        self._exchange.deploy(deployed.resources)
        self._gateway.deploy(apis)
        self._dead_letter_queues = _dead_letter_queues(deployed.resources)
        there = re.compile("|".join(api.address for api in apis) or "(?!)")
        self._outputs = {name: there.sub(self.http_url, value) for name, value in deployed.outputs.items()}
        self._application = deployed.root.telling(lambda value: there.sub(self.http_url, value))

    def register_function(self, name: str, spec: FunctionSpec) -> None:
        """Deploy a function that is not in the template, or another one in its place, until the next `reset`."""
        self._added.add(name)
        self.functions.register(name, spec)

    @property
    def added(self) -> frozenset[str]:
        """The names of the functions that were registered since the start or the last reset."""
        return frozenset(self._added)

    # ---- executions ----

    def start_machine(self, arn: str, text: str, name: str) -> str:
        """Start an execution of a state machine and return its ARN. Raises ClientError as StartExecution does."""
        given = {"stateMachineArn": arn, "input": text, "name": name}
        return str(self._service_calls.make("stepfunctions", "start_execution", given)["executionArn"])

    def describe(self, arn: str) -> Execution:
        """The execution as it is now. Raises NoSuchExecution."""
        return self.executions.describe(arn)

    def wait(self, arn: str, timeout: float = 60) -> Execution:
        """Wait for the end of an execution, `timeout` real seconds at most. Raises TimeoutError, naming its state."""
        return self.executions.wait(arn, timeout)

    def stop(self, arn: str, error: str = "Aborted", cause: str = "stopped by hand") -> Execution:
        """Stop an execution, also right after its start; its function goes on, as on AWS."""
        self.client("stepfunctions").stop_execution(executionArn=arn, error=error, cause=cause)
        return self.wait(arn)

    # ---- what goes wrong ----

    def denials(self) -> tuple[Denial, ...]:
        """The calls that a role did not allow since the start or the last reset, each once, oldest first."""
        return self.permissions.denials

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
        with self._service_calls.intercept(*interceptors):
            yield

    # ---- what is delivered ----

    @contextmanager
    def delivering(self) -> Iterator[None]:
        """Deliver events while the context is open, whatever the cloud was opened with."""
        with self._exchange.switched_on():
            yield

    @contextmanager
    def lose_events(self, fate: Fate) -> Iterator[None]:
        """While the context is open, deliveries get this fate, such as to be lost."""
        with self._exchange.fated(fate):
            yield

    def settle(self, timeout: float = 60) -> None:
        """Wait until no execution runs and no delivery is under way, `timeout` real seconds at most.

        Virtual time goes on to the ends of waits and to the retries of deliveries, but not to a schedule's next turn,
        nor to when a message in a queue becomes visible again, nor to the next attempt of a stream's batch:
        `clock.advance` goes there. Raises TimeoutError, naming what still runs, and RuntimeError when a delivery failed
        by a fault of this cloud.
        """
        if not self._exchange.settle(timeout):
            running = [f"execution {each.name} in {state_of(each)}" for each in self.executions.running()]
            what = ", ".join(running) or "a delivery"
            raise TimeoutError(f"not finished after {timeout:g} s: {what}")

    def reset(self) -> None:
        """Delete records, rows, objects, messages, executions, invocations, deliveries, interceptors, added functions.

        Schedules start again; messages of deliveries and the lists of allowed and denied calls are deleted, too.
        """
        self._service_calls.reset()
        self._repeats.forget()
        self._fall_silent()
        self.permissions.reset()
        self.functions.reset()
        for name in self._added:
            if name not in self.deployed.functions:
                self.functions.put_away(name)
            else:
                self.functions.register(name, self.deployed.functions[name])
        self._added.clear()
        self._lambda_api.clear()
        empty_everything()

    def _fall_silent(self) -> None:
        """Stop all executions and deliveries, without the events that this would cause."""
        with self._exchange.resetting() as wait_for_deliveries:
            self.executions.forget()
            self.functions.end_running()
            wait_for_deliveries()
            self.executions.forget()


def _dead_letter_queues(resources: Mapping[str, Deployed]) -> dict[str, str]:
    """The URLs of those that another queue, a rule or a schedule names, by logical id."""
    named = {arn for each in resources.values() for arn in _DEAD_LETTERS.findall(json.dumps(each.properties))}
    queues = {name: each for name, each in resources.items() if each.type == "AWS::SQS::Queue" and each.ref}
    return {name: each.ref for name, each in queues.items() if each.attributes("Arn") in named}
