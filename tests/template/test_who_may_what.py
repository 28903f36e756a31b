"""Who may do what: every grant of every role, exactly, and who may take the role on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from template_parts import written_with

KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
FORMER = "arn:aws:kms:us-east-1:123456789012:key/before"
OF_THE_STACK = "arn:aws:states:us-east-1:123456789012:execution:"
MACHINE = "OperationStateMachine"
FAST_MACHINE = "FastStateMachine"
IN_FLIGHT = "ResponseBucket.Arn/inflight/*"
RECORDS = "IdempotencyTable.Arn"
REJECTED = "RejectedRequestsQueue.Arn"

Grants = dict[str, set[str]]
"""Resource -> actions."""

LOG_DELIVERY = {f"logs:{verb}LogDelivery" for verb in ("Create", "Get", "Update", "Delete")}
LOGS_OF_A_MACHINE = LOG_DELIVERY | {
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
}
TRACES = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
TRACES_OF_A_MACHINE = TRACES | {"xray:GetSamplingRules", "xray:GetSamplingTargets"}
INTO_ITS_LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
USE = {"kms:Decrypt", "kms:GenerateDataKey"}

GRANTS: dict[str, Grants] = {
    "OperationRole": {
        RECORDS: {"dynamodb:UpdateItem", "dynamodb:GetItem"},
        "arn:aws:lambda:us-east-1:123456789012:function:once_op-*:live": {"lambda:InvokeFunction"},
        "CacheResponseFunction.Arn:live": {"lambda:InvokeFunction"},
        "ResponseBucket.Arn/requests/*": {"s3:PutObject"},
        REJECTED: {"sqs:SendMessage"},
        f"{OF_THE_STACK}{MACHINE}.Name:*": {
            "states:DescribeExecution",
            "states:GetExecutionHistory",
            "states:RedriveExecution",
        },
        "*": LOGS_OF_A_MACHINE | TRACES_OF_A_MACHINE,
    },
    "FastRole": {
        RECORDS: {"dynamodb:UpdateItem", "dynamodb:GetItem"},
        "arn:aws:lambda:us-east-1:123456789012:function:once_op-*:live": {"lambda:InvokeFunction"},
        "CacheResponseFunction.Arn:live": {"lambda:InvokeFunction"},
        "ResponseBucket.Arn/requests/*": {"s3:PutObject"},
        IN_FLIGHT: {"s3:PutObject"},
        REJECTED: {"sqs:SendMessage"},
        MACHINE: {"states:StartExecution"},
        "*": LOGS_OF_A_MACHINE,
    },
    "RecoveryRole": {
        IN_FLIGHT: {"s3:GetObject"},
        "ResponseBucket.Arn": {"s3:ListBucket"},
        f"{RECORDS}/index/open-operations": {"dynamodb:Query"},
        RECORDS: {"dynamodb:GetItem", "dynamodb:UpdateItem"},
        MACHINE: {"states:StartExecution", "states:ListExecutions"},
        f"{OF_THE_STACK}{MACHINE}.Name:*": {"states:DescribeExecution", "states:GetExecutionHistory"},
        REJECTED: {"sqs:SendMessage"},
        "*": {"cloudwatch:PutMetricData"} | LOGS_OF_A_MACHINE | TRACES_OF_A_MACHINE,
    },
    "RequestRuleRole": {MACHINE: {"states:StartExecution"}, FAST_MACHINE: {"states:StartExecution"}},
    "RequestPipeRole": {
        "RequestQueue.Arn": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
        MACHINE: {"states:StartExecution"},
        FAST_MACHINE: {"states:StartExecution"},
        "RequestPipeLogGroup.Arn": INTO_ITS_LOG,
    },
    "RequestApiRole": {
        FAST_MACHINE: {"states:StartSyncExecution"},
        RECORDS: {"dynamodb:GetItem"},
        "ResponseBucket.Arn/responses/*": {"s3:GetObject"},
    },
    "DeadExecutionRuleRole": {"RecoveryStateMachine": {"states:StartExecution"}},
    "RecoveryScheduleRole": {
        "RecoveryStateMachine": {"states:StartExecution"},
        "RecoveryDeadLetterQueue.Arn": {"sqs:SendMessage"},
    },
    "CacheResponseRole": {"CacheResponseLogGroup.Arn": INTO_ITS_LOG},
    "ChargePaymentRole": {
        "ChargePaymentLogGroup.Arn": INTO_ITS_LOG,
        "ProviderLedgerTable.Arn": {"dynamodb:PutItem"},
    },
    "PlaceOrderRole": {
        "PlaceOrderLogGroup.Arn": INTO_ITS_LOG,
        "OrdersTable.Arn": {"dynamodb:PutItem"},
        "StockTable.Arn": {"dynamodb:UpdateItem"},
    },
    "BuildReportRole": {"BuildReportLogGroup.Arn": INTO_ITS_LOG},
    "FunctionRolloutRole": {
        **{
            function: {"lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"}
            for function in (
                "arn:aws:lambda:us-east-1:123456789012:function:once_op-*",
                "CacheResponseFunction.Arn",
                "CacheResponseFunction.Arn:live",
            )
        },
        "*": {"cloudwatch:DescribeAlarms"},
    },
    "FunctionPolicy": {
        "ResponseBucket.Arn/responses/*": {"s3:PutObject", "s3:GetObject"},
        "*": TRACES,
    },
    "StepPolicy": {RECORDS: {"dynamodb:GetItem", "dynamodb:UpdateItem"}},
}
MANAGED = {
    "CacheResponseRole": ["FunctionPolicy"],
    "ChargePaymentRole": ["FunctionPolicy"],
    "PlaceOrderRole": ["FunctionPolicy", "StepPolicy"],
    "BuildReportRole": ["FunctionPolicy"],
}
USES_KEYS = ("OperationRole", "FastRole", "RecoveryRole", "RequestPipeRole", "RequestApiRole", "RecoveryScheduleRole")
BOUNDED = {"RecoveryRole": {"cloudwatch:PutMetricData": {"StringEquals": {"cloudwatch:namespace": "Once"}}}}
"""Grants that hold under a condition only."""

TAKEN_ON_BY = {
    "OperationRole": "states",
    "FastRole": "states",
    "RecoveryRole": "states",
    "RequestRuleRole": "events",
    "DeadExecutionRuleRole": "events",
    "RequestPipeRole": "pipes",
    "RequestApiRole": "apigateway",
    "RecoveryScheduleRole": "scheduler",
    "FunctionRolloutRole": "codedeploy",
    **{f"{name}Role": "lambda" for name in ("CacheResponse", "ChargePayment", "PlaceOrder", "BuildReport")},
}
OF_THIS_ACCOUNT = {"StringEquals": {"aws:SourceAccount": "123456789012"}}


def statements(name: str, **given: str) -> Iterator[dict[str, Any]]:
    """Every statement of a role or a policy, also of a policy beside it that names the role."""
    resolved, resources = written_with(**given)
    properties = resolved.resolve(resources[name]["Properties"])
    documents = [properties["PolicyDocument"]] if "PolicyDocument" in properties else []
    documents += [each["PolicyDocument"] for each in properties.get("Policies", ())]
    for each in resources.values():
        is_there = "Condition" not in each or resolved.holds(each["Condition"])
        if is_there and each["Type"] == "AWS::IAM::Policy" and {"Ref": name} in each["Properties"]["Roles"]:
            documents.append(resolved.resolve(each["Properties"])["PolicyDocument"])
    for document in documents:
        assert document["Version"] == "2012-10-17"
        yield from document["Statement"]


def as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def grants(name: str, **given: str) -> Grants:
    found: Grants = {}
    for statement in statements(name, **given):
        assert statement["Effect"] == "Allow"
        for resource in as_list(statement["Resource"]):
            found.setdefault(resource, set()).update(as_list(statement["Action"]))
    return found


@pytest.mark.parametrize("name", GRANTS)
def test_a_role_may_do_this_and_nothing_else(name: str) -> None:
    assert grants(name) == GRANTS[name]


@pytest.mark.parametrize("name", GRANTS)
def test_a_grant_holds_without_a_condition_unless_one_bounds_it(name: str) -> None:
    bounded = {
        action: each["Condition"]
        for each in statements(name)
        for action in as_list(each["Action"])
        if "Condition" in each
    }
    assert bounded == BOUNDED.get(name, {})


def test_every_role_and_every_policy_is_here() -> None:
    _, resources = written_with()
    kinds = ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy")
    assert {name for name, each in resources.items() if each["Type"] in kinds} == {
        *GRANTS,
        "EncryptionKeyPolicy",
    }


@pytest.mark.parametrize("name", TAKEN_ON_BY)
def test_a_role_is_taken_on_by_its_service_and_for_this_account(name: str) -> None:
    resolved, resources = written_with(Rollout="Canary")
    properties = resolved.resolve(resources[name]["Properties"])
    document = properties["AssumeRolePolicyDocument"]
    [statement] = document["Statement"]
    service = TAKEN_ON_BY[name]
    assert (document["Version"], statement["Effect"]) == ("2012-10-17", "Allow")
    assert (statement["Action"], statement["Principal"]) == ("sts:AssumeRole", {"Service": f"{service}.amazonaws.com"})
    # Lambda, CodeDeploy and API Gateway say no source account.
    bound = None if service in ("lambda", "codedeploy", "apigateway") else OF_THIS_ACCOUNT
    assert statement.get("Condition") == bound


@pytest.mark.parametrize("name", [*MANAGED, *USES_KEYS])
def test_a_role_has_the_policies_that_it_shares_with_others(name: str) -> None:
    for given in ({}, {"EncryptionKeyArn": KEY}, {"FormerEncryptionKeyArn": FORMER}):
        resolved, resources = written_with(**given)
        found = resolved.resolve(resources[name]["Properties"]).get("ManagedPolicyArns", [])
        assert found == (["EncryptionKeyPolicy"] if name in USES_KEYS and given else MANAGED.get(name, []))


@pytest.mark.parametrize("name", ["EncryptionKeyPolicy", "FunctionPolicy"])
@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({"EncryptionKeyArn": KEY}, [KEY]),
        ({"FormerEncryptionKeyArn": FORMER}, [FORMER]),
        ({"EncryptionKeyArn": KEY, "FormerEncryptionKeyArn": FORMER}, [KEY, FORMER]),
    ],
)
def test_the_keys_that_are_named_may_be_used_and_no_others(name: str, given: dict[str, str], keys: list[str]) -> None:
    assert grants(name, **given) == {**GRANTS.get(name, {}), **dict.fromkeys(keys, USE)}


@pytest.mark.parametrize("name", ["OperationRole", "RecoveryRole"])
def test_owners_of_the_state_machine_before_may_be_asked_after_when_it_is_named(name: str) -> None:
    former = grants(name, FormerStateMachineName="before")
    own = f"{OF_THE_STACK}{MACHINE}.Name:*"
    assert former == {**GRANTS[name], f"{OF_THE_STACK}before:*": GRANTS[name][own]}


LAMBDA = "arn:aws:lambda:us-east-1:123456789012:function:"


@pytest.mark.parametrize("name", ["OperationRole", "FastRole"])
def test_a_lane_may_invoke_exactly_the_functions_that_operations_name(name: str) -> None:
    named = f"charge=my-app-Charge-1A2B:live, refund={LAMBDA}my-refund,ship={LAMBDA}ship:7, book=book"
    found = grants(name, Operations=named, FunctionsByPrefix="false")
    functions = ("my-app-Charge-1A2B:live", "my-refund", "ship:7", "book")
    without = {each: actions for each, actions in GRANTS[name].items() if "once_op-" not in each}
    assert found == {**without, **{f"{LAMBDA}{each}": {"lambda:InvokeFunction"} for each in functions}}


@pytest.mark.parametrize("name", ["OperationRole", "FastRole"])
def test_a_lane_may_invoke_thirty_named_functions_beside_those_with_its_prefix(name: str) -> None:
    found = grants(name, Operations=", ".join(f"a{n}=f{n}" for n in range(30)))
    assert found == {**GRANTS[name], **{f"{LAMBDA}f{n}": {"lambda:InvokeFunction"} for n in range(30)}}


MOST_OF_A_ROLE = 10_240
"""Characters of all inline policies of a role, white space aside
(https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html)."""


@pytest.mark.parametrize("name", ["OperationRole", "FastRole"])
def test_thirty_functions_with_the_longest_names_fit_into_a_role(name: str) -> None:
    longest = ", ".join(f"a{n:02}={n:02}{'x' * 62}:{'v' * 40}" for n in range(30))
    documents = [json.dumps(each, separators=(",", ":")) for each in statements(name, Operations=longest)]
    assert sum(len(each) for each in documents) + 100 * 3 < MOST_OF_A_ROLE


def test_a_rollout_may_move_no_function_by_its_name_where_none_is_found_by_it() -> None:
    found = grants("FunctionRolloutRole", FunctionsByPrefix="false")
    assert set(found) == {each for each in GRANTS["FunctionRolloutRole"] if "_op-" not in each}


@pytest.mark.parametrize(("policy", "parameter"), [("FunctionPolicy", "FunctionRoles"), ("StepPolicy", "StepRoles")])
def test_roles_of_other_stacks_get_a_policy_by_their_names(policy: str, parameter: str) -> None:
    resolved, resources = written_with(**{parameter: "one, two"})
    assert resolved.resolve(resources[policy]["Properties"]["Roles"]) == "one, two"  # CloudFormation makes it a list
    resolved, _ = written_with()
    assert "Roles" not in resolved.resolve(resources[policy]["Properties"])


@pytest.mark.parametrize("made", ["ChargePayment", "PlaceOrder", "BuildReport", "CacheResponse"])
def test_a_function_works_by_its_own_role(made: str) -> None:
    resolved, resources = written_with()
    assert resolved.resolve(resources[f"{made}Function"]["Properties"]["Role"]) == f"{made}Role.Arn"


# Queue or bucket policy, whom it is about beside everybody without TLS, and what those may send for which source.
SENDERS = {
    "RejectedRequestsQueue": None,
    "RequestQueue": None,
    "RequestDeadLetterQueue": None,
    "EventDeadLetterQueue": "RequestRule.Arn",
    "RecoveryDeadLetterQueue": "DeadExecutionRule.Arn",
}


@pytest.mark.parametrize("queue", SENDERS)
def test_a_queue_is_reached_over_tls_only_and_written_by_its_rule(queue: str) -> None:
    resolved, resources = written_with()
    properties = resolved.resolve(resources[f"{queue}Policy"]["Properties"])
    document = properties["PolicyDocument"]
    assert (properties["Queues"], document["Version"]) == ([queue], "2012-10-17")
    by_sid = {each.pop("Sid"): each for each in document["Statement"]}
    about = {"Resource": f"{queue}.Arn"}
    insecure = {"Bool": {"aws:SecureTransport": "false"}}
    wanted: dict[str, dict[str, Any]] = {
        "OnlyOverTls": {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", **about, "Condition": insecure}
    }
    if (rule := SENDERS[queue]) is not None:
        wanted["FromTheRule"] = {
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            **about,
            "Condition": {"ArnEquals": {"aws:SourceArn": rule}},
        }
    if queue == "RequestQueue":
        wanted["OnlyThisAccount"] = {
            "Effect": "Deny",
            "Principal": "*",
            "Action": ["sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"],
            **about,
            "Condition": {"StringNotEquals": {"aws:PrincipalAccount": "123456789012"}},
        }
    assert by_sid == wanted, json.dumps(by_sid)


def test_the_bucket_is_reached_over_tls_only_and_an_answer_in_it_is_written_once() -> None:
    resolved, resources = written_with()
    properties = resolved.resolve(resources["ResponseBucketPolicy"]["Properties"])
    statement, once = properties["PolicyDocument"]["Statement"]
    assert once == {
        "Sid": "AnswersAreWrittenOnce",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "Resource": "ResponseBucket.Arn/responses/*",
        "Condition": {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
    }
    assert (properties["Bucket"], properties["PolicyDocument"]["Version"]) == ("ResponseBucket", "2012-10-17")
    assert statement == {
        "Sid": "OnlyOverTls",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": ["ResponseBucket.Arn", "ResponseBucket.Arn/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
