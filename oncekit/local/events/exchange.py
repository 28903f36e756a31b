"""The exchange: all rules, schedules, pipes and mappings as deployed, and the switch that turns them on and off."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from oncekit.asl.definition import why_not
from oncekit.local.account import name_and_qualifier
from oncekit.local.clock import Clock
from oncekit.local.deployment.resources import Deployed
from oncekit.local.events import buckets, mappings, pipes, queues, rules, streams, topics
from oncekit.local.events.attempts import Attempts, Shipment
from oncekit.local.events.deliveries import Event, Fate, Invoke
from oncekit.local.events.delivery_queue import Activity, DeliveryQueue
from oncekit.local.events.invocations import Invocations, settings_of
from oncekit.local.events.mappings import EventSource, QueueMappings
from oncekit.local.events.patterns import PatternError
from oncekit.local.events.pipes import Pipe, Pipes, pipe_of
from oncekit.local.events.schedules import QuietUntil, Schedule, ScheduleRuns
from oncekit.local.events.targets import Clients, Targets, is_target
from oncekit.local.gateway import http_api, rest_api
from oncekit.local.patching import replaced
from oncekit.local.permissions import Permissions
from oncekit.local.templates.intrinsics import TemplateError, readable, reason_of

_FUNCTION = "AWS::Lambda::Function"
_MACHINE = "AWS::StepFunctions::StateMachine"
_MAPPING = "AWS::Lambda::EventSourceMapping"
_PIPE = "AWS::Pipes::Pipe"
_RULE = "AWS::Events::Rule"
_SCHEDULE = "AWS::Scheduler::Schedule"
_POWERTOOLS = ":layer:AWSLambdaPowertoolsPython"
"""In the ARN of a public layer whose packages are here, since the library needs them."""


class Exchange:
    """Delivers events while it is on. What happens while it is off is never delivered."""

    def __init__(
        self,
        clock: Clock,
        clients: Clients,
        invoke: Invoke,
        guard: Permissions,
        on: bool,
        quiet_until: QuietUntil = lambda _arn: 0.0,
    ) -> None:
        self._clock = clock
        self._on = on
        self._activity = Activity()
        self._delivery_queue = DeliveryQueue(clock, self._activity)
        targets = Targets(clients, invoke, guard)
        self._attempts = Attempts(clock, self._delivery_queue, targets)
        self.invocations = Invocations(clock, self._delivery_queue, invoke, targets.put)
        self._buses = rules.Buses()
        self._schedules: list[Schedule] = []
        self._schedule_runs = ScheduleRuns(clock, self._delivery_queue, self._attempts.ship, quiet_until)
        self._open_pipes: list[Pipe] = []
        self._pipes = Pipes(clock, self._delivery_queue, self._attempts.ship, guard)
        self._subscriptions = topics.Subscriptions(clock, self._told)
        self._notifications = buckets.Notifications(clock, self._told, self._put)
        self._sources: list[EventSource] = []
        self._streams: list[streams.Stream] = []
        arrivals = self._attempts.arrivals
        self._mappings = QueueMappings(clock, self._delivery_queue, invoke, arrivals, guard)
        self._readers = streams.StreamMappings(clock, self._delivery_queue, invoke, arrivals, targets.put, guard)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """While open, it listens to executions and to moto's buses."""
        from oncekit.local.engine.runs import watchers

        with ExitStack() as stack:
            stack.callback(self._delivery_queue.close)
            stack.enter_context(
                replaced(*rules.changes(self._clock, self._route), *queues.changes(self._clock, self._changed))
            )
            watchers.append(self._watch)
            stack.callback(watchers.remove, self._watch)
            yield

    def unreadable(self, resources: Mapping[str, Deployed]) -> Mapping[str, str]:
        """What `deploy` would refuse, by logical id, with its type and the reason."""
        return dict(_unreadable(resources))

    def deploy(self, resources: Mapping[str, Deployed]) -> None:
        """Run what was deployed, and nothing else. Raises TemplateError for what AWS would refuse."""
        made = {logical_id: each for logical_id, each in resources.items() if each.ref}
        resources = {}
        for logical_id, each in made.items():
            with readable(logical_id):
                try:
                    if is_run(each, made):
                        resources[logical_id] = each
                except PatternError as error:
                    what = _what_is_refused(each)
                    raise TemplateError(f"{logical_id}: AWS would refuse {what}: {error}") from error
        wanted = _of_type(resources, _RULE)
        schedules = list(_schedules(resources))
        open_pipes, sources = list(_pipes(resources)), list(_sources(resources))
        for pipe in open_pipes:
            queues.make(pipe.queue)
        subscribed = [
            each
            for logical_id, each in topics.subscriptions(made)
            if topics.why_not(each, lambda arn: _is_here(arn, made)) is None
        ]
        buses = [bus.ref for bus in _of_type(resources, "AWS::Events::EventBus").values()]
        self._buses.make(buses, {rule.ref: rule.properties for rule in wanted.values()})
        self.invocations.deploy(settings_of(made))
        self._subscriptions.make(subscribed)
        self._notifications.make({each.ref: each.properties for each in _of_type(made, buckets.BUCKET).values()})
        self._schedules, self._open_pipes, self._sources = schedules, open_pipes, sources
        self._streams = list(_streams(resources))
        self._run()

    def _run(self) -> None:
        self._schedule_runs.run(self._schedules if self._on else [])
        self._pipes.run(self._open_pipes if self._on else [])
        self._mappings.run(self._sources if self._on else [])
        self._readers.run(self._streams if self._on else [])

    # ---- what happens ----

    def _watch(self, execution: Any) -> None:
        """An execution began to run or ended; time stands still until this returns."""
        if execution.status == "RUNNING":
            self._activity.begin()
        else:
            self._activity.end()

    def _changed(self, queue: Any) -> None:
        self._pipes.changed(queue)
        self._mappings.changed(queue)

    def written(self) -> None:
        """A table may have been written to."""
        self._readers.written()

    def _told(self, shipment: Shipment) -> None:
        if self._on:
            self._delivery_queue.soon(lambda: self._attempts.ship(shipment))

    def _put(self, event: Event) -> None:
        for rule in rules.of_default_bus():
            self._route(rule, event)

    def _route(self, rule: Any, event: Event) -> None:
        if self._on and rules.is_for(rule, event):
            self._delivery_queue.soon(lambda: rules.set_off(rule, event, self._attempts.ship))

    # ---- what tests and commands ask ----

    @contextmanager
    def switched_on(self) -> Iterator[None]:
        """On while the context is open; schedules start over when it is switched on."""
        before, self._on = self._on, True
        self._run()
        try:
            yield
        finally:
            self._on = before
            self._run()

    @contextmanager
    def fated(self, fate: Fate) -> Iterator[None]:
        """Sets the fate of deliveries while the context is open."""
        self._attempts.fates = [*self._attempts.fates, fate]
        try:
            yield
        finally:
            self._attempts.fates = [each for each in self._attempts.fates if each is not fate]

    def settle(self, timeout: float) -> bool:
        """Wait until no execution runs and no delivery is under way; `timeout` in real seconds. False: not in time.

        Raises RuntimeError when a delivery failed by a fault of the local cloud.
        """
        quiet = self._activity.wait(timeout)
        self._delivery_queue.check()
        return quiet

    @contextmanager
    def resetting(self) -> Iterator[Callable[[], None]]:
        """Drops deliveries in progress; events while this is open are not delivered, and schedules start again.

        It gives a function that waits until no delivery is in progress: one that was may have started an execution.
        """
        on, self._on = self._on, False

        def wait() -> None:
            self._delivery_queue.forget()
            self._activity.wait(10)

        try:
            yield wait
        finally:
            wait()
            self._attempts.fates = []
            self._on = on
            self._schedule_runs.restart()
            self._mappings.restart()
            self._readers.restart()


def _of_type(resources: Mapping[str, Deployed], kind: str) -> dict[str, Deployed]:
    return {logical_id: each for logical_id, each in resources.items() if each.type == kind}


def _pipes(resources: Mapping[str, Deployed]) -> Iterator[Pipe]:
    for logical_id, each in _of_type(resources, _PIPE).items():
        if each.properties.get("DesiredState") != "STOPPED":
            with readable(logical_id):
                yield pipe_of(each.ref, each.properties)


def _schedules(resources: Mapping[str, Deployed]) -> Iterator[Schedule]:
    for logical_id, each in _of_type(resources, _SCHEDULE).items():
        with readable(logical_id):
            yield Schedule.of(logical_id, each.ref, each.attributes("Arn"), each.properties)
    for logical_id, each in _of_type(resources, _RULE).items():
        if "ScheduleExpression" in each.properties:
            with readable(logical_id):
                yield from Schedule.of_rule(logical_id, each.ref, each.attributes("Arn"), each.properties)


def _sources(resources: Mapping[str, Deployed]) -> Iterator[EventSource]:
    for logical_id, each, role in _open_mappings(resources, "sqs"):
        with readable(logical_id):
            yield mappings.source_of(each.ref, role, each.properties, mappings.USUAL_SIZE)


def _streams(resources: Mapping[str, Deployed]) -> Iterator[streams.Stream]:
    for logical_id, each, role in _open_mappings(resources, "dynamodb"):
        with readable(logical_id):
            yield streams.stream_of(each.ref, role, each.properties)


def _open_mappings(resources: Mapping[str, Deployed], service: str) -> Iterator[tuple[str, Deployed, str | None]]:
    """Those of a service, with their logical ids and the roles of their functions."""
    for logical_id, each in _of_type(resources, _MAPPING).items():
        is_open = str(each.properties.get("Enabled", True)).lower() != "false"
        if is_open and str(each.properties["EventSourceArn"]).split(":")[2] == service:
            function = _function_of(str(each.properties["FunctionName"]), resources)
            yield logical_id, each, function.properties.get("Role") if function else None


def _is_here(target: str, resources: Mapping[str, Deployed]) -> bool:
    """Whether the local cloud delivers to a resource: a function or a topic must be one of these."""
    service = target.split(":")[2:3]
    if service == ["lambda"]:
        return _function_of(target, resources) is not None
    return is_target(target) and (service != ["sns"] or any(each.ref == target for each in resources.values()))


def _function_of(name: str, resources: Mapping[str, Deployed]) -> Deployed | None:
    """The function of a name or an ARN, also of its alias; None where it does not run here."""
    name, _ = name_and_qualifier(name)
    found = (each for each in _of_type(resources, _FUNCTION).values() if each.ref == name and each.is_run)
    return next(found, None)


def _unreadable(resources: Mapping[str, Deployed]) -> Iterator[tuple[str, str]]:
    made = {logical_id: each for logical_id, each in resources.items() if each.ref}
    functions = _of_type(made, _FUNCTION)
    for logical_id, each in made.items():
        try:
            with readable(logical_id):
                if each.type in (_RULE, _SCHEDULE, _PIPE, _MAPPING) and is_run(each, made):
                    alone = {**functions, logical_id: each}
                    for read in (_schedules, _pipes, _sources, _streams):
                        list(read(alone))
                if each.type in _READ:
                    _READ[each.type](each)
        except PatternError as error:
            yield logical_id, f"{each.type}: AWS would refuse {_what_is_refused(each)}: {error}"
        except TemplateError as error:
            yield logical_id, f"{each.type}: {reason_of(error, logical_id, each.type)}"


def _check_bus(rule: Deployed) -> None:
    if not isinstance(rule.properties.get("EventBusName", ""), str):
        raise TypeError("its EventBusName must be a text")


_READ: Mapping[str, Callable[[Deployed], object]] = {
    _RULE: _check_bus,
    buckets.BUCKET: lambda each: buckets.check(each.properties),
    topics.TOPIC: lambda each: list(topics.subscriptions({"": each})),
    topics.SUBSCRIPTION: lambda each: topics.subscription_of(each.properties),
    rest_api.API: lambda each: rest_api.RestApi(each.ref, "", each.properties.get("Body") or {"paths": {}}),
    http_api.API: lambda each: http_api.HttpApi(each.ref, "", {"paths": {}, **(each.properties.get("Body") or {})}),
}
"""How what the gateway serves, and what others tell, is read: whatever that finds wrong is said of it alone."""


def _what_is_refused(each: Deployed) -> str:
    return "the rule" if each.type == _RULE else "a filter"


def left_out(resources: Mapping[str, Deployed], unread: Mapping[str, str] | None = None) -> Iterator[str]:
    """What an application has beside its operations, and is here by its name only, each as people know it.

    Without this an application could be tried here only after everything else was taken out of its template.
    """
    yield from (f"{logical_id} ({reason})" for logical_id, reason in (unread or {}).items())
    for logical_id, each in resources.items():
        reason = _why_not(each, resources) if each.ref else None
        if reason is not None:
            yield f"{logical_id} ({each.type}: {reason})"
        elif each.ref and not is_run(each, resources):
            yield f"{logical_id} ({each.type})"
    here = {each.ref for each in resources.values()}
    functions = (each.properties for each in resources.values() if each.type == "AWS::Lambda::Function")
    for arn in sorted({arn for each in functions for arn in each.get("Layers", ())} - here):
        if _POWERTOOLS not in arn:
            yield f"{arn} (a layer)"


def _why_not(each: Deployed, resources: Mapping[str, Deployed]) -> str | None:
    """Why a resource is in name only, or a part of it; None where there is nothing to say but whether it `is_run`."""
    if each.why:
        return each.why
    if each.type == _MACHINE:
        return why_not(json.loads(each.properties["DefinitionString"]))
    if each.type in (topics.SUBSCRIPTION, topics.TOPIC):
        found = [of for logical_id, of in topics.subscriptions(resources) if resources[logical_id] is each]
        reasons = (topics.why_not(of, lambda arn: _is_here(arn, resources)) for of in found)
        of_nothing = "its topic is not here" if each.type == topics.SUBSCRIPTION and not found else None
        return next(filter(None, reasons), of_nothing)
    if each.type == buckets.BUCKET:
        targets = [target for _, target, _ in buckets.notifications(each.properties)]
        gone = [target for target in targets if not _is_here(target, resources)]
        return f"its notifications do not reach {', '.join(gone)}" if gone else None
    if each.type == http_api.API:
        return http_api.why_not(each.properties)
    if each.type != _MAPPING:
        return None
    if _function_of(str(each.properties["FunctionName"]), resources) is None:
        return f"the function {each.properties['FunctionName']} does not run here"
    return mappings.why_not(each.properties)


def is_run(each: Deployed, resources: Mapping[str, Deployed]) -> bool:
    """Whether the local cloud does what a resource does on AWS, as far as an operation can tell."""
    if each.type == _RULE:
        targets = [str(target["Arn"]) for target in each.properties.get("Targets", [])]
        return rules.is_supported(each.properties) and all(_is_here(arn, resources) for arn in targets)
    if each.type == _PIPE:
        return pipes.is_supported(each.properties)
    if each.type == _SCHEDULE:
        return _is_here(str(each.properties["Target"]["Arn"]), resources)
    if each.type == _MAPPING:
        return _why_not(each, resources) is None
    return each.is_run
