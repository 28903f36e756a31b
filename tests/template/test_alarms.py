"""Rules for alarms: each has a target and a chosen threshold, and nothing that can be lost is without one."""

from __future__ import annotations

import itertools
import math
import statistics
from pathlib import Path
from typing import Any

import pytest
from template_parts import resolver

from oncekit.cli.deployed.rejected.queue import HIDDEN_SECONDS
from oncekit.local.template import load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
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
        for metric, threshold in (("Errors", "FunctionErrorsThreshold"), ("Throttles", "ThrottlesThreshold")):
            alarm = alarms[f"{name.removesuffix('Function')}{metric}Alarm"]
            assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", metric, "Sum")
            assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": name}}]
            assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", {"Ref": threshold})


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
    threshold = int(load(TEMPLATE).parameters[alarm["Threshold"]["Ref"]])
    rang = any(
        sum(each > threshold for each in growth[at : at + within]) >= needed for at in range(len(growth) - within + 1)
    )
    assert rang is rings


DAY = 24 * 60
LOOKS = range(0, 2 * DAY, 20)
"""Minutes at which somebody looks at the queue, again and again."""
HIDDEN = {minute + while_ for minute in LOOKS for while_ in range(math.ceil(HIDDEN_SECONDS / 60))}
WAITING = {
    "a message that somebody looks at": ([float(minute not in HIDDEN) for minute in range(2 * DAY)], True),
    "a message that is sent within the first hour": ([0.0] * 59 + [1.0] * 2 * DAY, True),
    "a message that is replayed in the evening": ([1.0] * 10 * 60 + [0.0] * DAY, False),
    "one each hour, and replayed at once": (([1.0] * 20 + [0.0] * 40) * 48, False),
    "an empty queue": ([0.0] * 2 * DAY, False),
}
"""The messages that can be seen in the rejected-requests queue, minute by minute, and whether the alarm is to ring."""


@pytest.mark.parametrize(("visible", "rings"), WAITING.values(), ids=WAITING)
def test_a_refused_request_that_waits_for_a_day_rings_though_somebody_looks(
    alarms: Resources, visible: list[float], rings: bool
) -> None:
    alarm = alarms["RejectedRequestsAgeAlarm"]
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible", (
        "SQS's age leaves out what was received three times"
    )
    minutes, statistic = alarm["Period"] // 60, {"Average": statistics.mean, "Minimum": min}[alarm["Statistic"]]
    points = [statistic(visible[at : at + minutes]) for at in range(0, len(visible) - minutes + 1, minutes)]
    within = int(resolver(load(TEMPLATE)).resolve(alarm["EvaluationPeriods"]))
    above = [each > alarm["Threshold"] for each in points]
    assert any(all(above[at : at + within]) for at in range(len(above) - within + 1)) is rings


@pytest.mark.parametrize("hours", [1, 168])
def test_no_alarm_looks_back_further_than_it_may(alarms: Resources, hours: int) -> None:
    """https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html, Period."""
    resolve = resolver(load(TEMPLATE, {"RejectedRequestsAgeThresholdHours": hours})).resolve
    for name, alarm in alarms.items():
        inner = [each["MetricStat"]["Period"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
        for period in (int(resolve(each)) for each in inner or [alarm["Period"]]):
            most = 86_400 if period < 3600 else 7 * 86_400
            assert period * int(resolve(alarm["EvaluationPeriods"])) <= most, name


@pytest.mark.parametrize("minutes", [1, 2, 3, 5, 10, 15, 30, 60])
def test_no_period_of_an_alarm_on_what_sweeps_count_is_without_a_sweep(minutes: int) -> None:
    template = load(TEMPLATE, {"RecoveryPeriodMinutes": minutes})
    alarms_on = template.section("Mappings")["SweepAlarms"][str(minutes)]
    period = int(alarms_on["Period"])
    assert period >= 2 * 60 * minutes
    assert alarms_on["Hour"] == max(3600, period), "an hour, or as long as it takes to see two sweeps"
    for name in ("QuarantinedOperationsAlarm", "OverdueOperationsAlarm", "OpenOperationsAlarm"):
        alarm = template.section("Resources")[name]["Properties"]
        assert alarm["Period"]["Fn::FindInMap"] == ["SweepAlarms", {"Ref": "RecoveryPeriodMinutes"}, "Period"]
        assert alarm["EvaluationPeriods"] * period <= 86_400


def test_no_data_is_no_alarm(alarms: Resources) -> None:
    assert {alarm["TreatMissingData"] for alarm in alarms.values()} == {"notBreaching"}


def test_every_queue_of_what_was_lost_has_an_alarm(alarms: Resources, resources: Resources) -> None:
    watched = {
        alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for alarm in alarms.values()
        if alarm.get("MetricName") == "ApproximateNumberOfMessagesVisible"
    }
    queues = {name for name, r in resources.items() if r["Type"] == "AWS::SQS::Queue"}
    assert {name for name in queues if "DeadLetter" in name or "Rejected" in name} == watched


def test_what_recovery_publishes_is_what_the_alarms_look_at(
    alarms: Resources, definitions: dict[str, dict[str, Any]]
) -> None:
    published = str(definitions["recovery"]["States"]["CountOperations"])
    dimensions = [{"Name": "Stack", "Value": {"Ref": "AWS::StackName"}}]
    for name in ("QuarantinedOperations", "OverdueOperations", "OpenOperations"):
        alarm = alarms[f"{name}Alarm"]
        assert (alarm["Namespace"], alarm["MetricName"], alarm["Dimensions"]) == ("Once", name, dimensions)
        assert f"'name': '{name}'" in published
