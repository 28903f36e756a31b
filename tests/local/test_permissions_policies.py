"""What a role's policies allow, deny, and say nothing of."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.local.deployment.resources import Deployed
from oncekit.local.permissions.needs import Need
from oncekit.local.permissions.policies import Answer, Role, refusals_of, roles_of

pytestmark = pytest.mark.ours

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/orders"
READ = Need("dynamodb:GetItem", TABLE)
ARN = "arn:aws:iam::123456789012:role/r"


def allow(action: Any = "dynamodb:GetItem", resource: Any = TABLE, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: Any = "dynamodb:GetItem", resource: Any = TABLE, **more: Any) -> dict[str, Any]:
    return {**allow(action, resource, **more), "Effect": "Deny"}


def resource(kind: str, ref: str, properties: dict[str, Any]) -> Deployed:
    return Deployed(kind, properties, ref, lambda _name: ARN)


def role(*statements: dict[str, Any], **properties: Any) -> Deployed:
    inline = [{"PolicyName": "p", "PolicyDocument": {"Statement": list(statements)}}] if statements else []
    return resource("AWS::IAM::Role", "r", {"Policies": inline, **properties})


def made(*statements: dict[str, Any]) -> Role:
    return roles_of({"R": role(*statements)})[ARN]


def answer(*statements: dict[str, Any], need: Need = READ) -> Answer:
    return made(*statements).answer(need)[0]


@pytest.mark.aws(unconfirmed="V1")
@pytest.mark.parametrize(
    ("action", "resource", "allowed"),
    [
        ("dynamodb:GetItem", TABLE, True),
        ("DynamoDB:getitem", TABLE, True),  # actions are the same in any case, resources are not
        ("dynamodb:GetItem", TABLE.upper(), False),
        ("*", "*", True),
        ("dynamodb:Get*", TABLE, True),
        ("dynamodb:GetIte?", TABLE, True),
        ("dynamodb:PutItem", TABLE, False),
        ("dynamodb:GetItem", "arn:aws:dynamodb:*:*:table/orders", True),
        ("dynamodb:GetItem", TABLE.replace("orders", "o.ders"), False),
    ],
)
def test_allow_is_for_its_actions_on_its_resources(action: Any, resource: Any, allowed: bool) -> None:
    assert answer(allow(action, resource)) is (Answer.ALLOWED if allowed else Answer.NOT_ALLOWED)


@pytest.mark.aws(
    "IAM User Guide, Policy evaluation logic", "an explicit deny in any of these policies overrides the allow"
)
def test_deny_wins_wherever_it_stands() -> None:
    assert answer(allow(), deny("dynamodb:*", "*")) is Answer.DENIED
    assert answer(deny("dynamodb:*", "*"), allow()) is Answer.DENIED
    assert answer(allow(), deny("dynamodb:PutItem")) is Answer.ALLOWED


def test_what_nobody_knows_the_resource_of_is_held_against_the_action_alone() -> None:
    assert answer(allow(), need=Need("dynamodb:GetItem", None)) is Answer.ALLOWED
    assert answer(allow(), need=Need("dynamodb:PutItem", None)) is Answer.NOT_ALLOWED


ONCE = (("cloudwatch:namespace", "Once"),)


@pytest.mark.aws(unconfirmed="V1")
@pytest.mark.parametrize(
    ("condition", "allowed"),
    [
        ({"StringEquals": {"cloudwatch:namespace": "Once"}}, True),
        ({"StringEquals": {"CloudWatch:Namespace": ["Other", "Once"]}}, True),
        ({"StringEquals": {"cloudwatch:namespace": "Other"}}, False),
        ({"StringEquals": {"cloudwatch:namespace": "O*"}}, False),
        ({"StringLike": {"cloudwatch:namespace": "O*"}}, True),
        ({"Bool": {"aws:SecureTransport": "false"}}, False),
        ({"StringEquals": {"cloudwatch:namespace": "Once", "aws:RequestedRegion": "eu-west-1"}}, False),
        # What cannot be told here counts for the caller.
        ({"StringEquals": {"aws:PrincipalTag/team": "a"}}, True),
        ({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}, "Bool": {"aws:SecureTransport": "false"}}, False),
    ],
)
def test_allow_counts_when_its_condition_holds(condition: dict[str, Any], allowed: bool) -> None:
    need = Need("cloudwatch:PutMetricData", "*", ONCE)
    given = answer(allow("cloudwatch:*", "*", Condition=condition), need=need)
    assert given is (Answer.ALLOWED if allowed else Answer.NOT_ALLOWED)


@pytest.mark.aws(unconfirmed="V1")
@pytest.mark.parametrize(
    ("resource", "allowed"),
    [(TABLE, True), (TABLE.replace("123456789012", "210987654321"), False), ("arn:aws:s3:::b", True), (None, True)],
)
def test_the_account_of_a_resource_is_the_one_in_its_arn(resource: str | None, allowed: bool) -> None:
    of_this_account = allow("*", "*", Condition={"StringEquals": {"aws:ResourceAccount": "123456789012"}})
    given = answer(of_this_account, need=Need("dynamodb:GetItem", resource))
    assert given is (Answer.ALLOWED if allowed else Answer.NOT_ALLOWED)


@pytest.mark.aws(
    "IAM User Guide, Policy evaluation logic", "an explicit deny in any of these policies overrides the allow"
)
def test_deny_counts_when_its_condition_is_known_to_hold() -> None:
    assert answer(allow(), deny(Condition={"Bool": {"aws:SecureTransport": "true"}})) is Answer.DENIED
    assert answer(allow(), deny(Condition={"Bool": {"aws:SecureTransport": "false"}})) is Answer.ALLOWED
    assert answer(allow(), deny(Condition={"StringEquals": {"aws:PrincipalTag/team": "a"}})) is Answer.ALLOWED


WRITTEN = Need("s3:PutObject", "arn:aws:s3:::b/k", (("s3:if-none-match", "*"), ("s3:if-match", None)))


@pytest.mark.aws(unconfirmed="V1")
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"Null": {"s3:if-none-match": "true"}}, False),
        ({"Null": {"s3:if-none-match": "false"}}, True),
        ({"Null": {"s3:if-match": True}}, True),
        ({"Null": {"aws:SourceIp": "true"}}, False),  # nobody here knows
        ({"StringNotEquals": {"s3:if-match": "a"}}, True),
    ],
)
def test_key_that_is_known_to_be_absent_is_null(condition: dict[str, Any], holds: bool) -> None:
    given = answer(allow("s3:PutObject", "*"), deny("s3:PutObject", "*", Condition=condition), need=WRITTEN)
    assert (given is Answer.DENIED) is holds


@pytest.mark.parametrize("principal", ["*", {"AWS": "*"}, {"AWS": ARN}])
def test_buckets_policy_refuses_what_it_refuses_to_everyone(principal: Any) -> None:
    statement = deny("s3:PutObject", "arn:aws:s3:::b/*", Principal=principal)
    policy = resource("AWS::S3::BucketPolicy", "b", {"PolicyDocument": {"Statement": [statement]}})
    assert [each.is_for(WRITTEN) for each in refusals_of({"P": policy})] == (
        [True] if principal != {"AWS": ARN} else []
    )


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("AWS::IAM::Policy", {"PolicyName": "p", "Roles": ["other", "r"]}),
        ("AWS::IAM::RolePolicy", {"PolicyName": "p", "RoleName": "r"}),
        ("AWS::IAM::ManagedPolicy", {"Roles": ["r"]}),
    ],
)
def test_policy_beside_a_role_is_the_roles(kind: str, properties: dict[str, Any]) -> None:
    policy = resource(kind, "p", {**properties, "PolicyDocument": {"Statement": allow()}})
    for resources in ({"R": role(), "P": policy}, {"P": policy, "R": role()}):
        assert roles_of(resources)[ARN].answer(READ)[0] is Answer.ALLOWED
    stranger = resource(
        kind, "p", {**properties, "RoleName": "s", "Roles": ["s"], "PolicyDocument": {"Statement": allow()}}
    )
    assert roles_of({"R": role(), "P": stranger})[ARN].answer(READ)[0] is Answer.NOT_ALLOWED


def test_managed_policy_is_the_roles_that_name_it() -> None:
    arn = "arn:aws:iam::123456789012:policy/p"
    policy = resource("AWS::IAM::ManagedPolicy", arn, {"PolicyDocument": {"Statement": [allow()]}})
    assert roles_of({"R": role(ManagedPolicyArns=[arn]), "P": policy})[ARN].answer(READ)[0] is Answer.ALLOWED
    assert roles_of({"R": role(), "P": policy})[ARN].answer(READ)[0] is Answer.NOT_ALLOWED


@pytest.mark.parametrize(
    ("name", "action", "allowed"),
    [
        ("arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole", "logs:PutLogEvents", True),
        ("arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole", "dynamodb:GetItem", False),
        ("arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess", "dynamodb:GetItem", True),
        ("AmazonDynamoDBReadOnlyAccess", "dynamodb:PutItem", False),  # as SAM leaves it
    ],
)
def test_policy_that_aws_manages_is_known(name: str, action: str, allowed: bool) -> None:
    given = roles_of({"R": role(ManagedPolicyArns=[name])})[ARN].answer(Need(action, TABLE))[0]
    assert given is (Answer.ALLOWED if allowed else Answer.NOT_ALLOWED)


def test_role_with_a_policy_that_nobody_knows_is_held_to_nothing(caplog: pytest.LogCaptureFixture) -> None:
    unknown = "arn:aws:iam::123456789012:policy/somewhere-else"
    assert roles_of({"R": role(allow(), ManagedPolicyArns=[unknown])}) == {}
    assert roles_of({"R": role({"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"})}) == {}
    assert "calls of R are not checked: it is unknown what somewhere-else allows" in caplog.text
