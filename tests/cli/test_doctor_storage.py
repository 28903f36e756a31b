"""What may be wrong with table, bucket and queues: each is broken once, and is the one finding."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from ailments import (
    BUCKET,
    GONE,
    QUEUE,
    TABLE,
    Break,
    backups_off,
    changed,
    parameters,
    time_to_live_off,
)
from patient import Patient, lifecycle

from oncekit.cli.doctor.policies import refuses_plain_http

KEY = "arn:aws:kms:us-east-1:123456789012:key/mine"


# ---- the table ----


def without_index(patient: Patient) -> None:
    patient.change("DescribeTable", lambda answer: answer["Table"].pop("GlobalSecondaryIndexes"))


def index(**values: Any) -> Break:
    def how(answer: Any) -> None:
        answer["Table"]["GlobalSecondaryIndexes"][0].update(values)

    return lambda patient: patient.change("DescribeTable", how)


TABLES: dict[str, tuple[Break, str, str, str]] = {
    "gone": (lambda p: p.refuse("DescribeTimeToLive", GONE), "table.ttl", "wrong", "detect-stack-drift"),
    "archived": (
        changed("DescribeTable", "Table", TableStatus="INACCESSIBLE_ENCRYPTION_CREDENTIALS"),
        "table.status",
        "wrong",
        "the key",
    ),
    "time to live off": (time_to_live_off, "table.ttl", "wrong", "aws dynamodb update-time-to-live"),
    "time to live by another attribute": (
        changed("DescribeTimeToLive", "TimeToLiveDescription", AttributeName="leaseExpiresAt"),
        "table.ttl",
        "wrong",
        "turn it off for leaseExpiresAt",
    ),
    "no backups": (backups_off, "table.backup", "wrong", "update-continuous-backups"),
    "no index": (without_index, "table.index", "wrong", '"IndexName": "open-operations"'),
    "index with other keys": (
        index(KeySchema=[{"AttributeName": "status", "KeyType": "HASH"}]),
        "table.index",
        "wrong",
        "put it back",
    ),
    "index that is being made": (index(IndexStatus="CREATING"), "table.index", "wrong", "wait"),
    "no protection in prod": (
        lambda p: (parameters(Stage="prod")(p), p.fields.update(is_protected=True)),
        "table.protection",
        "wrong",
        "--deletion-protection-enabled",
    ),
    "DynamoDB's key": (
        changed("DescribeTable", "Table", SSEDescription={}),
        "table.encryption",
        "warning",
        "SSEType=KMS`",
    ),
    "key that is out of reach": (
        changed("DescribeTable", "Table", SSEDescription={"InaccessibleEncryptionDateTime": "2026-01-01"}),
        "table.encryption",
        "wrong",
        "enable the key",
    ),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "advice"), TABLES.values(), ids=TABLES)
def test_table(patient: Patient, breaks: Break, name: str, outcome: str, advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, outcome, TABLE)]
    assert advice in patient.the(name)["advice"]


def test_with_a_key_of_yours_everything_is_held_against_it(patient: Patient) -> None:
    parameters(EncryptionKeyArn=KEY)(patient)
    assert patient.complaints() == [
        ("table.encryption", "wrong", TABLE),
        ("bucket.encryption", "wrong", BUCKET),
        ("machines.encryption", "wrong", "OperationStateMachine"),
        ("machines.encryption", "wrong", "FastStateMachine"),
        ("machines.encryption", "wrong", "RecoveryStateMachine"),
    ]
    assert f"KMSMasterKeyId={KEY}" in patient.the("table.encryption")["advice"]
    assert KEY in patient.the("bucket.encryption")["advice"]


# ---- the bucket ----


def open_bucket(patient: Patient) -> None:
    settings = {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": False}
    given = {**settings, "RestrictPublicBuckets": True}
    patient.client("s3").put_public_access_block(Bucket=patient.ref(BUCKET), PublicAccessBlockConfiguration=given)


def plain_http_bucket(patient: Patient) -> None:
    patient.client("s3").delete_bucket_policy(Bucket=patient.ref(BUCKET))


def rules(*given: dict[str, Any]) -> Break:
    return lambda patient: lifecycle(patient, *given)


ANSWERS = {"Filter": {"Prefix": "responses/"}, "Expiration": {"Days": 75}}
BUCKETS: dict[str, tuple[Break, str, str, str]] = {
    "public": (open_bucket, "bucket.public", "wrong", "put-public-access-block"),
    "other encryption": (
        lambda p: p.change(
            "GetBucketEncryption",
            lambda answer: answer["ServerSideEncryptionConfiguration"]["Rules"][0].update(
                ApplyServerSideEncryptionByDefault={"SSEAlgorithm": "AES256"}
            ),
        ),
        "bucket.encryption",
        "wrong",
        "put-bucket-encryption",
    ),
    "answers go early": (
        rules({"Filter": {"Prefix": "responses/"}, "Expiration": {"Days": 29}}),
        "bucket.lifecycle",
        "wrong",
        "75 days",
    ),
    "answers of another retention go early": (
        rules(
            {"Filter": {"Prefix": "responses/"}, "Expiration": {"Days": 410}},
            {"Filter": {"Prefix": "responses/90d/"}, "Expiration": {"Days": 89}},
        ),
        "bucket.lifecycle",
        "wrong",
        "135 days",
    ),
    "kept requests go": (
        rules({"Filter": {"Prefix": ""}, "Expiration": {"Days": 90}}),
        "bucket.lifecycle",
        "wrong",
        "",
    ),
    "requests of one tenant go": (
        rules(
            {"Filter": {"Prefix": "responses/"}, "Expiration": {"Days": 75}},
            {"Filter": {"Prefix": "requests/a"}, "Expiration": {"Days": 90}},
        ),
        "bucket.lifecycle",
        "wrong",
        "responses/",
    ),
    "requests in flight go early": (
        rules(ANSWERS, {"Filter": {"Prefix": "inflight/"}, "Expiration": {"Days": 13}}),
        "bucket.lifecycle",
        "wrong",
        "45 days",
    ),
    "requests in flight stay": (rules(ANSWERS), "bucket.lifecycle", "warning", "45 days"),
    "answers stay": (
        rules({"Filter": {"Prefix": "other/"}, "Expiration": {"Days": 1}}),
        "bucket.lifecycle",
        "warning",
        "add one for responses/30d/ with 75 days",
    ),
    "rule is off": (
        rules({"Status": "Disabled", "Filter": {"Prefix": "responses/"}, "Expiration": {"Days": 75}}),
        "bucket.lifecycle",
        "warning",
        "add one for responses/30d/ with 75 days",
    ),
    "without TLS": (plain_http_bucket, "bucket.tls", "wrong", "put-bucket-policy"),
}


@pytest.mark.parametrize(("breaks", "name", "outcome", "advice"), BUCKETS.values(), ids=BUCKETS)
def test_bucket(patient: Patient, breaks: Break, name: str, outcome: str, advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, outcome, BUCKET)]
    assert advice in patient.the(name)["advice"]


# ---- the queues ----


@pytest.mark.parametrize(
    ("queue", "advice"),
    [
        ("RejectedRequestsQueue", "`once replay-rejected --error NAME`"),
        ("EventDeadLetterQueue", "`once send EVENT --via eventbridge`"),
        ("RequestDeadLetterQueue", "start-message-move-task --source-arn arn:aws:sqs:"),
        ("RecoveryDeadLetterQueue", "`once ls --overdue`"),
    ],
)
def test_message_in_a_queue_that_should_be_empty_is_wrong(local_patient: Patient, queue: str, advice: str) -> None:
    local_patient.client("sqs").send_message(QueueUrl=local_patient.ref(queue), MessageBody="{}")
    assert local_patient.complaints() == [("queues.empty", "wrong", queue)]
    found = local_patient.the("queues.empty", queue)
    assert found["message"].startswith("1 in it: ") and advice in found["advice"]


def test_message_that_somebody_looks_at_still_counts(local_patient: Patient) -> None:
    url, client = local_patient.ref("RejectedRequestsQueue"), local_patient.client("sqs")
    client.send_message(QueueUrl=url, MessageBody="{}")
    client.receive_message(QueueUrl=url)
    assert local_patient.complaints() == [("queues.empty", "wrong", "RejectedRequestsQueue")]


def queue(**values: str) -> Break:
    """The attributes of the request queue are set otherwise."""

    def breaks(patient: Patient) -> None:
        client, url = patient.client("sqs"), patient.ref(QUEUE)
        names = [*values, "Policy"]  # which moto forgets when another attribute is set
        before = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        client.set_queue_attributes(QueueUrl=url, Attributes={**before, **values})
        patient.after.callback(client.set_queue_attributes, QueueUrl=url, Attributes=before)

    return breaks


def redrive(to: str, times: int) -> Break:
    def breaks(patient: Patient) -> None:
        arn = f"arn:aws:sqs:us-east-1:123456789012:once-{to}"
        queue(RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": times}))(patient)

    return breaks


def old_requests(patient: Patient) -> None:
    patient.client("sqs").send_message(QueueUrl=patient.ref(QUEUE), MessageBody="{}")
    points = [{"Timestamp": datetime.datetime(2026, 1, 1, 0, n), "Maximum": 600.0 + n} for n in range(2)]

    def how(answer: Any) -> None:
        if "ApproximateAgeOfOldestMessage" in patient.asked("GetMetricStatistics"):
            answer["Datapoints"] = points

    patient.change("GetMetricStatistics", how)


QUEUES: dict[str, tuple[Break, str, str]] = {
    "dead letters elsewhere": (redrive("RejectedRequestsQueue", 5), "queues.redrive", "set-queue-attributes"),
    "given up soon": (redrive("RequestDeadLetterQueue", 1), "queues.redrive", "maxReceiveCount"),
    "handed out again soon": (queue(VisibilityTimeout="59"), "queues.visibility", "VisibilityTimeout=60"),
    "old requests": (old_requests, "queues.age", "triggers.pipe"),
    "without TLS": (queue(Policy=""), "queues.tls", "OnlyOverTls"),
    "without TLS for some": (
        queue(Policy='{"Statement": {"Effect": "Deny", "Principal": "*", "Action": "sqs:*"}}'),
        "queues.tls",
        "OnlyOverTls",
    ),
}


@pytest.mark.parametrize(("breaks", "name", "advice"), QUEUES.values(), ids=QUEUES)
def test_request_queue(patient: Patient, breaks: Break, name: str, advice: str) -> None:
    breaks(patient)
    assert patient.complaints() == [(name, "wrong", QUEUE)]
    assert advice in patient.the(name, QUEUE)["advice"]


TLS_ONLY: dict[str, Any] = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "sqs:*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}


@pytest.mark.parametrize(
    ("changes", "refuses"),
    [
        ({}, True),
        ({"Principal": {"AWS": "*"}, "Action": ["s3:*"]}, True),
        ({"Effect": "Allow"}, False),
        ({"Principal": {"AWS": "arn:aws:iam::123456789012:root"}}, False),
        ({"Action": "sqs:SendMessage"}, False),
        ({"Condition": {"Bool": {"aws:SecureTransport": "true"}}}, False),
        ({"Condition": {}}, False),
    ],
)
def test_only_a_policy_that_denies_everything_to_everyone_refuses_plain_http(
    changes: dict[str, Any], refuses: bool
) -> None:
    other = {"Effect": "Allow", "Principal": "*", "Action": "sqs:*"}
    assert refuses_plain_http(json.dumps({"Statement": [other, {**TLS_ONLY, **changes}]})) is refuses


def test_requests_that_wait_are_looked_at_by_the_clock_of_the_stack(patient: Patient) -> None:
    asked = list[dict[str, Any]]()
    patient.change("GetMetricStatistics", lambda _: asked.append(json.loads(patient.asked("GetMetricStatistics"))))
    patient.findings()
    [until] = [each["EndTime"] for each in asked if each["MetricName"] == "ApproximateAgeOfOldestMessage"]
    assert until == patient.now
