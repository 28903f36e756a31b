"""What sets each alarm off: the metric that it looks at, over which time, and from which value on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from template_parts import PSEUDO, was_added, written_with

from oncekit.local.intrinsics import Resolver
from oncekit.local.template import Template, load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
EVERYTHING = {"Rollout": "Canary", "OpenOperationsThreshold": 500}
"""Parameters with which every alarm is made."""
FIVE_MINUTES = 300
TWO_SWEEPS = 600
OPERATIONS = {"StateMachineArn": "OperationStateMachine"}
FAST = {"StateMachineArn": "FastStateMachine"}
RECOVERY = {"StateMachineArn": "RecoveryStateMachine"}
STACK = {"Stack": "once"}

Looks = tuple[str, str, Mapping[str, str], str, int]
"""Namespace, metric, dimensions, statistic, seconds."""


def queue(name: str, metric: str = "ApproximateNumberOfMessagesVisible", seconds: int = FIVE_MINUTES) -> Looks:
    return "AWS/SQS", metric, {"QueueName": f"{name}.QueueName"}, "Maximum", seconds


def executions(metric: str, machine: Mapping[str, str] = OPERATIONS) -> Looks:
    return "AWS/States", metric, machine, "Sum", FIVE_MINUTES


def operations(metric: str, statistic: str = "Maximum") -> Looks:
    return "Once", metric, STACK, statistic, TWO_SWEEPS


def table(metric: str, **more: str) -> Looks:
    return "AWS/DynamoDB", metric, {"TableName": "IdempotencyTable", **more}, "Sum", FIVE_MINUTES


def pipe(metric: str) -> Looks:
    return "AWS/EventBridge/Pipes", metric, {"PipeName": "RequestPipe"}, "Sum", FIVE_MINUTES


def api(metric: str, statistic: str) -> Looks:
    return "AWS/ApiGateway", metric, {"ApiName": "once-requests", "Stage": "live"}, statistic, FIVE_MINUTES


# Alarm, what it looks at, the periods that have to be above the threshold, the threshold.
ONE_METRIC: dict[str, tuple[Looks, int, str]] = {
    "QuarantinedOperations": (operations("QuarantinedOperations"), 1, "QuarantinedOperationsThreshold"),
    "OverdueOperations": (operations("OverdueOperations", "Minimum"), 2, "OverdueOperationsThreshold"),
    "OpenOperations": (operations("OpenOperations"), 1, "OpenOperationsThreshold"),
    "FailedExecutions": (executions("ExecutionsFailed"), 1, "FailedExecutionsThreshold"),
    "TimedOutExecutions": (executions("ExecutionsTimedOut"), 1, "DeadExecutionsThreshold"),
    "AbortedExecutions": (executions("ExecutionsAborted"), 1, "DeadExecutionsThreshold"),
    "DeadExecutions": (
        ("AWS/Events", "Invocations", {"RuleName": "DeadExecutionRule"}, "Sum", FIVE_MINUTES),
        1,
        "DeadExecutionsThreshold",
    ),
    "ThrottledExecutions": (executions("ExecutionThrottled"), 1, "ThrottlesThreshold"),
    "FastFailedExecutions": (executions("ExecutionsFailed", FAST), 1, "FailedExecutionsThreshold"),
    "FastTimedOutExecutions": (executions("ExecutionsTimedOut", FAST), 1, "DeadExecutionsThreshold"),
    "RejectedRequests": (queue("RejectedRequestsQueue"), 1, "RejectedRequestsThreshold"),
    "RecoveryDeadLetter": (queue("RecoveryDeadLetterQueue"), 1, ""),
    "EventDeadLetter": (queue("EventDeadLetterQueue"), 1, ""),
    "RequestDeadLetter": (queue("RequestDeadLetterQueue"), 1, ""),
    "RequestApiErrors": (api("5XXError", "Sum"), 1, "HttpErrorsThreshold"),
    "RequestApiLatency": (api("Latency", "p99"), 1, "HttpLatencyThresholdMilliseconds"),
    "RequestAge": (queue("RequestQueue", "ApproximateAgeOfOldestMessage", 60), 5, "RequestAgeThresholdSeconds"),
}
SUMS: dict[str, tuple[tuple[Looks, ...], str]] = {
    "RecoveryFailing": (
        tuple(
            executions(metric, RECOVERY) for metric in ("ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted")
        ),
        "",
    ),
    "RequestPipeFailing": ((pipe("ExecutionFailed"), pipe("ExecutionTimeout")), "PipeFailuresThreshold"),
    "TableThrottles": (
        (
            table("ReadThrottleEvents"),
            table("WriteThrottleEvents"),
            table("WriteThrottleEvents", GlobalSecondaryIndexName="open-operations"),
        ),
        "ThrottlesThreshold",
    ),
    "TableErrors": (
        tuple(
            table("SystemErrors", Operation=each) for each in ("UpdateItem", "GetItem", "Query", "TransactWriteItems")
        ),
        "TableErrorsThreshold",
    ),
}
FUNCTIONS = ("CacheResponse", "ChargePayment", "PlaceOrder", "BuildReport")


@pytest.fixture(scope="module")
def deployed() -> Template:
    """The template with every alarm made."""
    return load(TEMPLATE, EVERYTHING)


@pytest.fixture(scope="module")
def alarms(deployed: Template) -> dict[str, dict[str, Any]]:
    """The settings of every alarm that is made, by its name."""
    resolved = with_versions(deployed)
    made = {
        name.removesuffix("Alarm"): each
        for name, each in deployed.section("Resources").items()
        if each["Type"] == "AWS::CloudWatch::Alarm" and not was_added(name, deployed.section("Resources"))
    }
    assert all(resolved.holds(each["Condition"]) for each in made.values() if "Condition" in each)
    return {name: resolved.resolve(each["Properties"]) for name, each in made.items()}


VERSIONS = {
    "OperationStateMachineVersion": "arn:aws:states:us-east-1:123456789012:stateMachine:Operation:17",
    "FastStateMachineVersion": "arn:aws:states:us-east-1:123456789012:stateMachine:Fast:23",
}


def with_versions(template: Template) -> Resolver:
    """Resolves with the ARNs of the state machines' versions, whose last part is a dimension."""
    return Resolver(
        {**template.parameters, **PSEUDO},
        template.section("Mappings"),
        template.section("Conditions"),
        lambda name: VERSIONS.get(name, name),
        lambda name, attribute: f"{name}.{attribute}",
    )


def looks(metric: Mapping[str, Any], statistic: str, seconds: Any) -> Looks:
    dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
    return metric["Namespace"], metric["MetricName"], dimensions, statistic, int(seconds)


def is_silent_below(deployed: Template, alarm: Mapping[str, Any], threshold: str, periods: int = 1) -> bool:
    """Whether it rings for more than the threshold in so many periods, and only then; and says so to the topic."""
    allowed = deployed.parameters[threshold] if threshold else 0
    assert float(alarm["Threshold"]) == float(allowed)
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
    assert alarm["TreatMissingData"] == "notBreaching"
    assert (alarm["EvaluationPeriods"], alarm.get("DatapointsToAlarm", periods)) == (periods, periods)
    assert alarm["AlarmActions"] == alarm["OKActions"] == ["AlarmTopic"]
    return True


def test_every_alarm_is_here(alarms: dict[str, Any]) -> None:
    of_functions = {f"{name}{kind}" for name in FUNCTIONS for kind in ("Errors", "Throttles", "Rollout")}
    others = {"OperationRollout", "FastRollout", "OpenOperationsGrowth", "RejectedRequestsAge"}
    assert set(alarms) == {*ONE_METRIC, *SUMS, *of_functions, *others}


@pytest.mark.parametrize("name", ONE_METRIC)
def test_an_alarm_rings_for_more_of_its_metric_than_allowed(
    name: str, alarms: dict[str, Any], deployed: Template
) -> None:
    alarm, (wanted, periods, threshold) = alarms[name], ONE_METRIC[name]
    assert looks(alarm, alarm.get("Statistic") or alarm["ExtendedStatistic"], alarm["Period"]) == wanted
    assert is_silent_below(deployed, alarm, threshold, periods)


@pytest.mark.parametrize("name", SUMS)
def test_an_alarm_over_several_metrics_rings_for_more_of_their_sum_than_allowed(
    name: str, alarms: dict[str, Any], deployed: Template
) -> None:
    alarm, (wanted, threshold) = alarms[name], SUMS[name]
    total, *metrics = alarm["Metrics"]
    filled = ", ".join(f"FILL({each['Id']}, 0)" for each in metrics)  # without a value it counts as none
    assert total["Expression"] in ("SUM(METRICS())", f"SUM([{filled}])")
    assert total.get("ReturnData", True) is True
    assert tuple(measured(each) for each in metrics) == wanted
    assert is_silent_below(deployed, alarm, threshold)


def measured(each: Mapping[str, Any]) -> Looks:
    """What one metric of several looks at; its own value is not what the alarm is about."""
    assert each["ReturnData"] is False
    statistic = each["MetricStat"]
    return looks(statistic["Metric"], statistic["Stat"], statistic["Period"])


def test_every_metric_of_an_alarm_has_a_name_of_its_own(alarms: dict[str, Any]) -> None:
    for name, alarm in alarms.items():
        ids = [each["Id"] for each in alarm.get("Metrics", ())]
        assert len(set(ids)) == len(ids), name
        assert all(each.get("Label", "a label") for each in alarm.get("Metrics", ())), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_functions_errors_and_throttles_ring(name: str, alarms: dict[str, Any], deployed: Template) -> None:
    for metric, threshold in (("Errors", "FunctionErrorsThreshold"), ("Throttles", "ThrottlesThreshold")):
        alarm = alarms[f"{name}{metric}"]
        wanted = ("AWS/Lambda", metric, {"FunctionName": f"{name}Function"}, "Sum", FIVE_MINUTES)
        assert looks(alarm, alarm.get("Statistic") or alarm["ExtendedStatistic"], alarm["Period"]) == wanted
        assert is_silent_below(deployed, alarm, threshold)


NEW = "FILL(started, 0)"
EVERYTHING_STARTED = "FILL(allStarted, 0)"
EVERYTHING_FAILED = "FILL(allFailed, 0)"
WORSE = (
    f"IF(failed > 3 AND {EVERYTHING_STARTED} > {NEW} AND {EVERYTHING_FAILED} >= failed AND failed * "
    f"({EVERYTHING_STARTED} - {NEW}) >= 2 * ({EVERYTHING_FAILED} - failed) * {NEW}, failed, 0)"
)


def of_the_rollout(alarm: Mapping[str, Any]) -> dict[str, Looks]:
    worse, *metrics = alarm["Metrics"]
    assert (worse["Id"], worse.get("ReturnData", True)) == ("worse", True)
    assert worse["Expression"] == WORSE
    return {each["Id"]: measured(each) for each in metrics}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_rollout_of_a_function_looks_at_the_new_version_beside_all_of_the_alias(
    name: str, alarms: dict[str, Any], deployed: Template
) -> None:
    function = f"{name}Function"
    everything = {"FunctionName": function, "Resource": f"{function}:live"}
    found = of_the_rollout(alarms[f"{name}Rollout"])
    version = found["failed"][2]["ExecutedVersion"]
    assert version.startswith(f"{function}Version")
    assert version.endswith(".Version")
    new = {**everything, "ExecutedVersion": version}
    assert found == {
        "failed": ("AWS/Lambda", "Errors", new, "Sum", FIVE_MINUTES),
        "started": ("AWS/Lambda", "Invocations", new, "Sum", FIVE_MINUTES),
        "allFailed": ("AWS/Lambda", "Errors", everything, "Sum", FIVE_MINUTES),
        "allStarted": ("AWS/Lambda", "Invocations", everything, "Sum", FIVE_MINUTES),
    }
    assert is_silent_below(deployed, alarms[f"{name}Rollout"], "")


@pytest.mark.parametrize(
    ("alarm", "machine", "version"), [("OperationRollout", OPERATIONS, "17"), ("FastRollout", FAST, "23")]
)
def test_a_rollout_of_a_state_machine_looks_at_the_new_version_beside_all_of_the_alias(
    alarm: str, machine: dict[str, str], version: str, deployed: Template, alarms: dict[str, Any]
) -> None:
    found = of_the_rollout(alarms[alarm])
    new, everything = {**machine, "Version": version}, {**machine, "Alias": "live"}
    assert found == {
        "failed": ("AWS/States", "ExecutionsFailed", new, "Sum", FIVE_MINUTES),
        "started": ("AWS/States", "ExecutionsStarted", new, "Sum", FIVE_MINUTES),
        "allFailed": ("AWS/States", "ExecutionsFailed", everything, "Sum", FIVE_MINUTES),
        "allStarted": ("AWS/States", "ExecutionsStarted", everything, "Sum", FIVE_MINUTES),
    }
    assert is_silent_below(deployed, alarms[alarm], "")


def test_growth_looks_at_the_lowest_number_of_each_hour(alarms: dict[str, Any], deployed: Template) -> None:
    alarm = alarms["OpenOperationsGrowth"]
    growth, metric = alarm["Metrics"]
    assert (growth["Expression"], growth.get("ReturnData", True), metric["Id"]) == ("DIFF(open)", True, "open")
    assert measured(metric) == ("Once", "OpenOperations", STACK, "Minimum", 3600)
    assert (alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (4, 3)
    assert is_silent_below(
        deployed, {**alarm, "EvaluationPeriods": 1, "DatapointsToAlarm": 1}, "OpenOperationsGrowthThreshold"
    )


@pytest.mark.parametrize("hours", [1, 24, 168])
def test_refused_requests_ring_that_wait_for_more_than_half_of_each_of_so_many_hours(hours: int) -> None:
    known, resources = written_with(RejectedRequestsAgeThresholdHours=hours)
    alarm = known.resolve(resources["RejectedRequestsAgeAlarm"]["Properties"])
    visible = ("AWS/SQS", "ApproximateNumberOfMessagesVisible")
    assert (alarm["Namespace"], alarm["MetricName"]) == visible
    assert (alarm["Statistic"], int(alarm["Period"]), int(alarm["EvaluationPeriods"])) == ("Average", 3600, hours)
    assert (alarm["ComparisonOperator"], float(alarm["Threshold"])) == ("GreaterThanThreshold", 0.5)
    assert alarm["TreatMissingData"] == "notBreaching" and "DatapointsToAlarm" not in alarm
    assert alarm["Dimensions"][0]["Name"] == "QueueName"


@pytest.mark.parametrize(
    ("minutes", "seconds"), [(1, 120), (2, 240), (3, 360), (5, 600), (10, 1200), (15, 1800), (30, 3600), (60, 7200)]
)
def test_what_sweeps_count_is_looked_at_over_two_sweeps(minutes: int, seconds: int) -> None:
    known, resources = written_with(RecoveryPeriodMinutes=minutes)
    for name in ("QuarantinedOperations", "OverdueOperations", "OpenOperations"):
        assert int(known.resolve(resources[f"{name}Alarm"]["Properties"]["Period"])) == seconds


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, {"OperationRollout", "FastRollout", "OpenOperations", *(f"{name}Rollout" for name in FUNCTIONS)}),
        ({**EVERYTHING, "EventTrigger": "false"}, {"EventDeadLetter"}),
        (
            {**EVERYTHING, "QueueTrigger": "false"},
            {"RequestDeadLetter", "RequestAge", "RequestPipeFailing"},
        ),
        ({**EVERYTHING, "HttpTrigger": "false"}, {"RequestApiErrors", "RequestApiLatency"}),
        ({**EVERYTHING, "EncryptionKeyArn": "arn:aws:kms:us-east-1:123456789012:key/k"}, {"DeadExecutions"}),
    ],
)
def test_an_alarm_is_made_where_there_is_something_to_look_at(given: dict[str, Any], missing: set[str]) -> None:
    known, resources = written_with(**given)
    found = {
        name.removesuffix("Alarm")
        for name, each in resources.items()
        if each["Type"] == "AWS::CloudWatch::Alarm" and "Condition" in each and not known.holds(each["Condition"])
        if not was_added(name, resources)
    }
    assert found == missing
