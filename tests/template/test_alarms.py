"""Rules for alarms: each has a target and a chosen threshold, and nothing that can be lost is without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local.template import load

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


def test_every_threshold_is_a_parameter_or_nothing_at_all(alarms: Resources) -> None:
    for name, alarm in alarms.items():
        threshold = alarm["Threshold"]
        assert threshold == 0 or threshold["Ref"].removesuffix("Seconds").endswith("Threshold"), name


@pytest.mark.parametrize("minutes", [1, 2, 3, 5, 10, 15, 30, 60])
def test_no_period_of_an_alarm_on_what_sweeps_count_is_without_a_sweep(minutes: int) -> None:
    template = load(TEMPLATE, {"RecoveryPeriodMinutes": minutes})
    period = int(template.section("Mappings")["SweepAlarms"][str(minutes)]["Period"])
    assert period >= 2 * 60 * minutes
    for name in ("QuarantinedOperationsAlarm", "OverdueOperationsAlarm"):
        alarm = template.section("Resources")[name]["Properties"]
        assert alarm["Period"]["Fn::FindInMap"][0] == "SweepAlarms"
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
    for name in ("QuarantinedOperations", "OverdueOperations"):
        alarm = alarms[f"{name}Alarm"]
        assert (alarm["Namespace"], alarm["MetricName"], alarm["Dimensions"]) == ("Once", name, dimensions)
        assert f"'name': '{name}'" in published
