"""Rules for alarms: each has a target and a chosen threshold, and nothing that can be lost is without one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cloudwatch import counts
from template_parts import references

from oncekit.gate.errors import names
from oncekit.gate.machine import Machine
from oncekit.gate.project import Project
from oncekit.local import LocalCloud

ROOT = Path(__file__).parents[2]
Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def alarms(resources: Resources) -> Resources:
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == "AWS::CloudWatch::Alarm"}


def test_every_alarm_says_what_is_wrong_and_tells_the_topic(alarms: Resources) -> None:
    assert len(alarms) >= 12
    for name, alarm in alarms.items():
        assert name.endswith("Alarm")
        assert len(alarm["AlarmDescription"]) > 40, name
        assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": "AlarmTopic"}], name


def test_no_data_is_an_alarm_only_where_sweeps_would_publish_some(alarms: Resources) -> None:
    rings = [name for name, alarm in alarms.items() if alarm["TreatMissingData"] not in ("notBreaching", "ignore")]
    assert rings == ["OverdueOperationsAlarm"]


def test_a_sweep_that_failed_once_rings_nobody_and_sweeps_that_go_on_failing_do(alarms: Resources) -> None:
    """The next sweep, a minute later, tries again what could not be done."""
    alarm = alarms["RecoveryFailingAlarm"]
    assert 1 <= alarm["Threshold"] < alarm["Period"] / 60 - 1


def metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that it watches, each of which AWS bills."""
    inner = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    return inner or [alarm]


WATCHED = {
    "AWS::Lambda::Function": {"Errors"},
    "AWS::DynamoDB::Table": {"ReadThrottleEvents", "WriteThrottleEvents"},
    "STANDARD": {"ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted", "ExecutionThrottled"},
    "EXPRESS": {"ExecutionsFailed"},
    "sweep": {"ExecutionsFailed"},
    "queue": {"ApproximateAgeOfOldestMessage"},
    "dead letters": {"ApproximateNumberOfMessagesVisible"},
    "reader of a stream": {"IteratorAge"},
}
"""By kind of resource, what can go wrong with it, by AWS's lists of metrics. That an Express execution timed out is
counted in its log. A sweep that does not run to its end publishes nothing, which OverdueOperationsAlarm tells. What the
reader of a stream fails at comes again, and gets older."""


def kind_of(name: str, resource: dict[str, Any]) -> str | None:
    if name == "RecoveryStateMachine":
        return "sweep"
    if resource["Type"] == "AWS::SQS::Queue":
        return "dead letters" if "DeadLetter" in name else "queue"
    if name == "AnnounceEndFunction":
        return "reader of a stream"
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
        (next(references(each["Dimensions"][0]["Value"])), each["MetricName"])
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
    counted = {each["Properties"]["MetricTransformations"][0]["MetricName"]["Fn::Sub"] for each in filters.values()}
    ours = [each for each in alarms.values() if each.get("Namespace") == "Once"]
    sweeps = [each for each in ours if "Dimensions" in each]
    watched = {each["MetricName"] for each in sweeps}
    assert watched == published - {"OpenOperations", "RecoveredOperations"}  # these two are no trouble
    assert {each["MetricName"]["Fn::Sub"] for each in ours if "Dimensions" not in each} == counted
    assert all(each["Period"] >= 120 for each in sweeps)


def test_an_alarm_over_what_may_not_be_there_has_a_value_in_every_period(alarms: Resources) -> None:
    """What FILL makes of a metric that never had a value is in no document, and an alarm on DynamoDB's metrics stays as
    it is while there is none (V47)."""
    for name, alarm in alarms.items():
        watched = metrics(alarm)
        assert not any("FILL" in str(each.get("Expression")) for each in alarm.get("Metrics", ())), name
        if any(each["Namespace"] == "AWS/DynamoDB" for each in watched):
            assert any(each["Namespace"] == "Once" for each in watched), f"{name} needs a number of the sweep"


LANES = ("operation", "fast")


@pytest.fixture(scope="module")
def machines() -> dict[str, Machine]:
    found = Project(ROOT / "template.yaml").machines_under({})
    return {name: each for each in found for name in LANES if each.file.endswith(f"/{name}.asl.yaml")}


@pytest.mark.aws(unconfirmed="V87")
@pytest.mark.parametrize(
    ("lane", "name"), [("operation", "DeadExecutionsFilter"), ("fast", "FastDeadExecutionsFilter")]
)
def test_an_execution_counts_as_dead_by_an_error_of_aws_and_not_by_an_end(
    machines: dict[str, Machine], resources: Resources, lane: str, name: str
) -> None:
    pattern = resources[name]["Properties"]["FilterPattern"]

    def is_dead(error: str | None) -> bool:
        return counts(pattern, {"type": "ExecutionFailed", "details": {} if error is None else {"error": error}})

    states = list(machines[lane].states)
    raised = {error for state in states if state.type in ("Task", "Map") for error in names(state)}
    of_our_own = {each for each in raised if "." not in each}
    for error in (raised - of_our_own) | {"Sandbox.Timedout", "Runtime.ExitError", "ClientError", "ReadTimeoutError"}:
        assert is_dead(error), error
    ends = [text for state in states if state.type == "Fail" for text in re.findall(r"\b[A-Z]\w+", state.raw["Error"])]
    refused = [word for state in states for word in re.findall(r"'?refusedAs'?: '?(\w+)", str(state.raw))]
    assert len(ends) > 4 and refused
    for error in (*ends, *refused, None):
        assert not is_dead(error), error
