"""What may be wrong with state machines and functions: each is broken once, and is the one finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ailments import (
    ALIAS,
    FAST,
    FAST_ALIAS,
    GONE,
    MACHINE,
    Break,
    changed,
    definition,
    parameters,
    task_waits,
)
from patient import Patient, alarm

ROOT = Path(__file__).parents[2]
CHARGE = "once_op-charge-payment"


# ---- the state machines ----


def of_operation(**values: Any) -> Break:
    def how(answer: Any) -> None:
        if answer["type"] == "STANDARD":
            answer.update(values)

    return lambda patient: patient.change("DescribeStateMachine", how)


def log(**values: Any) -> Break:
    def how(answer: Any) -> None:
        if answer["type"] == "STANDARD":
            answer["loggingConfiguration"].update(values)

    return lambda patient: patient.change("DescribeStateMachine", how)


def lease_lasts(expression: str) -> Callable[[Any], None]:
    def how(machine: Any) -> None:
        machine["States"]["RenewLock"]["Arguments"]["ExpressionAttributeValues"][":lease"]["N"] = expression

    return how


MACHINES: dict[str, tuple[Break, str, str, str, str]] = {
    "being deleted": (of_operation(status="DELETING"), "machines.status", "wrong", MACHINE, "deploy"),
    "no log": (log(level="OFF"), "machines.log", "wrong", MACHINE, "--logging-configuration"),
    "log of everything": (log(level="ALL"), "machines.log", "warning", MACHINE, "level ERROR"),
    "log with data": (log(includeExecutionData=True), "machines.log", "wrong", MACHINE, "without execution data"),
    "log without a place": (log(destinations=[]), "machines.log", "wrong", MACHINE, "--logging-configuration"),
    "another key": (
        of_operation(encryptionConfiguration={"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "arn:other"}),
        "machines.encryption",
        "warning",
        MACHINE,
        "EncryptionKeyArn",
    ),
    "task ends before the function": (
        definition(task_waits(2)),
        "machines.timeouts",
        "wrong",
        MACHINE,
        "BusinessTimeoutSeconds",
    ),
    "task without an end": (definition(task_waits(None)), "machines.timeouts", "wrong", MACHINE, "deploy"),
    "task outlives the lease": (
        definition(task_waits("{% $number('60') + 7 %}")),
        "machines.timeouts",
        "wrong",
        MACHINE,
        "LeaseMarginSeconds",
    ),
    "one lease is short": (
        definition(lease_lasts("{% $string($floor($millis() / 1000) + 6) %}")),
        "machines.timeouts",
        "wrong",
        MACHINE,
        "LeaseMarginSeconds",
    ),
    "one lease cannot be told": (definition(lease_lasts("{% $x %}")), "machines.timeouts", "wrong", MACHINE, "deploy"),
    "lease outlives the execution": (
        definition(lambda machine: machine.update(TimeoutSeconds=60)),
        "machines.timeouts",
        "wrong",
        MACHINE,
        "deploy",
    ),
    "execution without an end": (
        definition(lambda machine: machine.pop("TimeoutSeconds")),
        "machines.timeouts",
        "wrong",
        MACHINE,
        "deploy",
    ),
}


def of_fast(change: Callable[[Any], None]) -> Break:
    return definition(change, machine=FAST)


def fast_is(**values: Any) -> Break:
    def breaks(patient: Patient) -> None:
        def how(answer: Any) -> None:
            if answer["name"] == patient.ref(FAST).rpartition(":")[2]:
                answer.update(values)

        patient.change("DescribeStateMachine", how)

    return breaks


NO_STOP = "{% $string($floor($millis() / 1000) + $number('2') + 65) %}"
"""A lease that does not count on what an execution may still take."""
MACHINES |= {
    "another role": (
        of_operation(roleArn="arn:aws:iam::1:role/x"),
        "machines.role",
        "wrong",
        MACHINE,
        "update-state-machine",
    ),
    "fast lane is deleted": (fast_is(status="DELETING"), "machines.status", "wrong", FAST, "deploy"),
    "fast lane has another role": (fast_is(roleArn="arn:role/x"), "machines.role", "wrong", FAST, "once-FastRole"),
    "fast lane has no log": (
        fast_is(loggingConfiguration={"level": "OFF"}),
        "machines.log",
        "wrong",
        FAST,
        "--logging-configuration",
    ),
    "fast task ends before the function": (
        of_fast(task_waits(2)),
        "machines.timeouts",
        "wrong",
        FAST,
        "BusinessTimeoutSeconds",
    ),
    "fast lease is shorter than the execution": (
        of_fast(lease_lasts(NO_STOP)),
        "machines.timeouts",
        "wrong",
        FAST,
        "LeaseMarginSeconds",
    ),
    "fast execution counts on more than AWS gives": (
        of_fast(lambda machine: machine.update(TimeoutSeconds=301)),
        "machines.timeouts",
        "wrong",
        FAST,
        "deploy",
    ),
    "fast execution without an end": (
        of_fast(lambda machine: machine.pop("TimeoutSeconds")),
        "machines.timeouts",
        "wrong",
        FAST,
        "deploy",
    ),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "resource", "advice"), MACHINES.values(), ids=MACHINES)
def test_machines(patient: Patient, breaks: Break, name: str, outcome: str, resource: str, advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, outcome, resource)]
    assert advice in patient.the(name, resource)["advice"]


def test_operation_machine_that_an_older_template_made_express_is_wrong(patient: Patient) -> None:
    of_operation(type="EXPRESS")(patient)
    assert ("machines.type", "wrong", MACHINE) in patient.complaints()
    assert "docs/upgrading.md" in patient.the("machines.type", MACHINE)["advice"]


def test_aliases_that_are_gone_are_wrong(patient: Patient) -> None:
    patient.refuse("DescribeStateMachineAlias", "ResourceNotFound")
    assert patient.complaints() == [("machines.alias", "wrong", each) for each in (ALIAS, FAST_ALIAS)]
    assert "detect-stack-drift" in patient.the("machines.alias", FAST_ALIAS)["advice"]


def test_fast_lane_that_somebody_made_standard_is_wrong(patient: Patient) -> None:
    fast_is(type="STANDARD")(patient)
    assert ("machines.type", "wrong", FAST) in patient.complaints()


@pytest.mark.parametrize(
    ("lane", "seconds", "warned"), [("fast", 230, False), ("fast", 231, True), ("full", 300, False)]
)
def test_fast_lane_that_hands_over_everything_is_a_warning_where_it_is_started(
    local_patient: Patient, lane: str, seconds: int, warned: bool
) -> None:
    with local_patient.cloud.deployed_with({"Lane": lane, "BusinessTimeoutSeconds": seconds}):
        assert local_patient.complaints() == ([("machines.timeouts", "warning", FAST)] if warned else [])


@pytest.mark.parametrize(
    ("machine", "metric", "name"),
    [
        (MACHINE, "ExecutionThrottled", "executions.throttled"),
        (MACHINE, "ExecutionsTimedOut", "executions.timed-out"),
        (FAST, "ExecutionsTimedOut", "executions.timed-out"),
    ],
)
def test_what_was_throttled_or_ran_out_of_time_is_a_warning(
    patient: Patient, machine: str, metric: str, name: str
) -> None:
    def how(answer: Any) -> None:
        asked = patient.asked("GetMetricStatistics")
        if metric in asked and patient.ref(machine).rpartition(":")[2] in asked:
            answer["Datapoints"] = [{"Sum": 1200.0}, {"Sum": 34.0}]

    patient.change("GetMetricStatistics", how)
    assert patient.complaints() == [(name, "warning", machine)]
    found = patient.the(name, machine)
    assert found["message"].startswith("1,234 ") and "in the last 24 hours" in found["message"]
    assert "FullLaneOperations" in found["advice"] if (machine, metric) == (FAST, "ExecutionsTimedOut") else True


def test_log_that_is_switched_off_is_as_meant_but_hides_what_express_executions_do(patient: Patient) -> None:
    parameters(ExecutionLog="OFF")(patient)

    def off(answer: Any) -> None:
        answer["loggingConfiguration"]["level"] = "OFF"

    patient.change("DescribeStateMachine", off)
    assert patient.complaints() == [("machines.log", "warning", each) for each in (FAST, "RecoveryStateMachine")]
    assert "ExecutionLog=ERROR" in patient.the("machines.log", "RecoveryStateMachine")["advice"]


def test_log_without_the_data_that_was_asked_for_is_a_warning(patient: Patient) -> None:
    parameters(IncludeExecutionData="true")(patient)
    machines = (MACHINE, FAST, "RecoveryStateMachine")
    assert patient.complaints() == [("machines.log", "warning", each) for each in machines]
    assert "with execution data" in patient.the("machines.log", MACHINE)["advice"]


def rollout(patient: Patient, machine: str = MACHINE) -> None:
    arn = patient.ref(machine)
    shares = {1: 90, 2: 10}
    routes = [{"stateMachineVersionArn": f"{arn}:{version}", "weight": share} for version, share in shares.items()]

    def how(answer: Any) -> None:
        if answer["stateMachineAliasArn"].startswith(f"{arn}:"):
            answer["routingConfiguration"] = routes

    patient.change("DescribeStateMachineAlias", how)
    patient.ask_for("DescribeStateMachine", f"{arn}:2", f"{arn}:1")  # the local cloud has one version


@pytest.mark.parametrize(("machine", "alias"), [(MACHINE, ALIAS), (FAST, FAST_ALIAS)])
def test_rollout_is_a_warning_with_its_shares(patient: Patient, machine: str, alias: str) -> None:
    rollout(patient, machine)
    assert patient.complaints() == [("machines.alias", "warning", alias)]
    assert "90 % to version 1 and 10 % to version 2" in patient.the("machines.alias", alias)["message"]


@pytest.mark.parametrize(("machine", "version"), [(MACHINE, 1), (MACHINE, 2), (FAST, 2)])
def test_timeouts_are_those_of_every_version_that_runs(patient: Patient, machine: str, version: int) -> None:
    rollout(patient, machine)
    definition(task_waits(1), of=f":{version}", machine=machine)(patient)
    assert ("machines.timeouts", "wrong", machine) in patient.complaints()
    assert patient.the("machines.timeouts", machine)["message"].startswith(f"version {version}: ")


def test_payloads_in_the_log_are_wrong_where_they_were_not_wanted(patient: Patient) -> None:
    changed("DescribeStateMachine", "loggingConfiguration", includeExecutionData=True)(patient)
    machines = (MACHINE, FAST, "RecoveryStateMachine")
    assert patient.complaints() == [("machines.log", "wrong", each) for each in machines]


def test_payloads_in_the_log_of_prod_are_wrong_though_somebody_asked_for_them(patient: Patient) -> None:
    parameters(Stage="prod", IncludeExecutionData="true")(patient)
    patient.fields["is_protected"] = True
    changed("DescribeStateMachine", "loggingConfiguration", includeExecutionData=True)(patient)
    changed("DescribeTable", "Table", DeletionProtectionEnabled=True)(patient)
    machines = (MACHINE, FAST, "RecoveryStateMachine")
    assert patient.complaints() == [("machines.log", "wrong", each) for each in machines]
    assert "without execution data" in patient.the("machines.log", MACHINE)["advice"]


def test_a_log_of_prod_without_payloads_is_right_though_somebody_asked_for_them(patient: Patient) -> None:
    parameters(Stage="prod", IncludeExecutionData="true")(patient)
    patient.fields["is_protected"] = True
    changed("DescribeTable", "Table", DeletionProtectionEnabled=True)(patient)
    assert patient.complaints() == []


# ---- the functions ----


def function(newest: bool = False, **values: Any) -> Break:
    """The function of charge-payment is configured otherwise: what the state machine calls, or what came last."""

    def breaks(patient: Patient) -> None:
        def how(answer: Any) -> None:
            is_live = "live" in patient.asked("GetFunctionConfiguration")
            if answer["FunctionName"] == CHARGE and is_live is not newest:
                answer.update(values)

        patient.change("GetFunctionConfiguration", how)

    return breaks


def concurrency_zero(patient: Patient) -> None:
    patient.cloud.add_function("charge-payment", ROOT / "functions/charge_payment", concurrency=0)
    patient.after.callback(patient.cloud.reset)


def slow_function(patient: Patient) -> None:
    patient.cloud.add_function("charge-payment", ROOT / "functions/charge_payment", timeout=3)
    patient.after.callback(patient.cloud.reset)


def new_function(patient: Patient) -> None:
    """As somebody adds one and forgets the alarms."""
    patient.cloud.add_function("refund", ROOT / "functions/charge_payment")
    patient.after.callback(patient.cloud.reset)


FUNCTIONS: dict[str, tuple[Break, str, str, str]] = {
    "failed": (function(State="Failed", StateReason="no key"), "functions.state", "wrong", "deploy again"),
    "update failed": (function(newest=True, LastUpdateStatus="Failed"), "functions.state", "wrong", "deploy again"),
    "being made": (function(State="Pending"), "functions.state", "warning", "look again"),
    "being updated": (function(newest=True, LastUpdateStatus="InProgress"), "functions.state", "warning", "look again"),
    "slow": (slow_function, "functions.timeout", "wrong", "BusinessTimeoutSeconds=3"),
    "stopped": (concurrency_zero, "functions.concurrency", "wrong", "delete-function-concurrency"),
    "other runtime": (function(Runtime="python3.11"), "functions.layer", "wrong", "Runtime"),
    "other processor": (function(Architectures=["x86_64"]), "functions.layer", "wrong", "Architectures"),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "advice"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(patient: Patient, breaks: Break, name: str, outcome: str, advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, outcome, CHARGE)]
    assert advice in patient.the(name, CHARGE)["advice"]


def test_old_version_of_the_library_is_a_warning(patient: Patient) -> None:
    [layer] = [ref for name, ref in patient.resources.items() if name.startswith("OnceLayer")]
    function(Layers=[{"Arn": f"{layer.rpartition(':')[0]}:0"}])(patient)
    assert patient.complaints() == [("functions.layer", "warning", CHARGE)]


def test_function_without_the_library_needs_no_layer(patient: Patient) -> None:
    function(Layers=[], Runtime="nodejs22.x")(patient)
    assert patient.complaints() == []


def test_function_that_keeps_results_is_held_against_its_own_task(patient: Patient) -> None:
    definition(lambda machine: machine["States"]["CacheResponse"].update(TimeoutSeconds=30))(patient)
    cache = patient.ref("CacheResponseFunction")
    assert patient.complaints() == [("functions.timeout", "wrong", cache)]
    assert "CacheResponseFunction" in patient.the("functions.timeout", cache)["advice"]


def test_function_that_no_alarm_watches_is_a_warning(patient: Patient) -> None:
    new_function(patient)
    assert patient.complaints() == [("functions.alarms", "warning", "once_op-refund")]
    found = patient.the("functions.alarms", "once_op-refund")
    assert "an alarm of its own for Errors and Throttles" in found["advice"]


def test_function_whose_alarm_looks_at_something_else_of_it_is_a_warning(patient: Patient) -> None:
    alarm(patient, "ChargePaymentErrorsAlarm", MetricName="Invocations")
    assert patient.complaints() == [("functions.alarms", "warning", CHARGE)]
    assert "its Errors:" in patient.the("functions.alarms", CHARGE)["message"]


LATEST: dict[str, tuple[Any, str]] = {
    "unpublished": ({"FunctionVersion": "$LATEST"}, "publish-version"),
    "rollout": ({"RoutingConfig": {"AdditionalVersionWeights": {"4": 0.1}}}, "wait"),
}


@pytest.mark.parametrize(("alias", "advice"), LATEST.values(), ids=LATEST)
def test_alias_that_is_not_at_one_version_is_a_warning(patient: Patient, alias: Any, advice: str) -> None:
    def how(answer: Any) -> None:
        if CHARGE in answer["AliasArn"]:
            answer.update(alias)

    patient.change("GetAlias", how)
    assert patient.complaints() == [("functions.alias", "warning", CHARGE)]
    assert advice in patient.the("functions.alias", CHARGE)["advice"]


def test_function_without_the_alias_is_wrong(patient: Patient) -> None:
    patient.refuse("GetAlias", GONE)
    patient.refuse("GetFunctionConfiguration", GONE)
    found = [each for each in patient.complaints() if each[2] == CHARGE]
    assert found == [("functions.alias", "wrong", CHARGE)]
    assert "aws lambda create-alias" in patient.the("functions.alias", CHARGE)["advice"]


def test_stack_without_operations_is_wrong(patient: Patient) -> None:
    patient.reply("ListFunctions", {"Functions": []})
    assert patient.complaints() == [("functions.found", "wrong", "once_op-*")]
