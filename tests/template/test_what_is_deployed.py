"""The settings on which the promises rest: how long what is kept is kept, what is delivered how often, who is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from template_parts import resolver, written_with

from oncekit.local.template import load

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
FORTNIGHT = 14 * 86400
FUNCTIONS = ("CacheResponse", "ChargePayment", "PlaceOrder", "BuildReport")


def settings(name: str, **given: object) -> dict[str, Any]:
    """The properties of a resource as they are deployed."""
    known, resources = written_with(**given)
    found: dict[str, Any] = known.resolve(resources[name]["Properties"])
    return found


def function(name: str, **given: object) -> dict[str, Any]:
    """The properties of a function as they are deployed, with what Globals add."""
    template = load(TEMPLATE, given)
    found: dict[str, Any] = resolver(template).resolve(template.section("Resources")[f"{name}Function"]["Properties"])
    return found


def attribute(name: str, member: str, **given: object) -> Any:
    known, resources = written_with(**given)
    return known.resolve(resources[name].get(member))


# ---- what Once keeps ----


def keyed(name: str, kind: str = "S", **more: str) -> dict[str, Any]:
    attributes = {name: kind, **more}
    return {
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": of} for each, of in attributes.items()],
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"},
    }


def test_the_table_of_records_finds_open_ones_by_shard_and_lease_and_forgets_by_their_time() -> None:
    by_lease = [
        {"AttributeName": "openShard", "KeyType": "HASH"},
        {"AttributeName": "leaseExpiresAt", "KeyType": "RANGE"},
    ]
    table = {
        **keyed("id", openShard="S", leaseExpiresAt="N"),
        "GlobalSecondaryIndexes": [
            {"IndexName": "open-operations", "KeySchema": by_lease, "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        "TimeToLiveSpecification": {"AttributeName": "expiresAt", "Enabled": True},
        "DeletionProtectionEnabled": False,
    }
    assert settings("IdempotencyTable") == table
    assert settings("IdempotencyTable", Stage="prod") == {**table, "DeletionProtectionEnabled": True}


@pytest.mark.parametrize(
    ("name", "key"), [("ProviderLedgerTable", "chargeId"), ("OrdersTable", "orderId"), ("StockTable", "sku")]
)
def test_a_table_of_the_examples_has_one_key_and_goes_with_the_stack(name: str, key: str) -> None:
    assert settings(name) == keyed(key)
    for stage in ("dev", "prod"):
        assert attribute(name, "DeletionPolicy", Stage=stage) == "Delete"
        assert attribute(name, "UpdateReplacePolicy", Stage=stage) == "Delete"


TABLES = ("IdempotencyTable", "ProviderLedgerTable", "OrdersTable", "StockTable")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_encrypted_with_the_users_key_where_there_is_one(name: str) -> None:
    kept = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert settings(name, EncryptionKeyArn=KEY)["SSESpecification"] == kept


@pytest.mark.parametrize("name", ["IdempotencyTable", "ResponseBucket", "RejectedRequestsQueue"])
def test_what_an_operator_needs_outlives_a_stack_in_prod(name: str) -> None:
    for stage, policy in (("dev", "Delete"), ("prod", "Retain")):
        assert attribute(name, "DeletionPolicy", Stage=stage) == policy
        assert attribute(name, "UpdateReplacePolicy", Stage=stage) == policy


DAYS = (1, 3, 7, 14, 30, 60, 90, 180, 365)


def test_the_bucket_is_private_and_forgets_answers_45_days_after_their_records() -> None:
    bucket = settings("ResponseBucket")
    rules = {each.pop("Id"): each for each in bucket["LifecycleConfiguration"]["Rules"]}
    assert all(each.pop("Status") == "Enabled" for each in rules.values())
    of_days = {
        f"answers-of-{days}-days": {"Prefix": f"responses/{days}d/", "ExpirationInDays": days + 45} for days in DAYS
    }
    of_others = {
        "answers-of-unknown-days": {"Prefix": "responses/", "ExpirationInDays": 410},
        "requests-in-flight": {"Prefix": "inflight/", "ExpirationInDays": 45},
        "abandoned-uploads": {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}},
    }
    assert rules == of_days | of_others
    assert bucket["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    for given, key in (({}, {}), ({"EncryptionKeyArn": KEY}, {"KMSMasterKeyID": KEY})):
        [encryption] = settings("ResponseBucket", **given)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        by_default = {"SSEAlgorithm": "aws:kms", **key}
        assert encryption == {"ServerSideEncryptionByDefault": by_default, "BucketKeyEnabled": True}


QUEUES = (
    "RejectedRequestsQueue",
    "EventDeadLetterQueue",
    "RequestQueue",
    "RequestDeadLetterQueue",
    "RecoveryDeadLetterQueue",
)


@pytest.mark.parametrize("name", QUEUES)
def test_a_queue_keeps_its_messages_encrypted_for_a_fortnight(name: str) -> None:
    kept = {"MessageRetentionPeriod": FORTNIGHT, "SqsManagedSseEnabled": True}
    more: dict[str, Any] = {}
    if name == "RequestQueue":
        redrive = {"deadLetterTargetArn": "RequestDeadLetterQueue.Arn", "maxReceiveCount": "5"}
        more = {"VisibilityTimeout": 60, "RedrivePolicy": redrive}
    assert settings(name) == {**kept, **more}
    with_key = {"MessageRetentionPeriod": FORTNIGHT, "KmsMasterKeyId": KEY}
    assert settings(name, EncryptionKeyArn=KEY) == {**with_key, **more}


# ---- what starts operations and recovery ----


def test_an_event_is_delivered_for_a_day_and_then_kept() -> None:
    rule = settings("RequestRule")
    [target] = rule["Targets"]
    assert target == {
        "Id": "operation",
        "Arn": "OperationStateMachineAlias",
        "RoleArn": "RequestRuleRole.Arn",
        "InputPath": "$.detail",
        "RetryPolicy": {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185},
        "DeadLetterConfig": {"Arn": "EventDeadLetterQueue.Arn"},
    }
    [moved] = settings("RequestRule", Lane="fast")["Targets"]
    assert moved == {**target, "Arn": "FastStateMachineAlias"}
    assert (rule["EventBusName"], rule["EventPattern"]) == ("RequestBus", {"detail-type": ["OperationRequested"]})
    other = settings("RequestRule", EventBusName="other", EventSource="my.")
    assert other["EventBusName"] == "other"
    assert other["EventPattern"] == {"detail-type": ["OperationRequested"], "source": [{"prefix": "my."}]}
    assert settings("RequestBus")["Name"] == "once-requests"


def test_a_message_is_one_request_and_starts_one_execution() -> None:
    pipe = settings("RequestPipe")
    del pipe["Description"]
    assert pipe == {
        "RoleArn": "RequestPipeRole.Arn",
        "Source": "RequestQueue.Arn",
        "SourceParameters": {"SqsQueueParameters": {"BatchSize": 1}},
        "Target": "OperationStateMachine",
        "TargetParameters": {
            "InputTemplate": '{"body": <$.body>}',
            "StepFunctionStateMachineParameters": {"InvocationType": "FIRE_AND_FORGET"},
        },
        "LogConfiguration": {
            "CloudwatchLogsLogDestination": {"LogGroupArn": "RequestPipeLogGroup.Arn"},
            "Level": "ERROR",
        },
    }
    moved = settings("RequestPipe", Lane="fast")
    del moved["Description"]
    assert moved == {**pipe, "Target": "FastStateMachine"}
    filtered = settings("RequestPipe", RequestQueueFilter='{"body": {}}')["SourceParameters"]
    assert filtered["FilterCriteria"] == {"Filters": [{"Pattern": '{"body": {}}'}]}


def test_an_event_of_a_death_starts_recovery_for_an_hour_and_is_then_kept() -> None:
    rule = settings("DeadExecutionRule")
    own_ends = ["InvalidRequest", "PayloadMismatch", "Unavailable", "OperationInProgress", "OperationFailed"]
    own_ends += ["NeedsAttention", "LockLost"]
    assert rule["EventPattern"] == {
        "source": ["aws.states"],
        "detail-type": ["Step Functions Execution Status Change"],
        "detail": {
            "stateMachineArn": ["OperationStateMachine"],
            "$or": [
                {"status": ["ABORTED", "TIMED_OUT"]},
                {"status": ["FAILED"], "error": [{"anything-but": own_ends}, {"exists": False}]},
            ],
        },
    }
    assert rule["Targets"] == [
        {
            "Id": "recovery",
            "Arn": "RecoveryStateMachine",
            "RoleArn": "DeadExecutionRuleRole.Arn",
            "InputTransformer": {
                "InputPathsMap": {"executionArn": "$.detail.executionArn", "status": "$.detail.status"},
                "InputTemplate": '{"executionArn": <executionArn>, "status": <status>}',
            },
            "RetryPolicy": {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 60},
            "DeadLetterConfig": {"Arn": "RecoveryDeadLetterQueue.Arn"},
        }
    ]


@pytest.mark.parametrize(("minutes", "rate"), [(1, "rate(1 minute)"), (2, "rate(2 minutes)"), (60, "rate(60 minutes)")])
def test_a_sweep_starts_every_period_and_is_not_made_up_for(minutes: int, rate: str) -> None:
    schedule = settings("RecoverySchedule", RecoveryPeriodMinutes=minutes)
    del schedule["Description"]
    assert schedule == {
        "ScheduleExpression": rate,
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {
            "Arn": "RecoveryStateMachine",
            "RoleArn": "RecoveryScheduleRole.Arn",
            "Input": "{}",
            "RetryPolicy": {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 3},
            "DeadLetterConfig": {"Arn": "RecoveryDeadLetterQueue.Arn"},
        },
    }


# ---- the state machines ----

IN_EACH_LANE = {
    "TableName": "IdempotencyTable",
    "ResponseBucketName": "ResponseBucket",
    "RejectedQueueUrl": "RejectedRequestsQueue",
    "Operations": "",
    "FunctionPrefix": "once_op",
    "FunctionAlias": "live",
    "CacheResponseFunctionArn": "CacheResponseFunction.Arn:live",
}
SUBSTITUTIONS: dict[str, dict[str, str]] = {
    "Operation": {
        **IN_EACH_LANE,
        "Lane": "full",
        "ExecutionSeconds": "86400",
        "FirstOfAll": "ReceiveRequest",
        "AfterChecks": "AcquireLock",
        "TableTimeout": "10",
        "TableRetries": "10",
        "Unavailable": "RefuseRequest",
        "RefusalRetries": "300",
        "UnsentRefusal": "SQS.UnsupportedOperationException",
        "UnrenewedLock": "DynamoDB.ItemCollectionSizeLimitExceededException",
        "AfterLeavingOut": "RefuseRequest",
        "FullLaneArn": "arn:aws:states:us-east-1:123456789012:stateMachine:none",
        "FullLaneOperations": "none",
    },
    "Fast": {
        **IN_EACH_LANE,
        "Lane": "fast",
        "ExecutionSeconds": "295",
        "FirstOfAll": "CheckReadable",
        "AfterChecks": "ReadRecord",
        "TableTimeout": "3",
        "TableRetries": "4",
        "Unavailable": "HandOver",
        "RefusalRetries": "3",
        "UnsentRefusal": "States.ALL",
        "UnrenewedLock": "States.ALL",
        "AfterLeavingOut": "RefuseInFullLane",
        "FullLaneArn": "OperationStateMachineAlias",
    },
    "Recovery": {
        "ResponseBucketName": "ResponseBucket",
        "TableName": "IdempotencyTable",
        "RejectedQueueUrl": "RejectedRequestsQueue",
        "OperationStateMachineArn": "OperationStateMachine",
        "OperationStateMachineAliasArn": "OperationStateMachine:live",
        "Executions": "arn:aws:states:us-east-1:123456789012:execution:",
        "StackName": "once",
    },
}
OF_EACH_LANE: dict[str, int | str] = {
    "BusinessTimeoutSeconds": 7,
    "LeaseMarginSeconds": 31,
    "MaxAttempts": 8,
    "MaxRecoveries": 9,
    "BackOffBaseSeconds": 10,
    "BackOffCapSeconds": 11,
    "WaitTimeoutSeconds": 12,
    "RetentionDays": 14,
    "InlineLimitBytes": 1313,
    "FormerStateMachineName": "before",
    "PayloadOnlyOperations": "charge,a-b",
}
PARAMETERS: dict[str, dict[str, int | str]] = {
    "Operation": OF_EACH_LANE,
    "Fast": {**OF_EACH_LANE, "FullLaneOperations": "charge,build-report"},
    "Recovery": {
        "RecoveryPeriodMinutes": 15,
        "RecoveryRounds": 17,
        "MaxRecoveries": 18,
        "FormerStateMachineName": "before",
    },
}


@pytest.mark.parametrize(("name", "kind"), [("Operation", "STANDARD"), ("Fast", "EXPRESS"), ("Recovery", "EXPRESS")])
def test_a_state_machine_is_told_what_is_set(name: str, kind: str) -> None:
    given = PARAMETERS[name]
    machine = settings(f"{name}StateMachine", **given)
    told = {key: str(value) for key, value in machine["DefinitionSubstitutions"].items()}
    assert told == SUBSTITUTIONS[name] | {key: str(value) for key, value in given.items()}
    assert (machine["StateMachineType"], machine["RoleArn"]) == (kind, f"{name}Role.Arn")
    file = "recovery" if name == "Recovery" else "operation"
    assert machine["DefinitionS3Location"] == f"statemachine/{file}.asl.yaml"


@pytest.mark.parametrize(("name", "is_traced"), [("Operation", True), ("Fast", False), ("Recovery", True)])
def test_a_state_machine_logs_what_the_operator_chose_and_is_traced_where_that_is_cheap(
    name: str, is_traced: bool
) -> None:
    group = [{"CloudWatchLogsLogGroup": {"LogGroupArn": f"{name}LogGroup.Arn"}}]
    for given, level, data in (
        ({}, "ERROR", False),
        ({"ExecutionLog": "ALL", "IncludeExecutionData": "true"}, "ALL", True),
    ):
        machine = settings(f"{name}StateMachine", **given)
        logged = {"Level": level, "IncludeExecutionData": data, "Destinations": group}
        assert (machine["TracingConfiguration"], machine["LoggingConfiguration"]) == ({"Enabled": is_traced}, logged)
    assert settings(f"{name}StateMachine")["EncryptionConfiguration"] == {"Type": "AWS_OWNED_KEY"}
    assert settings(f"{name}StateMachine", EncryptionKeyArn=KEY)["EncryptionConfiguration"] == {
        "Type": "CUSTOMER_MANAGED_KMS_KEY",
        "KmsKeyId": KEY,
        "KmsDataKeyReusePeriodSeconds": 300,
    }


LOG_GROUPS = {
    "OperationLogGroup": "/aws/vendedlogs/states/once-operation",
    "FastLogGroup": "/aws/vendedlogs/states/once-fast",
    "RecoveryLogGroup": "/aws/vendedlogs/states/once-recovery",
    "RequestApiLogGroup": None,
    "RequestPipeLogGroup": "/aws/vendedlogs/pipes/once-requests",
    **{f"{name}LogGroup": None for name in FUNCTIONS},
}


@pytest.mark.parametrize("name", LOG_GROUPS)
def test_a_log_group_forgets_after_the_days_that_are_set(name: str) -> None:
    named = {} if LOG_GROUPS[name] is None else {"LogGroupName": LOG_GROUPS[name]}
    assert settings(name) == {**named, "RetentionInDays": "30"}
    assert settings(name, LogRetentionDays=7, EncryptionKeyArn=KEY) == {
        **named,
        "RetentionInDays": "7",
        "KmsKeyId": KEY,
    }


# ---- functions ----

ENVIRONMENT = {
    "CacheResponse": {"POWERTOOLS_SERVICE_NAME": "cache-response"},
    "ChargePayment": {"POWERTOOLS_SERVICE_NAME": "charge-payment", "LEDGER_TABLE": "ProviderLedgerTable"},
    "PlaceOrder": {
        "POWERTOOLS_SERVICE_NAME": "place-order",
        "ORDERS_TABLE": "OrdersTable",
        "STOCK_TABLE": "StockTable",
    },
    "BuildReport": {"POWERTOOLS_SERVICE_NAME": "build-report"},
}
EVERYWHERE = {"POWERTOOLS_METRICS_NAMESPACE": "Once", "ONCE_STACK": "once", "RESPONSE_BUCKET": "ResponseBucket"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_deployed_like_this(name: str) -> None:
    made = function(name, BusinessTimeoutSeconds=7, LogLevel="DEBUG", EncryptionKeyArn=KEY)
    operation = ENVIRONMENT[name]["POWERTOOLS_SERVICE_NAME"]
    assert (made["Runtime"], made["Architectures"], made["Handler"]) == (
        "python3.13",
        ["arm64"],
        "app.handler",
    )
    assert (made["MemorySize"], made["TracingConfig"]) == (512, {"Mode": "Active"})
    assert made["LoggingConfig"] == {"LogGroup": f"{name}LogGroup"}
    assert made["KmsKeyArn"] == KEY
    assert int(made["Timeout"]) == (30 if name == "CacheResponse" else 7)
    assert made["Code"]["S3Key"] == f"functions/{operation.replace('-', '_')}/"
    assert len(made["Layers"]) == 1
    variables = dict(made["Environment"]["Variables"])
    assert variables.pop("POWERTOOLS_LOG_LEVEL") == "DEBUG"
    assert variables == EVERYWHERE | ENVIRONMENT[name]
    named = None if name == "CacheResponse" else f"once_op-{operation}"
    assert made.get("FunctionName") == named


@pytest.mark.parametrize("name", FUNCTIONS)
def test_concurrency_of_an_operation_is_reserved_where_it_is_set(name: str) -> None:
    assert "ReservedConcurrentExecutions" not in settings(f"{name}Function")
    reserved = settings(f"{name}Function", FunctionConcurrency=9).get("ReservedConcurrentExecutions")
    assert reserved == (None if name == "CacheResponse" else "9")


def test_alarms_are_mailed_to_whoever_is_named() -> None:
    assert settings("AlarmSubscription", AlarmEmail="a@b") == {
        "TopicArn": "AlarmTopic",
        "Protocol": "email",
        "Endpoint": "a@b",
    }
    assert settings("AlarmTopic") == {}
    assert settings("AlarmTopic", EncryptionKeyArn=KEY) == {"KmsMasterKeyId": KEY}


QUERIES = {
    "FailuresQuery": ("failures", ["OperationLogGroup", "FastLogGroup"]),
    "TakeOversQuery": ("take-overs", ["OperationLogGroup", "FastLogGroup"]),
    "HttpFailuresQuery": ("failures by HTTP", ["RequestApiLogGroup"]),
    "PipeFailuresQuery": ("failures of the pipe", ["RequestPipeLogGroup"]),
    "AttemptsQuery": ("attempts of an id", [f"{name}LogGroup" for name in FUNCTIONS[1:]]),
    "ErrorsQuery": ("errors by name", [f"{name}LogGroup" for name in FUNCTIONS[1:]]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_log_query_looks_into_the_logs_that_it_is_about(name: str) -> None:
    query = settings(name)
    title, groups = QUERIES[name]
    assert (query["Name"], query["LogGroupNames"]) == (f"once/{title}", groups)
    assert "@timestamp" in query["QueryString"] or "stats" in query["QueryString"]


@pytest.mark.parametrize("name", ["OperationStateMachine", "FastStateMachine", "RecoveryStateMachine"])
@pytest.mark.parametrize(
    ("stage", "asked_for", "logged"),
    [("dev", "false", False), ("dev", "true", True), ("prod", "false", False), ("prod", "true", False)],
)
def test_payloads_are_in_no_log_of_prod_whatever_whoever_deploys_asks_for(
    name: str, stage: str, asked_for: str, logged: bool
) -> None:
    logging = settings(name, Stage=stage, IncludeExecutionData=asked_for)["LoggingConfiguration"]
    assert logging["IncludeExecutionData"] is logged
