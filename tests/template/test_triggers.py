"""Rules for what starts executions: rules, schedule, queue and pipe, and where that ends which could not be started."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from template_parts import resolver

from oncekit.local.events.patterns import matches
from oncekit.local.template import load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
Resources = dict[str, dict[str, Any]]


def target(resources: Resources, name: str) -> dict[str, Any]:
    """The one thing that a rule or a schedule starts."""
    properties = resources[name]["Properties"]
    [found] = properties.get("Targets") or [properties["Target"]]
    return dict(found)


def by_lane(fast: str, full: str) -> dict[str, Any]:
    return {"Fn::If": ["IsFast", {"Ref": fast}, {"Ref": full}]}


STARTS: dict[str, tuple[str | tuple[str, str], str, int, int]] = {
    "RequestRule": (("FastStateMachineAlias", "OperationStateMachineAlias"), "EventDeadLetterQueue", 86_400, 185),
    "DeadExecutionRule": ("RecoveryStateMachine", "RecoveryDeadLetterQueue", 3600, 60),
    # A sweep that is late is the next one.
    "RecoverySchedule": ("RecoveryStateMachine", "RecoveryDeadLetterQueue", 60, 3),
}
"""What each starts, where what cannot be started goes, and the seconds and times that it is tried before."""


@pytest.mark.parametrize("name", STARTS)
def test_what_cannot_be_started_is_tried_again_and_then_kept(resources: Resources, name: str) -> None:
    started, dead_letters, seconds, times = STARTS[name]
    found = target(resources, name)
    assert found["Arn"] == (by_lane(*started) if isinstance(started, tuple) else {"Ref": started})
    assert found["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [dead_letters, "Arn"]}}
    assert found["RetryPolicy"] == {"MaximumEventAgeInSeconds": seconds, "MaximumRetryAttempts": times}
    assert found["RoleArn"] == {"Fn::GetAtt": [f"{name}Role", "Arn"]}


def test_every_rule_and_schedule_is_looked_at_and_switched_on(resources: Resources) -> None:
    kinds = ("AWS::Events::Rule", "AWS::Scheduler::Schedule")
    found = {name: r["Properties"] for name, r in resources.items() if r["Type"] in kinds}
    assert set(found) == set(STARTS)
    assert {each.get("State", "ENABLED") for each in found.values()} == {"ENABLED"}
    assert resources["RequestPipe"]["Properties"].get("DesiredState", "RUNNING") == "RUNNING"


EVENTS = [
    ("", "com.shop", "OperationRequested", True),
    ("", "com.shop", "OrderPlaced", False),
    ("com.shop", "com.shop.orders", "OperationRequested", True),
    ("com.shop", "com.other", "OperationRequested", False),
    ("com.shop", "com.shop", "OrderPlaced", False),
]


@pytest.mark.parametrize(("asked", "source", "kind", "starts"), EVENTS)
def test_an_event_that_requests_an_operation_is_told_by_its_type_and_source(
    asked: str, source: str, kind: str, starts: bool
) -> None:
    template = load(TEMPLATE, {"EventSource": asked})
    pattern = resolver(template).resolve(template.section("Resources")["RequestRule"]["Properties"]["EventPattern"])
    assert matches(pattern, {"source": source, "detail-type": kind, "detail": {}}) is starts


@pytest.mark.parametrize(("name", "bus"), [("own", "RequestBus"), ("orders", "orders")])
def test_requests_come_on_the_bus_that_the_parameter_names(resources: Resources, name: str, bus: str) -> None:
    template = load(TEMPLATE, {"EventBusName": name})
    assert resolver(template).resolve(resources["RequestRule"]["Properties"]["EventBusName"]) == bus
    assert resolver(template).holds(resources["RequestBus"]["Condition"]) is (bus == "RequestBus")


def test_the_detail_of_an_event_is_the_request(resources: Resources) -> None:
    found = target(resources, "RequestRule")
    assert found["InputPath"] == "$.detail"
    assert not {"Input", "InputTransformer"} & set(found)


def test_recovery_is_told_which_execution_died_and_how(resources: Resources) -> None:
    told = target(resources, "DeadExecutionRule")["InputTransformer"]
    assert told["InputPathsMap"] == {"executionArn": "$.detail.executionArn", "status": "$.detail.status"}
    assert told["InputTemplate"] == '{"executionArn": <executionArn>, "status": <status>}'
    assert json.loads(target(resources, "RecoverySchedule")["Input"]) == {}


def test_only_deaths_of_the_operation_machine_are_told(resources: Resources) -> None:
    pattern = resources["DeadExecutionRule"]["Properties"]["EventPattern"]
    assert pattern["source"] == ["aws.states"]
    assert pattern["detail-type"] == ["Step Functions Execution Status Change"]
    assert pattern["detail"]["stateMachineArn"] == [{"Ref": "OperationStateMachine"}]


def assigned(part: Any, variable: str) -> Iterator[Any]:
    """Every value that a part of a definition gives to a variable."""
    if isinstance(part, Mapping):
        if variable in part.get("Assign", {}):
            yield part["Assign"][variable]
        for each in part.values():
            yield from assigned(each, variable)
    elif isinstance(part, list):
        for each in part:
            yield from assigned(each, variable)


def test_every_end_of_the_state_machine_itself_is_no_death(resources: Resources, definition: Mapping[str, Any]) -> None:
    ends = {state["Error"] for state in definition["States"].values() if state["Type"] == "Fail"}
    assert {each for each in ends if each.startswith("{%")} == {"{% $refusal.error %}"}
    # An expression takes what is there and adds to it: the error stays.
    refusals = [each for each in assigned(definition, "refusal") if each and not isinstance(each, str)]
    ends = ends - {"{% $refusal.error %}"} | {each["error"] for each in refusals}
    _, failed = resources["DeadExecutionRule"]["Properties"]["EventPattern"]["detail"]["$or"]
    assert set(failed["error"][0]["anything-but"]) == ends


@pytest.mark.parametrize("minutes", [1, 2, 60])
def test_the_sweep_comes_every_so_many_minutes(minutes: int) -> None:
    template = load(TEMPLATE, {"RecoveryPeriodMinutes": minutes})
    schedule = template.section("Resources")["RecoverySchedule"]["Properties"]
    unit = "minute" if minutes == 1 else "minutes"
    assert resolver(template).resolve(schedule["ScheduleExpression"]) == f"rate({minutes} {unit})"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}


def test_a_message_is_tried_as_often_as_the_parameter_says_and_is_then_a_dead_letter(resources: Resources) -> None:
    queue = resources["RequestQueue"]["Properties"]
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": {"Fn::GetAtt": ["RequestDeadLetterQueue", "Arn"]},
        "maxReceiveCount": {"Ref": "MaxReceiveCount"},
    }
    # While the pipe starts an execution with it, nobody else gets it; a failed start is tried again a minute later.
    assert queue["VisibilityTimeout"] == 60


def test_a_message_is_one_request_and_starts_one_execution(resources: Resources) -> None:
    pipe = resources["RequestPipe"]["Properties"]
    assert (pipe["Source"], pipe["Target"]) == (
        {"Fn::GetAtt": ["RequestQueue", "Arn"]},
        by_lane("FastStateMachine", "OperationStateMachine"),
    )
    assert pipe["SourceParameters"]["SqsQueueParameters"] == {"BatchSize": 1}
    assert pipe["TargetParameters"]["StepFunctionStateMachineParameters"] == {"InvocationType": "FIRE_AND_FORGET"}


FILTER = '{"messageAttributes":{"stage":{"stringValue":["prod"]}}}'


@pytest.mark.parametrize(("given", "filters"), [("", None), (FILTER, {"Filters": [{"Pattern": FILTER}]})])
def test_the_pipe_takes_every_message_unless_a_filter_is_given(
    resources: Resources, given: str, filters: object
) -> None:
    template = load(TEMPLATE, {"RequestQueueFilter": given})
    parameters = resources["RequestPipe"]["Properties"]["SourceParameters"]
    assert resolver(template).resolve(parameters).get("FilterCriteria") == filters


def test_the_pipe_logs_what_fails_without_the_request(resources: Resources) -> None:
    log = resources["RequestPipe"]["Properties"]["LogConfiguration"]
    assert log == {
        "CloudwatchLogsLogDestination": {"LogGroupArn": {"Fn::GetAtt": ["RequestPipeLogGroup", "Arn"]}},
        "Level": "ERROR",
    }


@pytest.mark.parametrize("name", ["OperationLogGroup", "RecoveryLogGroup", "RequestPipeLogGroup"])
def test_logs_that_are_delivered_take_no_place_in_the_accounts_log_policy(resources: Resources, name: str) -> None:
    assert resources[name]["Properties"]["LogGroupName"]["Fn::Sub"].startswith("/aws/vendedlogs/")


OF_A_TRIGGER = {
    "TakesEvents": {"RequestRule", "RequestRuleRole", "EventDeadLetterQueue", "EventDeadLetterQueuePolicy"},
    "TakesMessages": {"RequestQueue", "RequestQueuePolicy", "RequestDeadLetterQueue", "RequestDeadLetterQueuePolicy"}
    | {"RequestPipe", "RequestPipeRole", "RequestPipeLogGroup"},
}


@pytest.mark.parametrize(
    ("parameter", "condition"), [("EventTrigger", "TakesEvents"), ("QueueTrigger", "TakesMessages")]
)
def test_a_trigger_is_made_where_it_is_switched_on(resources: Resources, parameter: str, condition: str) -> None:
    for on in ("true", "false"):
        assert resolver(load(TEMPLATE, {parameter: on})).holds(condition) is (on == "true")
    made = {name for name, each in resources.items() if each.get("Condition") == condition}
    assert made >= OF_A_TRIGGER[condition]


DENIED = [f"{each}Policy" for each in ("RejectedRequestsQueue", "RequestQueue", "RequestDeadLetterQueue")]
FROM_A_RULE = {"EventDeadLetterQueue": "RequestRule", "RecoveryDeadLetterQueue": "DeadExecutionRule"}


def statements(resources: Resources, policy: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = resources[policy]["Properties"]["PolicyDocument"]["Statement"]
    return found


@pytest.mark.parametrize("policy", [*DENIED, *(f"{queue}Policy" for queue in FROM_A_RULE)])
def test_a_policy_is_of_its_own_queue(resources: Resources, policy: str) -> None:
    queue = policy.removesuffix("Policy")
    assert resources[policy]["Properties"]["Queues"] == [{"Ref": queue}]
    assert {str(each["Resource"]) for each in statements(resources, policy)} == {str({"Fn::GetAtt": [queue, "Arn"]})}


@pytest.mark.parametrize("policy", DENIED)
def test_no_policy_of_a_queue_lets_anybody_in(resources: Resources, policy: str) -> None:
    assert {each["Effect"] for each in statements(resources, policy)} == {"Deny"}


@pytest.mark.parametrize(("queue", "rule"), FROM_A_RULE.items())
def test_dead_letters_come_from_the_rule_and_nobody_else(resources: Resources, queue: str, rule: str) -> None:
    [allowed] = [each for each in statements(resources, f"{queue}Policy") if each["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert allowed["Action"] == "sqs:SendMessage"
    assert allowed["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": [rule, "Arn"]}}}


def test_only_this_account_sends_and_receives_requests(resources: Resources) -> None:
    _, refused = statements(resources, "RequestQueuePolicy")
    assert (refused["Effect"], refused["Principal"]) == ("Deny", "*")
    assert set(refused["Action"]) == {"sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"}
    assert refused["Condition"] == {"StringNotEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}
