"""Roles are enforced: what functions, state machines, rules, pipes and schedules may not do is refused as on AWS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import every_path
import pytest
from roles import without
from scenario import answer, charge, rows

from oncekit.local import LocalCloud
from oncekit.local.once_cloud import PREFIX

pytestmark = pytest.mark.ours

FUNCTIONS = Path(__file__).parents[1] / "functions"
ORDERS = "arn:aws:dynamodb:us-east-1:123456789012:table/once-OrdersTable"
OWN = "responses/1d/a/build-report"
"""Where the caller's role may write answers."""
PUT = {"TableName": "once-OrdersTable", "Item": {"orderId": {"S": "1"}}}


@pytest.fixture
def caller(cloud: LocalCloud) -> str:
    """A function with a role that may keep responses in the bucket, and nothing else."""
    # A client of some services takes more than the 2 seconds of the shared cloud to make on a busy machine.
    cloud.add_function("caller", FUNCTIONS / "caller", role="BuildReportRole", timeout=30)
    return f"{PREFIX}caller"


def call(cloud: LocalCloud, service: str, method: str, /, **parameters: Any) -> dict[str, Any]:
    payload = json.dumps({"service": service, "method": method, "parameters": parameters})
    answer = cloud.functions.invoke(FunctionName=f"{PREFIX}caller", Payload=payload)
    assert "FunctionError" not in answer, answer["Payload"].read()
    told: dict[str, Any] = json.loads(answer["Payload"].read())
    return told


# ---- functions ----


@pytest.mark.aws(unconfirmed="V1")
def test_function_is_refused_what_its_role_does_not_allow_in_the_words_of_aws(cloud: LocalCloud, caller: str) -> None:
    told = call(cloud, "dynamodb", "put_item", **PUT)
    assert (told["Code"], told["status"]) == ("AccessDeniedException", 400)
    assert told["Message"] == (
        f"User: arn:aws:sts::123456789012:assumed-role/once-BuildReportRole/{caller} is not authorized to perform: "
        f"dynamodb:PutItem on resource: {ORDERS} because no identity-based policy allows the dynamodb:PutItem action"
    )
    assert rows(cloud, "OrdersTable") == 0
    [denial] = cloud.denials()
    assert str(denial) == (
        f"{caller} (BuildReportRole) may not dynamodb:PutItem on {ORDERS}: allow it in a policy of BuildReportRole"
    )


def test_function_may_do_what_its_role_allows(cloud: LocalCloud, caller: str) -> None:
    bucket = cloud.outputs["ResponseBucketName"]
    written = call(cloud, "s3", "put_object", Bucket=bucket, Key=f"{OWN}/a b/c?d", Body="x", IfNoneMatch="*")
    assert written["Code"] == "OK"
    assert call(cloud, "s3", "get_object", Bucket=bucket, Key=f"{OWN}/a b/c?d")["Code"] == "OK"
    assert call(cloud, "s3", "head_object", Bucket=bucket, Key=f"{OWN}/a b/c?d")["Code"] == "OK"
    assert cloud.denials() == ()
    with without(cloud, "BuildReportRole", "s3:GetObject"):
        call(cloud, "s3", "get_object", Bucket=bucket, Key=f"{OWN}/a b/ç?d%")
    assert [denial.resource for denial in cloud.denials()] == [f"arn:aws:s3:::{bucket}/{OWN}/a b/ç?d%"]


BUCKET = "once-responsebucket"
QUEUE = "https://sqs.us-east-1.amazonaws.com/123456789012/once-RequestQueue"
TOPIC = "arn:aws:sns:us-east-1:123456789012:once-AlarmTopic"
COPY = {"Bucket": BUCKET, "Key": f"{OWN}/k", "CopySource": "b/k"}
REFUSED = [
    ("s3", "put_object", {"Bucket": BUCKET, "Key": "requests/x", "Body": "x"}, "AccessDenied", "s3:PutObject"),
    ("s3", "copy_object", COPY, "AccessDenied", "s3:GetObject"),
    ("sqs", "send_message_batch", {"QueueUrl": QUEUE, "Entries": []}, "AccessDenied", "sqs:SendMessage"),
    ("sns", "publish", {"TopicArn": TOPIC, "Message": "x"}, "AuthorizationError", "sns:Publish"),
    ("lambda", "invoke", {"FunctionName": "f", "Qualifier": "live"}, "AccessDeniedException", "lambda:InvokeFunction"),
    ("events", "put_events", {"Entries": [{"Source": "s"}]}, "AccessDeniedException", "events:PutEvents"),
    ("scheduler", "delete_schedule", {"Name": "s"}, "AccessDeniedException", "scheduler:DeleteSchedule"),
    ("iam", "list_users", {}, "AccessDenied", "iam:ListUsers"),
]


@pytest.mark.aws(unconfirmed="V1")
@pytest.mark.parametrize(
    ("service", "method", "parameters", "code", "action"), REFUSED, ids=lambda each: str(each)[:40]
)
def test_call_of_any_service_is_refused_in_its_own_protocol(
    cloud: LocalCloud, caller: str, service: str, method: str, parameters: dict[str, Any], code: str, action: str
) -> None:
    told = call(cloud, service, method, **parameters)
    assert told["Code"] == code
    assert f"{caller} is not authorized to perform: {action} on resource: " in told["Message"]
    assert [denial.action for denial in cloud.denials()] == [action]


WRITES: dict[str, dict[str, Any]] = {
    "in its place": {"method": "put_object", "Body": "forged"},
    "when it is what it was": {"method": "put_object", "Body": "forged", "IfMatch": '"etag"'},
    "as a copy": {"method": "copy_object", "CopySource": f"{BUCKET}/{OWN}/forged"},
    "as the end of an upload": {
        "method": "complete_multipart_upload",
        "UploadId": "u",
        "MultipartUpload": {"Parts": [{"ETag": "e", "PartNumber": 1}]},
    },
}


@pytest.mark.aws(
    "Amazon S3 User Guide, Enforce conditional writes on Amazon S3 buckets",
    "CopyObject requests without an If-None-Match or If-Match HTTP header fail with a 403",
)
@pytest.mark.parametrize("how", WRITES)
def test_no_function_overwrites_an_answer(cloud: LocalCloud, caller: str, how: str) -> None:
    """The attack: another's answer, whose key a function may guess, or has been told."""
    request = {"operation": "build-report", "tenant": "victim", "idempotencyKey": "k", "payload": {"bytes": 30_000}}
    first = cloud.run(request)
    call(
        cloud,
        "s3",
        "put_object",
        Bucket=BUCKET,
        Key=f"{OWN}/forged",
        Body="forged",
        IfNoneMatch="*",
    )
    write = dict(WRITES[how])
    told = call(cloud, "s3", write.pop("method"), Bucket=BUCKET, Key=first.output["resultRef"]["key"], **write)
    assert (told["Code"], told["status"]) == ("AccessDenied", 403)
    assert told["Message"].endswith("with an explicit deny in a resource-based policy")
    assert answer(cloud, cloud.run(request)) == answer(cloud, first)


def test_function_without_a_role_and_people_may_do_everything(cloud: LocalCloud) -> None:
    cloud.add_function("caller", FUNCTIONS / "caller")
    assert call(cloud, "dynamodb", "put_item", **PUT)["Code"] == "OK"
    cloud.client("dynamodb").put_item(**PUT)
    assert cloud.denials() == ()


# ---- state machines ----


@pytest.mark.aws(unconfirmed="V38")
@pytest.mark.parametrize(
    ("resource", "action", "state", "error", "service"),
    [
        ("table/", "dynamodb:UpdateItem", "AcquireLock", "DynamoDB.AmazonDynamoDBException", "AmazonDynamoDBv2"),
        (
            "op-charge-payment",
            "lambda:InvokeFunction",
            "ExecuteBusinessLogic",
            "Lambda.AWSLambdaException",
            "AWSLambda",
        ),
    ],
)
def test_state_machine_is_refused_under_the_name_of_its_role(
    cloud: LocalCloud, resource: str, action: str, state: str, error: str, service: str
) -> None:
    with without(cloud, "LanesPolicy", action, resource):
        execution = cloud.run(charge())
    refusals = [each["taskFailedEventDetails"] for each in execution.events if "taskFailedEventDetails" in each]
    assert {each["error"] for each in refusals} == {error}
    assert f"assumed-role/once-OperationRole/{execution.name} is not authorized" in refusals[0]["cause"]
    assert f"(Service: {service}; " in refusals[0]["cause"]
    assert cloud.invocations() == []
    assert state in execution.states


# ---- rules, pipes, schedules ----


def waiting(cloud: LocalCloud, queue: str) -> list[dict[str, Any]]:
    from moto.sqs.models import sqs_backends

    name = cloud.resources[queue].rpartition("/")[2]
    return [
        {key: value["StringValue"] for key, value in message.message_attributes.items()}
        for message in sqs_backends["123456789012"]["us-east-1"].queues[name]._messages
    ]


@pytest.mark.aws(
    "EventBridge User Guide, Dead-letter queues",
    "for errors that result from missing permissions to a target, or a target resource that no longer exists",
)
def test_event_whose_rule_may_not_start_the_machine_is_a_dead_letter(cloud: LocalCloud) -> None:
    with without(cloud, "RequestRuleRole", "states:StartExecution"):
        every_path.requested_by_an_event(cloud)
    [letter] = waiting(cloud, "EventDeadLetterQueue")
    assert letter["ERROR_CODE"] == "NO_PERMISSIONS"
    assert "is not authorized to perform: states:StartExecution" in letter["ERROR_MESSAGE"]


@pytest.mark.aws(
    "EventBridge User Guide, Pipes SQS source",
    "When your pipe returns an error, EventBridge keeps it in the queue. After the visibility timeout",
)
def test_message_that_its_pipe_may_not_receive_stays(cloud: LocalCloud) -> None:
    with without(cloud, "RequestPipeRole", "sqs:ReceiveMessage"):
        every_path.requested_by_a_message(cloud)
    assert len(waiting(cloud, "RequestQueue")) == 2
    assert [(each.role, each.action) for each in cloud.denials()] == [("RequestPipeRole", "sqs:ReceiveMessage")]
