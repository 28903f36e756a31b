"""Rules for roles: one each, exact actions on exact resources, and a written reason beside every `*`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"
Resources = dict[str, dict[str, Any]]

# `Resource: ...*`, `Action: ...*`, `Principal: "*"`, or an item of such a list.
_WILDCARD = re.compile(r'^\s*(- )?(Resource|Action|Principal|NotAction)?:?.*(:\*|/\*|"\*"|_op-\*|\*:)')


def statements(resources: Resources, role: str) -> list[dict[str, Any]]:
    properties = resources[role]["Properties"]
    beside = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::IAM::Policy"]
    policies = [
        *properties.get("Policies", []),
        *(policy for policy in beside if {"Ref": role} in policy["Roles"]),
        *(resources[managed["Ref"]]["Properties"] for managed in with_all(properties.get("ManagedPolicyArns", []))),
    ]
    return [with_all(statement) for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def with_all(part: Any) -> Any:
    """What is there when the condition of the part, if it has one, holds."""
    return part["Fn::If"][1] if isinstance(part, dict) and "Fn::If" in part else part


def actions(statement: dict[str, Any]) -> list[str]:
    found = statement["Action"]
    return found if isinstance(found, list) else [found]


def role_of(resource: dict[str, Any]) -> str:
    role: str = resource["Properties"]["Role"]["Fn::GetAtt"][0]
    return role


SERVICES = {
    "AWS::Serverless::Function": "lambda.amazonaws.com",
    "AWS::StepFunctions::StateMachine": "states.amazonaws.com",
    "AWS::Events::Rule": "events.amazonaws.com",
    "AWS::Scheduler::Schedule": "scheduler.amazonaws.com",
    "AWS::Pipes::Pipe": "pipes.amazonaws.com",
    "AWS::Serverless::Api": "apigateway.amazonaws.com",
}
"""Who uses a role, and by which service."""


def credentials(properties: dict[str, Any]) -> Any:
    """The one role of all integrations of an API; answers to OPTIONS call nothing."""
    paths = properties.get("DefinitionBody", {}).get("paths", {})
    given = [
        method["x-amazon-apigateway-integration"]["credentials"]
        for each in paths.values()
        for name, method in each.items()
        if name != "options"
    ]
    assert all(each == given[0] for each in given)
    return given[0] if given else None


def users(resources: Resources) -> Iterator[tuple[str, str]]:
    """The role of each resource that has one, and the service that assumes it."""
    for resource in resources.values():
        if resource["Type"] not in SERVICES:
            continue
        properties = resource["Properties"]
        targets = [properties, properties.get("Target", {}), *properties.get("Targets", [])]
        roles = [target.get("RoleArn") or target.get("Role") for target in targets]
        roles += [credentials(properties)]
        yield from ((role["Fn::GetAtt"][0], SERVICES[resource["Type"]]) for role in roles if role)


def test_every_user_of_a_role_has_one_of_its_own(resources: Resources) -> None:
    roles = [role for role, _ in users(resources)]
    assert len(set(roles)) == len(roles)
    # CodeDeploy's, which deploys and does not run, is looked at in test_rollout.py.
    assert {*roles, "FunctionRolloutRole"} == {n for n, r in resources.items() if r["Type"] == "AWS::IAM::Role"}


# Who names such a role, in a function or an API, must be allowed to pass it. That API Gateway leaves aws:SourceAccount
# out when it assumes the role of an integration was seen on AWS:
# https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/pull/479
SAY_NO_ACCOUNT = ("lambda.amazonaws.com", "apigateway.amazonaws.com")


def test_a_role_is_assumed_by_its_service_only(resources: Resources) -> None:
    for role, service in users(resources):
        [trust] = resources[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        assert trust["Principal"] == {"Service": service}
        assert (trust["Effect"], trust["Action"]) == ("Allow", "sts:AssumeRole")
        bound = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
        assert trust.get("Condition") == (None if service in SAY_NO_ACCOUNT else bound), role


RESOURCES = {
    ("OperationRole", "s3:PutObject"): ["${ResponseBucket.Arn}/requests/*"],
    ("OperationRole", "sqs:SendMessage"): ["RejectedRequestsQueue.Arn"],
    ("OperationRole", "dynamodb:UpdateItem"): ["IdempotencyTable.Arn"],
    ("RecoveryRole", "sqs:SendMessage"): ["RejectedRequestsQueue.Arn"],
    ("RecoveryRole", "dynamodb:Query"): ["${IdempotencyTable.Arn}/index/open-operations"],
    ("RecoveryRole", "dynamodb:GetItem"): ["IdempotencyTable.Arn"],
    ("RecoveryRole", "states:StartExecution"): ["OperationStateMachine"],
    ("RequestRuleRole", "states:StartExecution"): ["OperationStateMachine", "FastStateMachine"],
    ("RequestPipeRole", "states:StartExecution"): ["OperationStateMachine", "FastStateMachine"],
    ("FastRole", "s3:PutObject"): ["${ResponseBucket.Arn}/requests/*", "${ResponseBucket.Arn}/inflight/*"],
    ("FastRole", "sqs:SendMessage"): ["RejectedRequestsQueue.Arn"],
    ("FastRole", "dynamodb:UpdateItem"): ["IdempotencyTable.Arn"],
    ("FastRole", "dynamodb:GetItem"): ["IdempotencyTable.Arn"],
    ("FastRole", "states:StartExecution"): ["OperationStateMachine"],
    ("RecoveryRole", "s3:GetObject"): ["${ResponseBucket.Arn}/inflight/*"],
    ("RecoveryRole", "s3:ListBucket"): ["ResponseBucket.Arn"],
    ("RequestPipeRole", "sqs:ReceiveMessage"): ["RequestQueue.Arn"],
    ("RequestPipeRole", "logs:PutLogEvents"): ["RequestPipeLogGroup.Arn"],
    ("RequestApiRole", "states:StartSyncExecution"): ["FastStateMachine"],
    ("RequestApiRole", "dynamodb:GetItem"): ["IdempotencyTable.Arn"],
    ("RequestApiRole", "s3:GetObject"): ["${ResponseBucket.Arn}/responses/*"],
    ("DeadExecutionRuleRole", "states:StartExecution"): ["RecoveryStateMachine"],
    ("RecoveryScheduleRole", "states:StartExecution"): ["RecoveryStateMachine"],
    ("RecoveryScheduleRole", "sqs:SendMessage"): ["RecoveryDeadLetterQueue.Arn"],
}
"""What a role may do something to: what is wider than that goes unseen when every path is run."""


def named(resource: Any) -> str:
    """What a statement's resource is called in the template."""
    if isinstance(resource, str):
        return resource
    [(function, value)] = resource.items()
    return ".".join(value) if function == "Fn::GetAtt" else str(value)


@pytest.mark.parametrize(("role", "action"), RESOURCES)
def test_a_role_may_do_it_to_nothing_else(resources: Resources, role: str, action: str) -> None:
    given = [s["Resource"] for s in statements(resources, role) if action in actions(s)]
    flat = [each for part in given for each in (part if isinstance(part, list) else [part])]
    assert [named(each) for each in flat] == RESOURCES[role, action]


def test_numbers_are_published_in_the_namespace_of_once_only(resources: Resources) -> None:
    [publish] = [s for s in statements(resources, "RecoveryRole") if "cloudwatch:PutMetricData" in actions(s)]
    assert publish["Condition"] == {"StringEquals": {"cloudwatch:namespace": "Once"}}


LOG_DELIVERY = {"CreateLogDelivery", "GetLogDelivery", "UpdateLogDelivery", "DeleteLogDelivery", "ListLogDeliveries"}
LOG_DELIVERY |= {"PutResourcePolicy", "DescribeResourcePolicies", "DescribeLogGroups"}
TRACES = {"PutTraceSegments", "PutTelemetryRecords", "GetSamplingRules", "GetSamplingTargets"}


@pytest.mark.parametrize("role", ["OperationRole", "FastRole", "RecoveryRole"])
def test_a_state_machine_may_set_up_its_log_and_write_traces(resources: Resources, role: str) -> None:
    """The local cloud makes no such calls. The lists are those of Step Functions' developer guide."""
    allowed = {action for s in statements(resources, role) for action in actions(s)}
    assert {each for each in allowed if each.startswith("logs:")} == {f"logs:{each}" for each in LOG_DELIVERY}
    traces = set() if role == "FastRole" else {f"xray:{each}" for each in TRACES}
    assert {each for each in allowed if each.startswith("xray:")} == traces


def test_a_function_may_write_its_log_and_traces(own_functions: Resources, resources: Resources) -> None:
    written = {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTraceSegments", "xray:PutTelemetryRecords"}
    for name, function in own_functions.items():
        allowed = {action for s in statements(resources, role_of(function)) for action in actions(s)}
        assert {each for each in allowed if each.startswith(("logs:", "xray:"))} == written, name


def test_who_uses_the_key_may_read_and_write_with_it(resources: Resources) -> None:
    [use] = resources["EncryptionKeyPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert (use["Effect"], set(use["Action"])) == ("Allow", {"kms:Decrypt", "kms:GenerateDataKey"})


def test_roles_are_given_and_refused_nothing(resources: Resources) -> None:
    roles = [name for name, r in resources.items() if r["Type"] == "AWS::IAM::Role"]
    assert {s["Effect"] for role in roles for s in statements(resources, role)} == {"Allow"}


def test_no_permission_is_for_every_action_of_a_service(resources: Resources) -> None:
    roles = [name for name, r in resources.items() if r["Type"] == "AWS::IAM::Role"]
    allowed = [action for role in roles for statement in statements(resources, role) for action in actions(statement)]
    assert allowed
    assert not [action for action in allowed if "*" in action]


def test_every_wildcard_has_its_reason_beside_it() -> None:
    lines = re.sub(r"\\\n *", "", TEMPLATE.read_text()).splitlines()  # a text on several lines is one
    given = [line.partition(" #")[0] for line in lines]
    found = [n for n, line in enumerate(given) if _WILDCARD.search(line) and "AllowedPattern" not in line]
    assert len(found) >= 8, "the pattern no longer finds what is there"
    without = [lines[n] for n in found if " # " not in lines[n] and not lines[n - 1].lstrip().startswith("# ")]
    assert not without


OF_THE_OTHER_LANE = {
    "OperationRole": {"states:StartExecution"},
    "FastRole": {"states:DescribeExecution", "states:GetExecutionHistory", "states:RedriveExecution"},
}
"""What states call that this lane does not reach."""
BESIDE = {"RecoveryRole": {"s3:ListBucket"}}
"""What makes S3 say that an object is missing."""


def test_a_state_machine_may_do_exactly_what_its_definition_calls(
    resources: Resources, definitions: dict[str, dict[str, Any]], states: dict[str, Any]
) -> None:
    called = {action_of(state["Resource"]) for state in states.values() if state["Type"] == "Task"}
    is_fast = states.get("ReceiveRequest") == definitions["fast"]["States"]["ReceiveRequest"]
    role = "RecoveryRole" if "EndLease" in states else "FastRole" if is_fast else "OperationRole"
    allowed = {action for s in statements(resources, role) for action in actions(s)}
    needed = (called - OF_THE_OTHER_LANE.get(role, set())) | BESIDE.get(role, set())
    assert {action for action in allowed if not action.startswith(("logs:", "xray:", "kms:"))} == needed


def action_of(resource: str) -> str:
    """The IAM action of a task: states:DescribeExecution for `arn:aws:states:::aws-sdk:sfn:describeExecution`."""
    service, action = resource.split(":")[-2:]
    if service == "lambda":
        return "lambda:InvokeFunction"
    return f"{ {'sfn': 'states'}.get(service, service) }:{action[0].upper()}{action[1:]}"


def test_the_state_machine_reads_and_redrives_its_own_executions_only(resources: Resources) -> None:
    [statement] = resources["OperationOwnersPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    own, former = statement["Resource"]
    assert own["Fn::Sub"].endswith(":execution:${OperationStateMachine.Name}:*")
    condition, theirs, nothing = former["Fn::If"]
    assert theirs["Fn::Sub"].endswith(":execution:${FormerStateMachineName}:*")
    assert (condition, nothing) == ("HadStateMachine", {"Ref": "AWS::NoValue"})


@pytest.mark.parametrize("lane", ["Operation", "Fast"])
def test_a_lane_invokes_operations_of_this_stack_by_alias_only(lane: str, resources: Resources) -> None:
    invoking = [s for s in statements(resources, f"{lane}Role") if "lambda:InvokeFunction" in actions(s)]
    targets = [s["Resource"] for s in invoking if s["Sid"] != "RunNamedOperations"]
    given = resources[f"{lane}StateMachine"]["Properties"]["DefinitionSubstitutions"]["FunctionPrefix"]
    prefix = with_all(given)["Fn::Sub"]
    assert prefix == "${AWS::StackName}_op"
    [any_operation, caching] = sorted(t["Fn::Sub"] for t in targets)[::-1]
    assert caching == "${CacheResponseFunction.Arn}:live"
    assert any_operation.endswith(f":function:{prefix}-*:live")


WITH_STEPS = {"PlaceOrderFunction"}
"""Functions whose business logic writes in fenced steps."""


def test_only_a_function_with_fenced_steps_may_touch_records(functions: Resources) -> None:
    folders = {name: ROOT / function["Properties"]["CodeUri"] for name, function in functions.items()}
    with_steps = {n for n, f in folders.items() if any(".step(" in file.read_text() for file in f.glob("*.py"))}
    assert with_steps == WITH_STEPS


def test_a_function_may_use_the_tables_that_its_environment_names_and_no_other(
    own_functions: Resources, resources: Resources
) -> None:
    for name, function in own_functions.items():
        variables = function["Properties"]["Environment"]["Variables"]
        named = {value["Ref"] for key, value in variables.items() if key.endswith("_TABLE")}
        if name in WITH_STEPS:
            named.add("IdempotencyTable")  # its name comes with the lock
        allowed = {
            statement["Resource"]["Fn::GetAtt"][0]
            for statement in statements(resources, role_of(function))
            if any(action.startswith("dynamodb:") for action in actions(statement))
        }
        assert allowed == named, name


def test_a_function_writes_to_its_own_log_group_only(own_functions: Resources, resources: Resources) -> None:
    for name, function in own_functions.items():
        own = function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
        [logs] = [s for s in statements(resources, role_of(function)) if "logs:PutLogEvents" in actions(s)]
        assert logs["Resource"] == {"Fn::GetAtt": [own, "Arn"]}, name


def test_functions_keep_responses_and_nothing_else_in_the_bucket(
    own_functions: Resources, resources: Resources
) -> None:
    for function in own_functions.values():
        [keep] = [s for s in statements(resources, role_of(function)) if "s3:PutObject" in actions(s)]
        assert keep["Resource"] == {"Fn::Sub": "${ResponseBucket.Arn}/responses/*"}
