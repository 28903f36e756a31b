"""Every path is run under the roles of the template: nothing that it needs is missing, and nothing else is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import every_path
import pytest
from roles import with_more
from scenario import charge
from template_parts import was_added

from oncekit.local import LocalCloud
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import Deployed
from oncekit.local.permissions import Denial
from oncekit.local.permissions.guard import Use
from oncekit.local.permissions.policies import Permission

FUNCTIONS = Path(__file__).parents[1] / "functions"
NOTES = "notes-of-library-calls"
TABLES = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table"

NO_CALLS_HERE = {
    "logs:": "functions' lines are kept by the local cloud itself, and its state machines write no log",
    "xray:": "nothing is traced here",
    "s3:ListBucket": "with it, S3 answers NoSuchKey for an object that is missing; the local cloud always does",
    # Not deployed by default: kms: for a key of one's own, because nothing is encrypted here, and FunctionRolloutRole,
    # which is CodeDeploy's.
}
"""Permissions that no run can use, by the beginning of their action, each with the reason."""
OTHER_LANE = ":stateMachine:FastStateMachine-local"
"""The cloud of these tests has the default lane. The triggers may start both, so that the lane can be changed while
requests are on their way."""
NAMED = "LanesPolicy"
"""Both lanes may run each function that the parameter Operations names; these tests run only some of them."""


@dataclass(frozen=True)
class Told:
    """What runs of all paths told."""

    permissions: Mapping[str, frozenset[Permission]]
    """Of each role, by logical id."""
    uses: frozenset[Use]
    denials: tuple[Denial, ...]


@pytest.fixture(scope="module")
def told(shared_cloud: LocalCloud) -> Told:
    """All roles in use."""
    shared_cloud.reset()
    with library_calls(shared_cloud):
        for path in every_path.PATHS:
            path(shared_cloud)
        roles = shared_cloud.permissions.roles
    uses, denials = frozenset(shared_cloud.permissions.uses), shared_cloud.denials()
    shared_cloud.reset()
    return Told({name: frozenset(role.permissions) for name, role in roles.items()}, uses, denials)


@contextmanager
def library_calls(cloud: LocalCloud) -> Iterator[None]:
    """The operation `library-calls`, under what docs/functions.md shows for it, and its own table's."""
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    client = cloud.client("dynamodb")
    key = {"AttributeName": "id", "KeyType": "HASH"}
    client.create_table(
        TableName=NOTES,
        KeySchema=[key],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    own = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"]
    statement = {"Effect": "Allow", "Action": [f"dynamodb:{each}" for each in own], "Resource": f"{TABLES}/{NOTES}"}
    steps = {
        "Effect": "Allow",
        "Action": ["dynamodb:GetItem", "dynamodb:UpdateItem"],
        "Resource": f"{TABLES}/{cloud.outputs['TableName']}",
        "Condition": {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": "*#library-calls#*"},
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    }
    bucket = f"arn:aws:s3:::{cloud.outputs['ResponseBucketName']}"
    answers = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": f"{bucket}/responses/*/*/library-calls/*"}
    document = {"Statement": [statement, steps, answers]}
    properties = {"Policies": [{"PolicyName": "own", "PolicyDocument": document}]}
    arn = f"arn:aws:iam::{ACCOUNT}:role/library-calls"
    role = Deployed("AWS::IAM::Role", properties, "library-calls", lambda _name: arn)
    cloud.permissions.deploy({**cloud.deployed.resources, "LibraryCallsRole": role})
    variables = {"NOTES_TABLE": NOTES}
    cloud.add_function("library-calls", FUNCTIONS / "library_calls", environment=variables, role="LibraryCallsRole")
    try:
        yield
    finally:
        cloud.permissions.deploy(cloud.deployed.resources)
        client.delete_table(TableName=NOTES)


def superfluous(permissions: Mapping[str, frozenset[Permission]], uses: frozenset[Use]) -> list[str]:
    """Permissions without which everything would have gone just as well. One of a policy that many roles have is
    needed when one of them needs it.
    """
    needed = {permission for use in uses if len(use.permissions) == 1 for permission in use.permissions}
    return sorted(
        f"{role} needs no {permission}"
        for role, given in permissions.items()
        for permission in given - needed
        if not permission.action.startswith(tuple(NO_CALLS_HERE))
        and not starts_the_other_lane(permission)
        and not (permission.policy.startswith(NAMED) and permission.action == "lambda:InvokeFunction")
    )


def starts_the_other_lane(permission: Permission) -> bool:
    is_trigger = permission.policy.startswith(("RequestRuleRole.", "RequestPipeRole."))
    return is_trigger and permission.resource.endswith(OTHER_LANE)


def test_no_role_lacks_a_permission(told: Told) -> None:
    assert told.denials == ()


def test_no_role_has_a_permission_that_nothing_needs(told: Told) -> None:
    assert superfluous(told.permissions, told.uses) == []


def test_every_role_is_in_use(told: Told, resources: Mapping[str, Mapping[str, Any]]) -> None:
    own = {name for name in told.permissions if not was_added(name, resources)}
    assert {use.role for use in told.uses} == own


def test_permission_that_another_one_covers_is_superfluous(cloud: LocalCloud) -> None:
    twice = {"Effect": "Allow", "Action": "dynamodb:Put*", "Resource": "*"}
    with with_more(cloud, "ChargePaymentRole", twice):
        cloud.run(charge())
        permissions = {"ChargePaymentRole": frozenset(cloud.permissions.roles["ChargePaymentRole"].permissions)}
        found = superfluous(permissions, frozenset(cloud.permissions.uses))
    assert [each for each in found if "dynamodb:Put* on *" in each]
