"""Rules for roles: one each, exact actions on exact resources, and a written reason beside every `*`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from template_parts import PARTS, written_with

from oncekit.local import LocalCloud
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.once_cloud import PREFIX
from oncekit.local.permissions.needs import Need
from oncekit.local.permissions.policies import Answer, Permission, permissions_of

ROOT = Path(__file__).parents[2]
TEMPLATES = (ROOT / "template.yaml", *ROOT.glob("*/template.yaml"))
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


def test_no_permission_is_for_every_action_of_a_service(resources: Resources) -> None:
    roles = [name for name, r in resources.items() if r["Type"] == "AWS::IAM::Role"]
    allowed = [action for role in roles for statement in statements(resources, role) for action in actions(statement)]
    assert allowed
    assert not [action for action in allowed if "*" in action]


def test_every_wildcard_has_its_reason_beside_it() -> None:
    text = "".join(each.read_text() for each in TEMPLATES)
    lines = re.sub(r"\\\n *", "", text).splitlines()  # a text on several lines is one
    given = [line.partition(" #")[0] for line in lines]
    found = [n for n, line in enumerate(given) if _WILDCARD.search(line) and "AllowedPattern" not in line]
    assert len(found) >= 8, "the pattern no longer finds what is there"
    without = [lines[n] for n in found if " # " not in lines[n] and not lines[n - 1].lstrip().startswith("# ")]
    assert not without


ARN = f"arn:aws:{{}}:{REGION}:{ACCOUNT}"
FUNCTION = f"{ARN.format('lambda')}:function"
MACHINE, EXECUTION = f"{ARN.format('states')}:stateMachine", f"{ARN.format('states')}:execution"
OWN = f"{PREFIX}charge-payment"
BOUNDS = [
    ("OperationRole", "s3:PutObject", "<ResponseBucket>/requests/x", "<ResponseBucket>/responses/x"),
    ("FastRole", "s3:PutObject", "<ResponseBucket>/rejected/x", "<ResponseBucket>/responses/x"),
    ("RecoveryRole", "s3:GetObject", "<ResponseBucket>/requests/x", "<ResponseBucket>/responses/x"),
    ("CacheResponseRole", "s3:PutObject", "<ResponseBucket>/responses/x", "<ResponseBucket>/requests/x"),
    (
        "BuildReportRole",
        "s3:PutObject",
        "<ResponseBucket>/responses/30d/acme/build-report/x",
        "<ResponseBucket>/responses/30d/acme/place-order/x",
    ),
    ("RequestApiRole", "s3:GetObject", "<ResponseBucket>/responses/x", "<ResponseBucket>/requests/x"),
    ("RequestApiRole", "states:StartSyncExecution", f"{MACHINE}:<FastStateMachine>", f"{MACHINE}:Other"),
    ("OperationRole", "lambda:InvokeFunction", f"{FUNCTION}:{OWN}:live", f"{FUNCTION}:{OWN}:1"),
    (
        "FastRole",
        "lambda:InvokeFunction",
        f"{FUNCTION}:{PREFIX}told:live",
        f"arn:aws:lambda:{REGION}:210987654321:function:{PREFIX}told:live",
    ),
    ("FastRole", "lambda:InvokeFunction", f"{FUNCTION}:{OWN}:live", f"{FUNCTION}:other_op-charge-payment:live"),
    ("OperationRole", "dynamodb:UpdateItem", "<IdempotencyTable>", "<OrdersTable>"),
    ("PlaceOrderRole", "dynamodb:UpdateItem", "<StockTable>", "<ProviderLedgerTable>"),
    ("ChargePaymentRole", "dynamodb:PutItem", "<ProviderLedgerTable>", "<IdempotencyTable>"),
    ("OperationRole", "states:DescribeExecution", f"{EXECUTION}:<OperationStateMachine>:x", f"{EXECUTION}:Other:x"),
    ("OperationRole", "s3:PutObject", "<ResponseBucket>/requests/x", "<ResponseBucket>/requests-2/x"),
    ("OperationRole", "s3:PutObject", "<ResponseBucket>/rejected/x", "<ResponseBucket>/rejected-2/x"),
    ("FastRole", "states:StartExecution", f"{MACHINE}:<OperationStateMachine>", f"{MACHINE}:<FastStateMachine>"),
    ("RecoveryRole", "states:StartExecution", f"{MACHINE}:<OperationStateMachine>", f"{MACHINE}:<FastStateMachine>"),
    ("RecoveryRole", "dynamodb:Query", "<IdempotencyTable>/index/open-operations", "<IdempotencyTable>/index/other"),
    ("RecoveryRole", "dynamodb:GetItem", "<IdempotencyTable>", "<OrdersTable>"),
    ("RecoveryRole", "s3:ListBucket", "<ResponseBucket>", "arn:aws:s3:::another"),
    ("RecoveryScheduleRole", "states:StartExecution", f"{MACHINE}:<RecoveryStateMachine>", f"{MACHINE}:Other"),
    ("RequestRuleRole", "states:StartExecution", f"{MACHINE}:<FastStateMachine>", f"{MACHINE}:<RecoveryStateMachine>"),
    ("RequestPipeRole", "states:StartExecution", f"{MACHINE}:<FastStateMachine>", f"{MACHINE}:<RecoveryStateMachine>"),
    ("RequestPipeRole", "sqs:ReceiveMessage", "<RequestQueue>", "<RequestDeadLetterQueue>"),
    ("RequestPipeRole", "sqs:DeleteMessage", "<RequestQueue>", "<EventDeadLetterQueue>"),
    ("RequestPipeRole", "logs:PutLogEvents", "<RequestPipeLogGroup>", "<OperationLogGroup>"),
    ("RequestApiRole", "dynamodb:GetItem", "<IdempotencyTable>", "<OrdersTable>"),
    ("CacheResponseRole", "logs:PutLogEvents", "<CacheResponseLogGroup>", "<OperationLogGroup>"),
    ("PlaceOrderRole", "dynamodb:PutItem", "<OrdersTable>", "<StockTable>"),
    (
        "BuildReportRole",
        "s3:GetObject",
        "<ResponseBucket>/responses/30d/acme/build-report/x",
        "<ResponseBucket>/responses/30d/acme/build-report-2/x",
    ),
]
"""Role, action, a resource that it is for, and the nearest one that it is not for."""


@pytest.mark.parametrize(("role", "action", "own", "beyond"), BOUNDS)
def test_a_role_reaches_no_further_than_its_part(
    shared_cloud: LocalCloud, role: str, action: str, own: str, beyond: str
) -> None:
    """What is wider than a path needs goes unseen when all paths are run."""
    [found] = [each for each in shared_cloud.permissions.roles.values() if each.logical_id == role]

    def arn(written: str) -> str:
        for name, each in shared_cloud.deployed.resources.items():
            if f"<{name}>" in written:
                is_machine = each.type == "AWS::StepFunctions::StateMachine"
                written = written.replace(f"<{name}>", each.attributes("Name" if is_machine else "Arn"))
        return written

    assert found.answer(Need(action, arn(own)))[0] is Answer.ALLOWED
    assert found.answer(Need(action, arn(beyond)))[0] is Answer.NOT_ALLOWED


OF_SHORT_NAMES = ",".join(f"op-{n}=shop-Op{n}-1A2B3C4D5E6F:live" for n in range(100))


@pytest.mark.parametrize("role", ["OperationRole", "FastRole"])
def test_a_hundred_operations_with_short_names_fit_into_the_policies_of_a_role(role: str) -> None:
    """IAM and STS quotas: 10,240 characters for all inline policies of a role, without white space."""
    known, resources = written_with(Operations=OF_SHORT_NAMES)
    arn = "arn:aws:service:ap-northeast-1:123456789012:"
    known = replace(known, attribute=lambda name, _: f"{arn}function:once-prod-{name[:20]}-1A2B3C4D5E6F")
    beside = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::IAM::Policy"]
    policies = [
        *resources[role]["Properties"].get("Policies", []),
        *(policy for policy in beside if {"Ref": role} in policy["Roles"]),
    ]
    documents = [json.dumps(known.resolve(each["PolicyDocument"]), separators=(",", ":")) for each in policies]
    assert sum(map(len, documents)) <= 10_240


# ---- conditions ----

TABLE, SHOP = f"{ARN.format('dynamodb')}:table/IdempotencyTable", f"{FUNCTION}:shop-Pay:live"
Context = dict[str, str | None]
OVERWRITES: Context = {"s3:if-none-match": None, "s3:ObjectCreationOperation": "true"}
STRANGER = "210987654321"
ALLOWANCES: list[tuple[str, str, str, Context, Context]] = [
    ("LanesPolicy", "lambda:InvokeFunction", SHOP, {}, {"aws:ResourceAccount": STRANGER}),
    ("LanesPolicy", "lambda:InvokeFunction", SHOP, {}, {"aws:RequestedRegion": "eu-west-1"}),
    ("RecoveryRole", "cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": "Once"}, {"cloudwatch:namespace": "No"}),
    *(
        ("PlaceOrderRole", action, TABLE, {"dynamodb:LeadingKeys": "acme#place-order#k"}, {"dynamodb:LeadingKeys": key})
        for action in ("dynamodb:GetItem", "dynamodb:UpdateItem")
        for key in ("acme#place-order-2#k", "acme#re-place-order#k", "place-order#charge-payment#k", None)
    ),
    (
        "EventDeadLetterQueuePolicy",
        "sqs:SendMessage",
        "EventDeadLetterQueue.Arn",
        {"aws:SourceArn": "RequestRule.Arn"},
        {"aws:SourceArn": "AnotherRule.Arn"},
    ),
]
REFUSALS: list[tuple[str, str, str, Context, Context]] = [
    *(
        ("ResponseBucketPolicy", "s3:PutObject", "ResponseBucket.Arn/responses/x", OVERWRITES, OVERWRITES | new)
        for new in ({"s3:if-none-match": "*"}, {"s3:ObjectCreationOperation": "false"})
    ),
    *(
        (holder, action, place, {"aws:SecureTransport": "false"}, {"aws:SecureTransport": "true"})
        for holder, action, place in (
            ("ResponseBucketPolicy", "s3:GetObject", "ResponseBucket.Arn/requests/x"),
            ("ResponseBucketPolicy", "s3:ListBucket", "ResponseBucket.Arn"),
            ("EventDeadLetterQueuePolicy", "sqs:ReceiveMessage", "EventDeadLetterQueue.Arn"),
            ("RequestQueuePolicy", "sqs:GetQueueAttributes", "RequestQueue.Arn"),
            ("RequestDeadLetterQueuePolicy", "sqs:DeleteMessage", "RequestDeadLetterQueue.Arn"),
            ("AnnouncementDeadLetterQueuePolicy", "sqs:SendMessage", "AnnouncementDeadLetterQueue.Arn"),
        )
    ),
    *(
        (
            "RequestQueuePolicy",
            f"sqs:{action}",
            "RequestQueue.Arn",
            {"aws:PrincipalAccount": STRANGER},
            {"aws:PrincipalAccount": ACCOUNT},
        )
        for action in ("SendMessage", "ReceiveMessage", "DeleteMessage")
    ),
]
"""Who holds a statement with a condition, a call that it allows or refuses, and what makes of it one that it says
nothing of: without its condition it would be for both.
"""
CONDITIONS = [*((True, *each) for each in ALLOWANCES), *((False, *each) for each in REFUSALS)]


def conditional(holder: str) -> list[Permission]:
    """The permissions of a role or a policy that have a condition, as they are deployed."""
    for file in (TEMPLATES[0], *PARTS):
        known, resources = written_with(file, Operations="pay=shop-Pay:live")
        if holder in resources:
            found = [known.resolve(each) for each in documents(resources[holder]["Properties"])]
            return [each for document in found for each in permissions_of(holder, document) if each.condition]
    raise KeyError(holder)


def documents(properties: dict[str, Any]) -> list[dict[str, Any]]:
    holders = [with_all(each) for each in properties.get("Policies", [properties])]
    return [each["PolicyDocument"] for each in holders if "PolicyDocument" in each]


@pytest.mark.parametrize(("allows", "holder", "action", "resource", "own", "beyond"), CONDITIONS)
def test_a_condition_tells_a_call_that_its_statement_is_for_from_the_nearest_one(
    allows: bool, holder: str, action: str, resource: str, own: Context, beyond: Context
) -> None:
    def said(context: Context) -> set[bool]:
        need = Need(action, resource, tuple(context.items()))
        return {each.allows for each in conditional(holder) if each.is_for(need)}

    assert (said(own), said(own | beyond)) == ({allows}, set())


def test_each_condition_has_such_a_call(resources: Resources) -> None:
    stated = {
        (name, key)
        for name, each in resources.items()
        for document in documents(each["Properties"])
        for statement in document["Statement"]
        for compared in with_all(statement).get("Condition", {}).values()
        for key in compared
    }
    assert stated == {(holder, key) for _, holder, _, _, own, beyond in CONDITIONS for key in {*own, *beyond}}
