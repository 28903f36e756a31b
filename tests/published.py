"""What a deployed stack publishes in CloudWatch of what happens in it, and which of its alarms ring.

It is read from what publishes it: the definition of the sweep, the filters of the machines' logs, and for AWS's
services the pages at EMITTED. Names are those of the deployed stack.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cloudwatch import Metrics, counts, states
from one_state import FAST, NOW, State, states_of
from template_parts import TEMPLATE

from oncekit.local.deployment.deploy import planned
from oncekit.local.deployment.resources import Deployed
from oncekit.local.templates.definition import render_definition

ALARM, FILTER = "AWS::CloudWatch::Alarm", "AWS::Logs::MetricFilter"
MACHINE, SCHEDULE = "AWS::StepFunctions::StateMachine", "AWS::Scheduler::Schedule"
SWEEP = "RecoveryStateMachine"

EMITTED: Mapping[str, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]] = {
    # https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html
    "AWS/States": (
        (("StateMachineArn",),),
        ("ExecutionsFailed", "ExecutionsAborted", "ExecutionsTimedOut", "ExecutionThrottled"),
    ),
    # https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics.html: by function, and of all functions
    "AWS/Lambda": ((("FunctionName",), ()), ("Errors", "Throttles", "IteratorAge")),
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
    "AWS/SQS": ((("QueueName",),), ("ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible")),
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html: what a table has is not
    # what its index has
    "AWS/DynamoDB": (
        (("TableName",), ("TableName", "GlobalSecondaryIndexName")),
        ("ReadThrottleEvents", "WriteThrottleEvents"),
    ),
    # https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
    "AWS/ApiGateway": ((("ApiName",), ("ApiName", "Stage")), ("4XXError", "5XXError")),
}
"""By namespace of AWS: the dimensions under which a metric is published, and metrics."""


class NotThere(Exception):
    """What a day is about is not in the stack."""


@dataclass(frozen=True)
class Stack:
    """What of a deployed stack publishes or rings, and how; most switches make no difference here."""

    resources: str
    """By logical id, in JSON: type, Ref, and what counts of the properties."""
    sweep: str
    """The definition of its machine, in JSON."""


KINDS = (
    *(ALARM, FILTER, MACHINE, SCHEDULE, "AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::SQS::Queue"),
    *("AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage"),
)


@functools.cache
def deployed(**given: str) -> Mapping[str, Deployed]:
    """What the template makes, with the applications inside of it, but for what its condition leaves out."""
    return {name: each for name, each in planned(TEMPLATE, given).resources.items() if each.ref}


@functools.cache
def stack_with(**given: str) -> Stack:
    made = {name: each for name, each in deployed(**given).items() if each.type in KINDS}
    found = {name: {"type": each.type, "ref": each.ref, **told_of(each)} for name, each in made.items()}
    sweep = made[SWEEP].properties
    definition = render_definition(
        TEMPLATE.parent / sweep["DefinitionS3Location"]["Key"], sweep["DefinitionSubstitutions"]
    )
    return Stack(json.dumps(found), json.dumps(definition))


def told_of(made: Deployed) -> Mapping[str, Any]:
    """Of a queue its name in CloudWatch, of a machine where its ends are logged; of what publishes or rings, all."""
    properties = made.properties
    if made.type == "AWS::SQS::Queue":
        return {"QueueName": made.attributes("QueueName")}
    if made.type == MACHINE:
        logging = properties["LoggingConfiguration"]
        [to] = logging["Destinations"]
        group = to["CloudWatchLogsLogGroup"]["LogGroupArn"].partition(":log-group:")[2].removesuffix(":*")
        # Each level but OFF has the ends of executions: https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
        return {"kind": properties["StateMachineType"], "log": "" if logging["Level"] == "OFF" else group}
    if made.type == "AWS::ApiGateway::RestApi":
        return {"Name": properties["Name"]}
    return properties if made.type in (ALARM, FILTER, SCHEDULE) else {}


class Day:
    """What a stack publishes while things happen in it."""

    def __init__(self, stack: Stack) -> None:
        self.resources: Mapping[str, Mapping[str, Any]] = json.loads(stack.resources)
        self.metrics = Metrics()
        self._sweeps = sweeps_by(stack.sweep)

    def of(self, logical_id: str) -> Mapping[str, Any]:
        if logical_id not in self.resources:
            raise NotThere(logical_id)
        return self.resources[logical_id]

    def all(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return ((name, each) for name, each in self.resources.items() if each["type"] == kind)

    def aws(self, minute: int, metric: str, *values: float, late: int = 0, **dimensions: str) -> None:
        """A service publishes values, under each set of dimensions that it has."""
        namespace, _, name = metric.rpartition("/")
        sets, names = EMITTED[namespace]
        assert name in names
        exact = "GlobalSecondaryIndexName" in dimensions
        for each in sets:
            if set(each) <= set(dimensions) and not (exact and len(each) == 1):
                under = {dimension: dimensions[dimension] for dimension in each}
                self.metrics.put(minute, namespace, name, *values, dimensions=under, late=late)

    def sweep(self, minute: int, leases: Mapping[str, int] | None = None, rejected: int = 0) -> None:
        """A sweep publishes its counts, of the open operations by status and lease; None where it cannot count."""
        for each in self._sweeps.published(tuple(leases.items()) if leases is not None else None, rejected):
            dimensions = {dimension["Name"]: dimension["Value"] for dimension in each["Dimensions"]}
            self.metrics.put(minute, each["Namespace"], each["MetricName"], each["Value"], dimensions=dimensions)

    @property
    def minutes_between_sweeps(self) -> int:
        [(_, schedule)] = self.all(SCHEDULE)
        assert schedule.get("State", "ENABLED") == "ENABLED"
        rate = re.fullmatch(r"rate\((\d+) minutes?\)", schedule["ScheduleExpression"])
        assert rate and schedule["Target"]["Arn"] == self.of(SWEEP)["ref"]
        return int(rate[1])

    def ends(self, minute: int, machine: str, status: str, error: str | None = None, times: int = 1) -> None:
        """Executions end otherwise than with success: AWS counts them, and the log of their machine has a line each.

        An Express execution that timed out has a line in its log (Developer Guide, Debugging express workflows).
        ExecutionsTimedOut is "the number of executions that time out for any reason" (the page at EMITTED), also there.
        """
        made = self.of(machine)
        type_of_event, metric = ENDS[status]
        if made["kind"] == "STANDARD" or status == "FAILED":
            # Whether AWS publishes zeros is in no document.
            self.aws(minute, f"AWS/States/{metric}", times, 0, StateMachineArn=made["ref"])
        line = {"type": type_of_event, "details": {} if error is None else {"error": error}}
        for _, counter in self.all(FILTER):
            if counter["LogGroupName"] == made["log"] and counts(counter["FilterPattern"], line):
                [to] = counter["MetricTransformations"]
                values = [float(to["MetricValue"])] * times
                self.metrics.put(minute, to["MetricNamespace"], to["MetricName"], *values, dimensions={})

    def fails(self, minute: int, function: str, errors: int) -> None:
        """Some invocations of five fail."""
        results = [1] * errors + [0] * (5 - errors)
        self.aws(minute, "AWS/Lambda/Errors", *results, FunctionName=self.of(function)["ref"])

    def answers(self, minute: int, errors: int) -> None:
        """Some requests of five by HTTP are answered with 5xx."""
        api, [(_, stage)] = self.of("RequestApi"), self.all("AWS::ApiGateway::Stage")
        results = [1] * errors + [0] * (5 - errors)
        self.aws(minute, "AWS/ApiGateway/5XXError", *results, ApiName=api["Name"], Stage=stage["ref"])

    def queue(self, minute: int, metric: str, queue: str, value: int) -> None:
        """Some servers of the queue know less of its messages."""
        self.aws(minute, f"AWS/SQS/{metric}", 0, value // 2, value, QueueName=self.of(queue)["QueueName"])

    def rings(self, alarm: str, minutes: int) -> list[int]:
        """The minutes, at least so many, in which an alarm rings; in the others it is OK."""
        found = states(self.of(alarm), self.metrics, max(minutes, self.metrics.last + 1))
        assert set(found) <= {"OK", "ALARM"}
        return [minute for minute, state in enumerate(found) if state == "ALARM"]


ENDS = {
    "FAILED": ("ExecutionFailed", "ExecutionsFailed"),
    "ABORTED": ("ExecutionAborted", "ExecutionsAborted"),
    "TIMED_OUT": ("ExecutionTimedOut", "ExecutionsTimedOut"),
}
"""By status of an execution: the type of the last event of its log, and the metric that counts it."""


@functools.cache
def sweeps_by(definition: str) -> Sweeps:
    return Sweeps(json.loads(definition))


class Sweeps:
    """What the sweep of a deployed stack publishes."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        self._states = dict(states_of(definition))
        self._queries = self._evaluated(self._states["CountOpen"]["Items"], {})
        self._known: dict[Any, list[dict[str, Any]]] = {}

    def published(self, leases: tuple[tuple[str, int], ...] | None, rejected: int) -> list[dict[str, Any]]:
        """`leases` has when the lease of each open operation ends, from now, by status; None where none is counted."""
        key = (leases, rejected)
        if key not in self._known:
            counted = [self._counted(each, leases) for each in self._queries]
            knows = leases is not None
            call = self._evaluated(
                self._states["PublishMetrics"]["Arguments"],
                {
                    "counts": counted,
                    "swept": {"recovered": 0, "failed": 0},
                    "rejected": {"count": rejected, "isKnown": knows},
                },
            )
            self._known[key] = [{**each, "Namespace": call["Namespace"]} for each in call["MetricData"]]
        return self._known[key]

    @staticmethod
    def _counted(query: Mapping[str, Any], leases: tuple[tuple[str, int], ...] | None) -> dict[str, Any]:
        """What CountShard, or NotCounted, gives. Each operation is in the shard 3."""
        if leases is None:
            return {"name": query["name"], "isKnown": False}
        found = [each for each, lease in leases if f"{each}#3" == query["shard"] and NOW + lease < query["leaseBefore"]]
        return {"name": query["name"], "count": len(found), "isKnown": True}

    @staticmethod
    def _evaluated(node: Any, variables: Mapping[str, Any]) -> Any:
        machine = {"States": {"S": {"Type": "Task", "Resource": "", "Arguments": node}}}
        return State("S", machine, FAST).calls(variables)
