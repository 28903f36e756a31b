"""What calls need: actions and resources, as AWS's Service Authorization Reference has them."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.local.permissions.needs import needed

pytestmark = pytest.mark.ours

HERE = "us-east-1:123456789012"
TABLES = f"arn:aws:dynamodb:{HERE}:table"
T = {"TableName": "t"}
QUEUE = {"QueueUrl": "http://127.0.0.1:5000/123456789012/q"}
MACHINE = f"arn:aws:states:{HERE}:stateMachine:m"
FUNCTIONS = f"arn:aws:lambda:{HERE}:function"
ABROAD = "arn:aws:lambda:us-east-1:210987654321:function"
"""Of another account."""

UNCONDITIONAL = "s3:if-match=None s3:if-none-match=None s3:ObjectCreationOperation="
CALLS = [
    ("dynamodb", "PutItem", T, [f"dynamodb:PutItem {TABLES}/t"]),
    ("dynamodb", "Query", {**T, "IndexName": "i"}, [f"dynamodb:Query {TABLES}/t/index/i"]),
    (
        "dynamodb",
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": T},
                {"Update": T},
                {"Delete": {"TableName": "u"}},
                {"ConditionCheck": T},
                {"Put": T},
            ]
        },
        [
            f"dynamodb:PutItem {TABLES}/t",
            f"dynamodb:UpdateItem {TABLES}/t",
            f"dynamodb:DeleteItem {TABLES}/u",
            f"dynamodb:ConditionCheckItem {TABLES}/t",
        ],
    ),
    (
        "dynamodb",
        "BatchWriteItem",
        {"RequestItems": {"t": [], "u": []}},
        [f"dynamodb:BatchWriteItem {TABLES}/t", f"dynamodb:BatchWriteItem {TABLES}/u"],
    ),
    ("s3", "PutObject", {"Bucket": "b", "Key": "k/l"}, [f"s3:PutObject arn:aws:s3:::b/k/l {UNCONDITIONAL}true"]),
    (
        "s3",
        "CompleteMultipartUpload",
        {"Bucket": "b", "Key": "k", "IfNoneMatch": "*", "IfMatch": "e"},
        ["s3:PutObject arn:aws:s3:::b/k s3:if-match=e s3:if-none-match=* s3:ObjectCreationOperation=true"],
    ),
    ("s3", "HeadObject", {"Bucket": "b", "Key": "k"}, ["s3:GetObject arn:aws:s3:::b/k"]),
    ("s3", "ListObjectsV2", {"Bucket": "b", "Prefix": "k"}, ["s3:ListBucket arn:aws:s3:::b"]),
    (
        "s3",
        "CopyObject",
        {"Bucket": "b", "Key": "k", "CopySource": {"Bucket": "a", "Key": "x"}},
        ["s3:GetObject arn:aws:s3:::a/x", f"s3:PutObject arn:aws:s3:::b/k {UNCONDITIONAL}true"],
    ),
    (
        "s3",
        "DeleteObjects",
        {"Bucket": "b", "Delete": {"Objects": [{"Key": "k"}, {"Key": "l"}]}},
        ["s3:DeleteObject arn:aws:s3:::b/k", "s3:DeleteObject arn:aws:s3:::b/l"],
    ),
    ("apigateway", "GetUsagePlans", {}, ["apigateway:GET None"]),
    ("apigateway", "CreateApi", {}, ["apigateway:POST None"]),
    ("iotdata", "Publish", {"topic": "t"}, ["iot:Publish None"]),
    ("execute-api", "PostToConnection", {"ConnectionId": "c"}, ["execute-api:ManageConnections None"]),
    ("sqs", "DeleteMessageBatch", QUEUE, [f"sqs:DeleteMessage arn:aws:sqs:{HERE}:q"]),
    ("lambda", "Invoke", {"FunctionName": "f:live"}, [f"lambda:InvokeFunction {FUNCTIONS}:f:live"]),
    ("lambda", "Invoke", {"FunctionName": "f", "Qualifier": "2"}, [f"lambda:InvokeFunction {FUNCTIONS}:f:2"]),
    ("lambda", "Invoke", {"FunctionName": f"{ABROAD}:f", "Qualifier": "2"}, [f"lambda:InvokeFunction {ABROAD}:f:2"]),
    ("states", "StartExecution", {"stateMachineArn": f"{MACHINE}:live"}, [f"states:StartExecution {MACHINE}"]),
    ("states", "ListStateMachines", {}, ["states:ListStateMachines *"]),
    (
        "events",
        "PutEvents",
        {"Entries": [{"EventBusName": "b"}]},
        [f"events:PutEvents arn:aws:events:{HERE}:event-bus/b"],
    ),
    ("monitoring", "PutMetricData", {"Namespace": "N"}, ["cloudwatch:PutMetricData * cloudwatch:namespace=N"]),
    ("sns", "PublishBatch", {"TopicArn": f"arn:aws:sns:{HERE}:t"}, [f"sns:Publish arn:aws:sns:{HERE}:t"]),
    ("secretsmanager", "GetSecretValue", {"SecretId": "s"}, ["secretsmanager:GetSecretValue None"]),
    ("sts", "GetCallerIdentity", {}, []),
]


@pytest.mark.aws(unconfirmed="V1")
@pytest.mark.parametrize(("service", "operation", "parameters", "expected"), CALLS, ids=lambda each: str(each)[:30])
def test_call_needs(service: str, operation: str, parameters: dict[str, Any], expected: list[str]) -> None:
    found = [
        " ".join([each.action, str(each.resource), *(f"{key}={value}" for key, value in each.context)])
        for each in needed(service, operation, parameters)
    ]
    assert found == expected
