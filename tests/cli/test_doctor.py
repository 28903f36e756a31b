"""`once doctor`: a healthy stack, a stack that is not whole, what cannot be looked at, and what is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ailments import (
    MACHINE,
    Break,
    backups_off,
    missing,
    parameters,
    subscriptions,
    time_to_live_off,
)
from patient import Patient
from template_parts import was_added

from oncekit.cli.deployed.stack import Stack
from oncekit.cli.doctor.deployment import Deployment, Resource
from oncekit.cli.doctor.stack import ALWAYS, SOMETIMES, WHERE, checks
from oncekit.local.template import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ("ChargePayment", "PlaceOrder", "BuildReport")
"""Their alarms are looked for with their functions."""
BY_DEFAULT = ("RequestBus", "DeadExecutionsAlarm")
"""Of what is there sometimes."""


# ---- a healthy stack ----


def test_healthy_stack_has_nothing_wrong_and_nothing_that_was_not_looked_at(patient: Patient) -> None:
    done = patient.once("doctor")
    assert done.code == 0, done.out
    assert re.search(r"\nNothing wrong, 0 warnings, \d+ fine\.\n$", done.out)
    groups = [line.split()[:2] for line in done.out.splitlines() if line[:1] == "✓"]
    names = [
        "stack",
        "table",
        "bucket",
        "machines",
        "executions",
        "functions",
        "lanes",
        "triggers",
        "queues",
        "alarms",
        "operations",
    ]
    assert groups == [["✓", name] for name in names]


def test_healthy_local_cloud_has_nothing_wrong_and_says_what_it_leaves_out(local_patient: Patient) -> None:
    done = local_patient.once("doctor")
    assert (done.code, done.err) == (0, "")
    assert "✗" not in done.out and "!" not in done.out, done.out
    checks = local_patient.findings()
    skipped = [each for each in checks if each["outcome"] == "skipped"]
    assert {each["message"] for each in skipped} == {"not part of the local cloud"}
    left_out = {each["name"] for each in skipped}
    assert {"triggers.pipe", "triggers.schedule", "alarms.state", "queues.tls", "machines.log"} <= left_out
    assert not {"table.ttl", "machines.alias", "functions.alias", "queues.empty"} & left_out


def test_it_only_reads(patient: Patient) -> None:
    patient.once("doctor")
    assert len(patient.calls) > 20
    reading = re.compile(r"(Get|List|Describe|Query|BatchGet)\w*")
    assert [call for call in patient.calls if not reading.fullmatch(call)] == []


def test_every_resource_that_the_doctor_expects_is_in_the_template() -> None:
    resources = load(ROOT / "template.yaml").section("Resources")
    conditions = {"EventTrigger": "TakesEvents", "QueueTrigger": "TakesMessages", "HttpTrigger": "TakesHttp"}
    assert {name for name in ALWAYS if "Condition" in resources[name]} == set()
    for switch, names in WHERE.items():
        assert {resources[name]["Condition"] for name in names} == {conditions[switch]}
    watched = {"AWS::CloudWatch::Alarm", "AWS::SQS::Queue", "AWS::Pipes::Pipe", "AWS::Scheduler::Schedule"}
    known = {*ALWAYS, *(name for names in WHERE.values() for name in names)}
    for name in SOMETIMES:
        assert resources[name]["Condition"]
    of_examples = {f"{name}{kind}Alarm" for name in EXAMPLES for kind in ("Errors", "Throttles", "Rollout")}
    found = {name for name, each in resources.items() if each["Type"] in watched and not was_added(name, resources)}
    assert found - of_examples <= known | set(SOMETIMES)


# ---- the stack ----


def stack_status(status: str) -> Break:
    return lambda patient: patient.fields.update(status=status)


STACKS: dict[str, tuple[Break, str, str, str]] = {
    "rolled back": (stack_status("UPDATE_ROLLBACK_COMPLETE"), "stack.status", "wrong", "describe-stack-events"),
    "failed": (stack_status("UPDATE_FAILED"), "stack.status", "wrong", "describe-stack-events"),
    "under way": (stack_status("UPDATE_IN_PROGRESS"), "stack.status", "warning", "wait"),
    "resource failed": (
        lambda p: p.change(
            "ListStackResources",
            lambda answer: answer["StackResourceSummaries"][0].update(ResourceStatus="UPDATE_FAILED"),
        ),
        "stack.resources",
        "wrong",
        "describe-stack-resources",
    ),
    "log group missing": (missing("OperationLogGroup"), "stack.resources", "wrong", "sam deploy"),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "advice"), STACKS.values(), ids=STACKS)
def test_stack(patient: Patient, breaks: Break, name: str, outcome: str, advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, outcome, "once")]
    assert advice in patient.the(name)["advice"]


@pytest.mark.parametrize("missing", [*ALWAYS, *(name for names in WHERE.values() for name in names), *BY_DEFAULT])
def test_whatever_is_missing_is_named(missing: str) -> None:
    there = {*ALWAYS, *(name for names in WHERE.values() for name in names), *BY_DEFAULT} - {missing}
    resources = {name: Resource("", name, "CREATE_COMPLETE") for name in there}
    [_, everything, _] = checks(Deployment(Stack("once", {}, {"HttpTrigger": "true"}, None), resources))
    assert everything.look().message == f"not in the stack: {missing}"


def test_a_stack_of_an_earlier_version_needs_no_api() -> None:
    there = {*ALWAYS, *WHERE["EventTrigger"], *WHERE["QueueTrigger"], *BY_DEFAULT}
    resources = {name: Resource("", name, "CREATE_COMPLETE") for name in there}
    [_, everything, _] = checks(Deployment(Stack("once", {}, {}, None), resources))
    assert everything.look().outcome == "ok"


@pytest.mark.parametrize(
    ("parameter", "value", "missing"),
    [
        ("OpenOperationsThreshold", "500", ["OpenOperationsAlarm"]),
        ("Rollout", "Canary", ["OperationRolloutAlarm", "FastRolloutAlarm", "CacheResponseRolloutAlarm"]),
    ],
)
def test_what_a_parameter_asks_for_is_missed(patient: Patient, parameter: str, value: str, missing: list[str]) -> None:
    parameters(**{parameter: value})(patient)
    assert patient.complaints() == [("stack.resources", "wrong", "once")]
    assert patient.the("stack.resources")["message"] == f"not in the stack: {', '.join(missing)}"


@pytest.mark.parametrize(("stage", "protected", "told"), [("prod", False, 1), ("prod", True, 0), ("dev", False, 0)])
def test_prod_stack_that_can_be_deleted_by_mistake_is_a_warning(
    patient: Patient, stage: str, protected: bool, told: int
) -> None:
    parameters(Stage=stage)(patient)
    patient.fields["is_protected"] = protected
    assert patient.complaints().count(("stack.protection", "warning", "once")) == told
    if told:
        assert "update-termination-protection" in patient.the("stack.protection")["advice"]


def test_missing_resource_is_not_missed_again_by_what_looks_at_it(patient: Patient) -> None:
    missing("RecoverySchedule")(patient)
    assert patient.complaints() == [("stack.resources", "wrong", "once")]
    found = patient.the("triggers.schedule")
    assert found["outcome"] == "skipped" and found["message"] == "could not look: RecoverySchedule is not in the stack"


@pytest.mark.parametrize(
    ("parameter", "value", "not_missed"),
    [
        ("EventTrigger", "false", "RequestRule"),
        ("QueueTrigger", "false", "RequestPipe"),
        ("EventBusName", "default", "RequestBus"),
        ("OpenOperationsThreshold", "500", ""),
        ("Rollout", "Canary", ""),
        ("ExecutionLog", "ALL", ""),
        ("EncryptionKeyArn", "arn:aws:kms:us-east-1:123456789012:key/mine", ""),
        ("FunctionConcurrency", "3", ""),
    ],
)
def test_stack_is_held_against_its_own_parameters(
    local_patient: Patient, parameter: str, value: str, not_missed: str
) -> None:
    with local_patient.cloud.deployed_with({parameter: value}):
        assert local_patient.complaints() == []
        assert not_missed not in {each["resource"] for each in local_patient.findings()}


# ---- what cannot be looked at ----


@pytest.mark.parametrize(
    ("call", "code", "permission", "names"),
    [
        ("DescribeTimeToLive", "AccessDeniedException", "dynamodb:DescribeTimeToLive", {"table.ttl"}),
        ("GetBucketEncryption", "AccessDenied", "s3:GetEncryptionConfiguration", {"bucket.encryption"}),
        (
            "DescribeStateMachineAlias",
            "AccessDeniedException",
            "states:DescribeStateMachineAlias",
            {"machines.alias", "machines.timeouts", "functions.timeout"},
        ),
        ("ListFunctions", "AccessDeniedException", "lambda:ListFunctions", {"functions.found"}),
        ("GetTopicAttributes", "AuthorizationError", "sns:GetTopicAttributes", {"alarms.action", "alarms.topic"}),
        ("GetSchedule", "AccessDeniedException", "scheduler:GetSchedule", {"triggers.schedule"}),
        (
            "Query",
            "AccessDeniedException",
            "dynamodb:Query",
            {"operations.quarantined", "operations.overdue", "operations.functions"},
        ),
    ],
)
def test_missing_permission_is_named_and_the_others_go_on(
    patient: Patient, call: str, code: str, permission: str, names: set[str]
) -> None:
    time_to_live_off(patient)
    backups_off(patient)
    patient.refuse(call, code)
    findings = patient.findings()
    skipped = {each["name"]: each["message"] for each in findings if each["outcome"] == "skipped"}
    assert set(skipped) == names
    assert set(skipped.values()) == {f"could not look: needs the permission {permission}"}
    assert "table.backup" in {each["name"] for each in findings if each["outcome"] == "wrong"}


def test_throttled_call_is_said_in_one_line(patient: Patient) -> None:
    patient.refuse("DescribePipe", "ThrottlingException")
    done = patient.once("doctor")
    assert done.code == 0
    assert "  - pipe: could not look: DescribePipe: ThrottlingException: no way\n" in done.out
    assert done.out.endswith("1 not checked.\n")


def test_credentials_that_end_meanwhile_end_the_command(patient: Patient) -> None:
    patient.refuse("DescribeAlarms", "ExpiredTokenException")
    done = patient.once("doctor")
    assert (done.code, done.out) == (2, "") and "log in again" in done.err


def test_list_of_resources_that_is_refused_ends_the_command(patient: Patient) -> None:
    patient.refuse("ListStackResources", "AccessDenied")
    done = patient.once("doctor")
    assert (done.code, done.out) == (2, "") and "--profile" in done.err


# ---- which stack ----


def test_stack_that_is_not_there_is_said_as_other_commands_do(patient: Patient) -> None:
    done = patient.once("doctor", "--stack", "other")
    assert (done.code, done.out) == (2, "") and "there is no stack other" in done.err


def test_stack_of_something_else_is_refused(patient: Patient) -> None:
    missing(MACHINE)(patient)
    done = patient.once("doctor")
    assert (done.code, done.out) == (2, "") and "not a stack of Once" in done.err


def test_stack_whose_first_deployment_failed_is_diagnosed_all_the_same(patient: Patient) -> None:
    stack_status("ROLLBACK_COMPLETE")(patient)
    patient.fields["outputs"] = {}

    def roll_back(answer: Any) -> None:
        for each in answer["StackResourceSummaries"]:
            each["ResourceStatus"] = "DELETE_COMPLETE"

    patient.change("ListStackResources", roll_back)
    assert patient.complaints()[:2] == [("stack.status", "wrong", "once"), ("stack.resources", "wrong", "once")]
    assert "could not look: IdempotencyTable is not in the stack" in patient.once("doctor").out


@pytest.mark.parametrize(("name", "shown"), [("once", "`once ls`"), ("shop", "`once ls --stack shop`")])
def test_commands_that_are_advised_name_the_stack(name: str, shown: str) -> None:
    assert Deployment(Stack(name, {}, {}, None), {}).once("ls") == shown


# ---- what is printed ----


def test_problems_are_in_full_and_the_rest_is_short(patient: Patient) -> None:
    time_to_live_off(patient)
    subscriptions()(patient)
    lines = patient.once("doctor").out.splitlines()
    at = lines.index("✗ table       status, backup, index, protection, encryption")
    assert lines[at + 1].startswith("  ✗ ttl  IdempotencyTable: time to live is off")
    assert lines[at + 2].startswith("      `aws dynamodb update-time-to-live --table-name once-IdempotencyTable")
    count = len([each for each in patient.resources.values() if each.endswith("Alarm")])
    assert f"! alarms      state ×{count}, action ×{count}" in lines
    assert lines[-1].startswith("1 wrong, 1 warning, ")
