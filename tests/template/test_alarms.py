"""Rules for alarms: each has a target and a chosen threshold, and nothing that can be lost is without one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from oncekit.local import LocalCloud

ROOT = Path(__file__).parents[2]
Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def alarms(resources: Resources) -> Resources:
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == "AWS::CloudWatch::Alarm"}


def test_every_alarm_says_what_is_wrong_and_tells_the_topic(alarms: Resources) -> None:
    assert 12 <= len(alarms) <= 18
    for name, alarm in alarms.items():
        assert name.endswith("Alarm")
        assert len(alarm["AlarmDescription"]) > 40, name
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": "AlarmTopic"}], name


def test_no_data_is_an_alarm_only_where_sweeps_would_publish_some(alarms: Resources) -> None:
    rings = [name for name, alarm in alarms.items() if alarm["TreatMissingData"] != "notBreaching"]
    assert rings == ["OverdueOperationsAlarm"]


def metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that it watches, each of which AWS bills."""
    inner = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    return inner or [alarm]


WATCHED = {
    "AWS::Lambda::Function": {"Errors"},
    "AWS::DynamoDB::Table": {"ReadThrottleEvents", "WriteThrottleEvents"},
    "STANDARD": {"ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted", "ExecutionThrottled"},
    "EXPRESS": {"ExecutionsFailed", "ExecutionsTimedOut"},
    "sweep": {"ExecutionsFailed"},
    "queue": {"ApproximateAgeOfOldestMessage"},
    "dead letters": {"ApproximateNumberOfMessagesVisible"},
}
"""By kind of resource, what can go wrong with it, by AWS's lists of metrics. A sweep that does not run to its end
publishes nothing, which OverdueOperationsAlarm tells."""


def kind_of(name: str, resource: dict[str, Any]) -> str | None:
    if name == "RecoveryStateMachine":
        return "sweep"
    if resource["Type"] == "AWS::SQS::Queue":
        return "dead letters" if "DeadLetter" in name else "queue"
    if resource["Type"] == "AWS::Serverless::Function":
        return "AWS::Lambda::Function"
    if resource["Type"] == "AWS::DynamoDB::Table":
        return resource["Type"] if name == "IdempotencyTable" else None
    if resource["Type"] == "AWS::StepFunctions::StateMachine":
        return str(resource["Properties"]["StateMachineType"])
    return None


def test_whatever_can_go_wrong_with_a_resource_is_watched_by_one_alarm(alarms: Resources, resources: Resources) -> None:
    """Beside those: what a sweep publishes, Throttles of all functions, 5XXError of the API."""
    watched = [
        (each["Dimensions"][0]["Value"]["Ref"], each["MetricName"])
        for alarm in alarms.values()
        for each in metrics(alarm)
        if each.get("Dimensions") and each["Namespace"] not in ("Once", "AWS/ApiGateway")
    ]
    wanted = {
        (name, metric)
        for name, resource in resources.items()
        if (kind := kind_of(name, resource))
        for metric in WATCHED[kind]
    }
    assert set(watched) == wanted
    twice = {each for each in watched if watched.count(each) > 1}
    assert twice == {("IdempotencyTable", "WriteThrottleEvents")}  # the table, and its index
    others = [each for alarm in alarms.values() for each in metrics(alarm) if not each.get("Dimensions")]
    assert [each["MetricName"] for each in others if each["Namespace"] != "Once"] == ["Throttles"]
    [http] = [each for each in alarms.values() if each.get("Namespace") == "AWS/ApiGateway"]
    assert http["MetricName"] == "5XXError"


def test_the_page_says_what_the_alarms_cost_a_month(alarms: Resources) -> None:
    """By *Amazon CloudWatch Pricing*: each metric of an alarm of standard resolution is billed."""
    text = (ROOT / "docs" / "cost.md").read_text(encoding="utf-8")
    found = re.search(r"The (\d+) alarms watch (\d+) metrics, at \$0\.10 each: \$(\d+\.\d\d) a month", text)
    assert found
    watched = sum(len(metrics(alarm)) for alarm in alarms.values())
    assert found.groups() == (str(len(alarms)), str(watched), f"{watched * 0.1:.2f}")


def test_what_the_alarms_on_operations_look_at_a_sweep_publishes(
    cloud: LocalCloud, alarms: Resources, resources: Resources
) -> None:
    """Two sweeps in each period, so that none is without a number."""
    cloud.run({"operation": "nobody-has-it", "idempotencyKey": "k", "payload": {}})
    cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["RecoveryStateMachineArn"], name="sweep", input="{}"
    )
    cloud.settle()
    metrics = cloud.client("cloudwatch").list_metrics(Namespace="Once")["Metrics"]
    published = {each["MetricName"] for each in metrics}
    filters = {name: each for name, each in resources.items() if each["Type"] == "AWS::Logs::MetricFilter"}
    assert set(filters) == {"DeadExecutionsFilter", "FastDeadExecutionsFilter"}
    dead = {each["Properties"]["MetricTransformations"][0]["MetricName"]["Fn::Sub"] for each in filters.values()}
    ours = [each for each in alarms.values() if each.get("Namespace") == "Once"]
    sweeps = [each for each in ours if "Dimensions" in each]
    watched = {each["MetricName"] for each in sweeps}
    assert watched == published - {"OpenOperations", "RecoveredOperations"}  # these two are no trouble
    assert [each["MetricName"]["Fn::Sub"] for each in ours if "Dimensions" not in each] == list(dead)
    assert all(each["Period"] >= 120 for each in sweeps)
