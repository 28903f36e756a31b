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


def test_every_function_has_an_alarm_of_its_own(alarms: Resources, functions: Resources) -> None:
    for name in functions:
        alarm = alarms[f"{name.removesuffix('Function')}ErrorsAlarm"]
        assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", "Errors", "Sum")
        assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": name}}]


def test_no_data_is_an_alarm_only_where_sweeps_would_publish_some(alarms: Resources) -> None:
    rings = [name for name, alarm in alarms.items() if alarm["TreatMissingData"] != "notBreaching"]
    assert rings == ["OverdueOperationsAlarm"]


def metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that it watches, each of which AWS bills."""
    inner = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    return inner or [alarm]


def test_every_queue_of_what_was_lost_has_an_alarm(alarms: Resources, resources: Resources) -> None:
    watched = {
        each["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for alarm in alarms.values()
        for each in metrics(alarm)
        if each["Namespace"] == "AWS/SQS" and "DeadLetter" in str(each["Dimensions"])
    }
    queues = {name for name, r in resources.items() if r["Type"] == "AWS::SQS::Queue"}
    assert {name for name in queues if "DeadLetter" in name} == watched


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
    filtered = {name for name, each in resources.items() if each["Type"] == "AWS::Logs::MetricFilter"}
    assert filtered == {"DeadExecutionsFilter", "FastDeadExecutionsFilter"}
    for name, alarm in alarms.items():
        for each in (each["MetricStat"] for each in alarm.get("Metrics", ()) if "MetricStat" in each):
            if each["Metric"]["Namespace"] == "Once":
                assert each["Metric"]["MetricName"] in published, name
        if alarm.get("Namespace") == "Once" and isinstance(alarm["MetricName"], str):
            assert alarm["MetricName"] in published, name
            assert alarm["Period"] >= 120, name
