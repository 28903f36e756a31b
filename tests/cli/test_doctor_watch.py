"""What may be wrong with triggers, alarms and operations: each is broken once, and is the one finding."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from ailments import (
    FAST,
    GONE,
    MACHINE,
    Break,
    changed,
    parameters,
    subscriptions,
)
from operating import put
from patient import Patient, WholeStack, alarm

from oncekit.local import LocalCloud

# ---- the triggers ----


def rule_off(logical_id: str) -> Break:
    def breaks(patient: Patient) -> None:
        given = {"Name": patient.ref(logical_id)}
        if logical_id == "RequestRule":
            given["EventBusName"] = patient.outputs["EventBusName"]
        patient.client("events").disable_rule(**given)
        patient.after.callback(patient.client("events").enable_rule, **given)

    return breaks


def target(**values: Any) -> Break:
    return lambda patient: patient.change("ListTargetsByRule", lambda answer: answer["Targets"][0].update(values))


def no_target(patient: Patient) -> None:
    patient.change("ListTargetsByRule", lambda answer: answer.update(Targets=[]))


def schedule(**values: Any) -> Break:
    def breaks(patient: Patient) -> None:
        name = patient.ref("RecoverySchedule")
        given = {"State": "ENABLED", **patient.properties("RecoverySchedule"), **values}
        patient.client("scheduler").update_schedule(Name=name, **given)

    return breaks


def schedule_to(**values: Any) -> Break:
    return lambda p: schedule(Target={**p.properties("RecoverySchedule")["Target"], **values})(p)


def pipe_stopped(patient: Patient) -> None:
    patient.client("pipes").stop_pipe(Name=patient.ref("RequestPipe"))


OTHER_QUEUE = {"Arn": "arn:aws:sqs:us-east-1:123456789012:other"}
BOTH_RULES = ["RequestRule", "DeadExecutionRule"]
TRIGGERS: dict[str, tuple[Break, str, str, list[str], str]] = {
    "request rule off": (rule_off("RequestRule"), "triggers.rule", "wrong", BOTH_RULES[:1], "enable-rule"),
    "death rule off": (rule_off("DeadExecutionRule"), "triggers.rule", "wrong", BOTH_RULES[1:], "enable-rule"),
    "nothing is started": (no_target, "triggers.target", "wrong", BOTH_RULES, "put-targets"),
    "another is started": (target(Arn="arn:other"), "triggers.target", "wrong", BOTH_RULES, "put-targets"),
    "no dead letters": (target(DeadLetterConfig={}), "triggers.target", "wrong", BOTH_RULES, "put-targets"),
    "dead letters elsewhere": (
        target(DeadLetterConfig=OTHER_QUEUE),
        "triggers.target",
        "wrong",
        BOTH_RULES,
        "put-targets",
    ),
    "pipe is stopped": (pipe_stopped, "triggers.pipe", "wrong", ["RequestPipe"], "aws pipes start-pipe"),
    "pipe with a bare path": (
        changed("DescribePipe", "TargetParameters", InputTemplate="<$.body>"),
        "triggers.pipe",
        "wrong",
        ["RequestPipe"],
        "newest template",
    ),
    "pipe failed": (
        changed("DescribePipe", CurrentState="START_FAILED", StateReason="no role"),
        "triggers.pipe",
        "wrong",
        ["RequestPipe"],
        "fix that",
    ),
    "pipe is starting": (
        changed("DescribePipe", CurrentState="STARTING"),
        "triggers.pipe",
        "warning",
        ["RequestPipe"],
        "look again",
    ),
    "pipe starts another": (
        changed("DescribePipe", Target="arn:other"),
        "triggers.pipe",
        "wrong",
        ["RequestPipe"],
        "update-pipe",
    ),
    "schedule is off": (
        schedule(State="DISABLED"),
        "triggers.schedule",
        "wrong",
        ["RecoverySchedule"],
        "--state ENABLED",
    ),
    "schedule starts another": (
        schedule_to(Arn="arn:aws:states:us-east-1:123456789012:stateMachine:other"),
        "triggers.schedule",
        "wrong",
        ["RecoverySchedule"],
        "update-schedule",
    ),
    "schedule without dead letters": (
        schedule_to(DeadLetterConfig=OTHER_QUEUE),
        "triggers.schedule",
        "wrong",
        ["RecoverySchedule"],
        "get-schedule",
    ),
    "schedule is deleted": (
        lambda p: p.refuse("GetSchedule", GONE),
        "triggers.schedule",
        "wrong",
        ["RecoverySchedule"],
        "detect-stack-drift",
    ),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "resources", "advice"), TRIGGERS.values(), ids=TRIGGERS)
def test_triggers(patient: Patient, breaks: Break, name: str, outcome: str, resources: list[str], advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, outcome, each) for each in resources]
    assert advice in patient.the(name, resources[0])["advice"]


@pytest.mark.parametrize(("deployed", "lane", "starts"), [("full", "fast", MACHINE), ("fast", "full", FAST)])
def test_triggers_that_start_another_lane_than_the_parameter_says_are_a_warning(
    cloud: LocalCloud, whole_stack: WholeStack, deployed: str, lane: str, starts: str
) -> None:
    whole_stack.take_away()  # it is made of what is deployed
    with cloud.deployed_with({"Lane": deployed}), ExitStack() as after, whole_stack.patient() as patient:
        after.callback(whole_stack.take_away)
        assert patient.complaints() == []
        parameters(Lane=lane)(patient)
        found = [("triggers.target", "RequestRule"), ("triggers.pipe", "RequestPipe")]
        assert patient.complaints() == [(name, "warning", resource) for name, resource in found]
        for name, resource in found:
            assert patient.the(name, resource)["message"].startswith(f"it starts {starts}, and Lane is {lane}")


def test_rule_on_a_bus_of_its_own_is_found_by_the_id_that_cloudformation_gives_it(patient: Patient) -> None:
    def on_aws(answer: Any) -> None:
        for each in answer["StackResourceSummaries"]:
            if each["LogicalResourceId"] == "RequestRule":
                each["PhysicalResourceId"] = f"{patient.outputs['EventBusName']}|{each['PhysicalResourceId']}"

    patient.change("ListStackResources", on_aws)
    assert patient.complaints() == []


# ---- the alarms ----


RINGS = "QuarantinedOperationsAlarm"


def rings(patient: Patient) -> None:
    name = patient.ref(RINGS)
    patient.client("cloudwatch").set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="2 > 0")


DEAD_TOPIC = "arn:aws:sns:us-east-1:123456789012:gone"
ALARMS: dict[str, tuple[Break, str, str, str, str]] = {
    "rings": (rings, "alarms.state", "wrong", RINGS, "2 > 0"),
    "deleted": (
        lambda p: p.client("cloudwatch").delete_alarms(AlarmNames=[p.ref("TableErrorsAlarm")]),
        "alarms.state",
        "wrong",
        "TableErrorsAlarm",
        "detect-stack-drift",
    ),
    "switched off": (
        lambda p: alarm(p, RINGS, ActionsEnabled=False),
        "alarms.action",
        "wrong",
        RINGS,
        "enable-alarm-actions",
    ),
    "without action": (lambda p: alarm(p, RINGS, AlarmActions=[]), "alarms.action", "wrong", RINGS, "AlarmTopic"),
    "to a topic that is gone": (
        lambda p: alarm(p, RINGS, AlarmActions=[DEAD_TOPIC]),
        "alarms.action",
        "wrong",
        RINGS,
        "AlarmTopic",
    ),
    "to nobody": (subscriptions(), "alarms.topic", "warning", "AlarmTopic", "aws sns subscribe"),
    "to somebody who left": (subscriptions("Deleted"), "alarms.topic", "warning", "AlarmTopic", "sns subscribe"),
    "to somebody who has not confirmed": (
        subscriptions("PendingConfirmation"),
        "alarms.topic",
        "warning",
        "AlarmTopic",
        "follow the link",
    ),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "resource", "advice"), ALARMS.values(), ids=ALARMS)
def test_alarms(patient: Patient, breaks: Break, name: str, outcome: str, resource: str, advice: str) -> None:
    breaks(patient)
    complaints = [each for each in patient.complaints() if each[2] == resource]
    assert complaints[0] == (name, outcome, resource)
    assert {each[2] for each in patient.complaints()} == {resource}
    assert advice in patient.the(name, resource)["advice"]


def test_alarm_that_rings_says_what_it_means(patient: Patient) -> None:
    rings(patient)
    assert "Operations are quarantined" in patient.the("alarms.state", RINGS)["message"]


# ---- the operations ----


def now(patient: Patient) -> int:
    return int(patient.now)


def test_quarantined_operation_is_wrong(local_patient: Patient) -> None:
    error = {"M": {"name": {"S": "Runtime.ExitError"}, "message": {"S": "exit status 1"}}}
    for key in ("a", "b"):
        put(local_patient, f"acme#charge-payment#{key}", "QUARANTINED", now(local_patient) - 9999, error=error)
    assert local_patient.complaints() == [("operations.quarantined", "wrong", "IdempotencyTable")]
    out = local_patient.once("doctor").out
    assert "✗ quarantined  IdempotencyTable: 2 wait for an operator: 2 × Runtime.ExitError" in out
    assert "`once ls --status QUARANTINED`" in out


@pytest.mark.parametrize(("since", "outcome"), [(60, "warning"), (600, "warning"), (601, "wrong")])
def test_overdue_operation_is_wrong_once_recovery_had_its_time(
    local_patient: Patient, since: int, outcome: str
) -> None:
    put(local_patient, "acme#charge-payment#late", "IN_PROGRESS", now(local_patient) - since)
    assert local_patient.complaints() == [("operations.overdue", outcome, "IdempotencyTable")]
    assert "`once ls --overdue`" in local_patient.the("operations.overdue")["advice"]


def test_lease_that_recovery_has_ended_is_a_warning(local_patient: Patient) -> None:
    put(local_patient, "acme#charge-payment#ended", "IN_PROGRESS", 0)
    assert local_patient.complaints() == [("operations.overdue", "warning", "IdempotencyTable")]


def test_operation_in_progress_is_fine(local_patient: Patient) -> None:
    put(local_patient, "acme#charge-payment#now", "IN_PROGRESS", now(local_patient) + 60)
    assert local_patient.complaints() == []


@pytest.mark.parametrize("where", ["patient", "local_patient"])
def test_full_lane_operation_without_a_function_is_a_warning(where: str, request: pytest.FixtureRequest) -> None:
    here: Patient = request.getfixturevalue(where)
    assert "lanes.operations" not in [name for name, _, _ in here.complaints()]
    here.parameters["FullLaneOperations"] = "charge-payment, chargepayment"
    found = [each for each in here.complaints() if each[0].startswith("lanes")]
    assert found == [("lanes.operations", "warning", "FullLaneOperations")]
    told = here.the("lanes.operations")["message"]
    assert "no function once_op-chargepayment with" in told and "once_op-charge-payment" not in told


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, "the queue and the bus start the full lane"),
        ({"Lane": "fast", "QueueTrigger": "false"}, "the bus starts the fast lane"),
        ({"EventTrigger": "false", "QueueTrigger": "false"}, "none is on"),
    ],
)
def test_it_says_which_lane_the_triggers_start(local_patient: Patient, parameters: dict[str, str], told: str) -> None:
    local_patient.parameters.update(parameters)
    assert f"✓ lanes       triggers: {told}" in local_patient.once("doctor").out


def test_open_operation_without_a_function_is_wrong(local_patient: Patient) -> None:
    put(local_patient, "acme#not-there#now", "IN_PROGRESS", now(local_patient) + 60)
    assert local_patient.complaints() == [("operations.functions", "wrong", "IdempotencyTable")]
    assert "deploy once_op-not-there" in local_patient.the("operations.functions")["advice"]
