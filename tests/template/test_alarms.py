"""Rules for alarms: each has a target and a chosen threshold, and nothing that can be lost is without one."""

from __future__ import annotations

from typing import Any

import pytest

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
