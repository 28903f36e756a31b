"""Rules for alarms: each has a target and a chosen threshold, and nothing that can be lost is without one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from oncekit.local import LocalCloud

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


def test_every_function_has_alarms_of_its_own(alarms: Resources, functions: Resources) -> None:
    for name in functions:
        for metric in ("Errors", "Throttles"):
            alarm = alarms[f"{name.removesuffix('Function')}{metric}Alarm"]
            assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", metric, "Sum")
            assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": name}}]
            assert alarm["ComparisonOperator"] == "GreaterThanThreshold"


HOUR = 12
"""Sweeps in an hour."""
BURST = [[5] * HOUR] * 3 + [[5] * 3 + [4000] * 9, [4000] * HOUR, [2000] * 6 + [5] * 6] + [[5] * HOUR] * 4
LEAK = [[5 + 150 * hour + sweep for sweep in range(HOUR)] for hour in range(8)]
HIGHER_AND_HIGHER = [[5] * 6 + [300 * hour] * 6 for hour in range(1, 9)]
MORE_TRAFFIC = [[5] * HOUR] * 4 + [[900, 1000] * 6] * 6


@pytest.mark.parametrize(
    ("counts", "rings"), [(BURST, False), (HIGHER_AND_HIGHER, False), (MORE_TRAFFIC, False), (LEAK, True)]
)
def test_open_operations_that_only_grow_ring_and_a_burst_does_not(
    alarms: Resources, counts: list[list[int]], rings: bool
) -> None:
    alarm = alarms["OpenOperationsGrowthAlarm"]
    expression, measured = alarm["Metrics"]
    assert (expression["Expression"], measured["Id"]) == ("DIFF(open)", "open")
    statistic = {"Minimum": min, "Maximum": max}[measured["MetricStat"]["Stat"]]
    points = [statistic(hour) for hour in counts]
    growth = [after - before for before, after in itertools.pairwise(points)]
    within, needed = alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]
    threshold = alarm["Threshold"]
    rang = any(
        sum(each > threshold for each in growth[at : at + within]) >= needed for at in range(len(growth) - within + 1)
    )
    assert rang is rings


def test_no_data_is_no_alarm(alarms: Resources) -> None:
    assert {alarm["TreatMissingData"] for alarm in alarms.values()} == {"notBreaching"}


def test_every_queue_of_what_was_lost_has_an_alarm(alarms: Resources, resources: Resources) -> None:
    watched = {
        alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for alarm in alarms.values()
        if alarm.get("MetricName") == "ApproximateNumberOfMessagesVisible"
    }
    queues = {name for name, r in resources.items() if r["Type"] == "AWS::SQS::Queue"}
    assert {name for name in queues if "DeadLetter" in name} == watched


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
    assert filtered == {"DeadExecutionsFilter"}
    for name, alarm in alarms.items():
        for each in (each["MetricStat"] for each in alarm.get("Metrics", ()) if "MetricStat" in each):
            if each["Metric"]["Namespace"] == "Once":
                assert each["Metric"]["MetricName"] in published, name
        if alarm.get("Namespace") == "Once" and isinstance(alarm["MetricName"], str):
            assert alarm["MetricName"] in published, name
            assert alarm["Period"] >= 120, name
