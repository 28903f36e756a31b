"""Service integrations: names, shapes and errors, as Step Functions gives them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from engine_machines import END, Execute, create, executes, start, succeed, task

from oncekit.local import LocalCloud
from oncekit.local.faults import fails, never_arrives, times_out


@pytest.fixture
def machine(cloud: LocalCloud) -> Execute:
    return executes(cloud)


def query(cloud: LocalCloud, **more: Any) -> dict[str, Any]:
    arguments = {
        "TableName": cloud.outputs["TableName"],
        "IndexName": "open-operations",
        "KeyConditionExpression": "openShard = :shard AND leaseExpiresAt < :before",
        "ExpressionAttributeValues": {":shard": {"S": "IN_PROGRESS#0"}, ":before": {"N": "100"}},
        **more,
    }
    return task("aws-sdk:dynamodb:query", arguments)


def put_open(cloud: LocalCloud, count: int) -> None:
    for number in range(count):
        item = {
            "id": {"S": f"t#op#{number}"},
            "openShard": {"S": "IN_PROGRESS#0"},
            "leaseExpiresAt": {"N": str(number)},
        }
        cloud.client("dynamodb").put_item(TableName=cloud.outputs["TableName"], Item=item)


@pytest.mark.aws(
    "Step Functions Developer Guide, AWS SDK integrations",
    "Parameters in Step Functions are expressed in PascalCase, even when the native service API is camelCase",
)
def test_query_pages_by_the_key_it_gave(machine: Execute, cloud: LocalCloud) -> None:
    put_open(cloud, 5)
    first = machine({"Q": query(cloud, Limit=3)}).output
    assert [item["leaseExpiresAt"]["N"] for item in first["Items"]] == ["0", "1", "2"]
    assert (first["Count"], first["ScannedCount"]) == (3, 3)
    from_there = query(cloud, Limit=3, ExclusiveStartKey="{% $states.input %}")
    second = machine({"Q": from_there}, first["LastEvaluatedKey"]).output
    assert [item["id"]["S"] for item in second["Items"]] == ["t#op#3", "t#op#4"]
    assert "LastEvaluatedKey" not in second


@pytest.mark.aws(
    recorded="localstack/localstack: tests/aws/services/stepfunctions/v2/error_handling/test_aws_sdk.snapshot.json",
    says="error is S3.NoSuchBucketException, S3.NoSuchKeyException, DynamoDb.ResourceNotFoundException or",
)
def test_errors_of_the_sdk_integration_of_dynamodb_have_its_own_prefix(machine: Execute, cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ProvisionedThroughputExceededException")):
        execution = machine({"Q": query(cloud)})
    assert execution.error == "DynamoDb.ProvisionedThroughputExceededException"
    with cloud.intercept(never_arrives()):
        assert machine({"Q": query(cloud)}).error == "DynamoDb.SdkClientException"
    assert machine({"Q": query(cloud, TableName="gone")}).error == "DynamoDb.ResourceNotFoundException"


@pytest.mark.aws(
    "Step Functions Developer Guide, AWS SDK integrations",
    "Parameters in Step Functions are expressed in PascalCase, even when the native service API is camelCase",
)
def test_description_of_an_execution_is_in_pascal_case_with_iso_dates(machine: Execute, cloud: LocalCloud) -> None:
    failed = machine({"F": {"Type": "Fail", "Error": "Custom", "Cause": "why"}}, {"a": 1})
    output = machine({"D": task("aws-sdk:sfn:describeExecution", {"ExecutionArn": failed.arn})}).output
    assert {name: output[name] for name in ("ExecutionArn", "Name", "Status", "Error", "Cause")} == {
        "ExecutionArn": failed.arn,
        "Name": failed.name,
        "Status": "FAILED",
        "Error": "Custom",
        "Cause": "why",
    }
    assert json.loads(output["Input"]) == {"a": 1}
    assert output["InputDetails"] == {"Included": True}
    assert datetime.fromisoformat(output["StartDate"]) <= datetime.fromisoformat(output["StopDate"])
    assert output["RedriveStatus"] == "REDRIVABLE"
    assert "Output" not in output


@pytest.mark.aws(
    model="stepfunctions",
    says="Running executions are sorted by their startDate or redriveDate, and other executions are sorted by",
)
def test_executions_are_listed_newest_first_by_status_with_their_end(machine: Execute, cloud: LocalCloud) -> None:
    created = create(cloud, {"W": {"Type": "Wait", "Seconds": 60, "Next": "E"}, "E": END}, TimeoutSeconds=30)
    first = cloud.wait(start(cloud, created)).arn
    second = cloud.wait(start(cloud, created)).arn
    arguments = {"StateMachineArn": created, "StatusFilter": "TIMED_OUT"}
    listed = machine({"L": task("aws-sdk:sfn:listExecutions", arguments)}).output["Executions"]
    assert [each["ExecutionArn"] for each in listed] == [second, first]
    assert all(datetime.fromisoformat(each["StopDate"]).timestamp() <= cloud.clock.now() for each in listed)
    paged = machine({"L": task("aws-sdk:sfn:listExecutions", {**arguments, "MaxResults": 1})}).output
    assert [each["ExecutionArn"] for each in paged["Executions"]] == [second]
    arguments |= {"MaxResults": 1, "NextToken": paged["NextToken"]}
    assert (
        machine({"L": task("aws-sdk:sfn:listExecutions", arguments)}).output["Executions"][0]["ExecutionArn"] == first
    )
    arguments = {"StateMachineArn": created, "StatusFilter": "ABORTED"}
    assert machine({"L": task("aws-sdk:sfn:listExecutions", arguments)}).output["Executions"] == []


@pytest.mark.aws(
    "Step Functions Developer Guide, AWS SDK integrations",
    "Parameters in Step Functions are expressed in PascalCase, even when the native service API is camelCase",
)
def test_execution_that_is_started_gets_its_input_as_the_text_that_was_given(
    machine: Execute, cloud: LocalCloud
) -> None:
    created = create(cloud, {"S": succeed("$states.input")})
    text = '{"n": 1.0,  "big": 12345678901234567890}'
    arguments = {"StateMachineArn": created, "Name": "given", "Input": "{% $states.input %}"}
    started = machine({"S": task("aws-sdk:sfn:startExecution", arguments)}, text).output
    assert cloud.executions.find(started["ExecutionArn"]).execution_input == text
    datetime.fromisoformat(started["StartDate"])


@pytest.mark.aws(unconfirmed="V25")
def test_start_under_a_name_that_is_taken_says_so(machine: Execute, cloud: LocalCloud) -> None:
    created = create(cloud, {"S": END})
    cloud.wait(start(cloud, created, 1, name="taken"))
    arguments = {"StateMachineArn": created, "Name": "taken", "Input": "1"}
    starting = task("aws-sdk:sfn:startExecution", arguments)
    assert machine({"S": starting}).error == "Sfn.ExecutionAlreadyExistsException"
    missing = {**arguments, "StateMachineArn": f"{created}gone"}
    assert machine({"S": task("aws-sdk:sfn:startExecution", missing)}).error == "Sfn.StateMachineDoesNotExistException"


@pytest.mark.aws(unconfirmed="V30")
def test_message_body_of_an_object_is_its_json(machine: Execute, cloud: LocalCloud) -> None:
    arguments = {"QueueUrl": cloud.resources["EventDeadLetterQueue"], "MessageBody": {"a": "{% $states.input %}"}}
    output = machine({"S": task("sqs:sendMessage", arguments)}, [1]).output
    [message] = cloud.client("sqs").receive_message(QueueUrl=cloud.outputs["EventDeadLetterQueueUrl"])["Messages"]
    assert json.loads(message["Body"]) == {"a": [1]}
    with cloud.intercept(never_arrives(action="send_message")):
        assert machine({"S": task("sqs:sendMessage", arguments)}, [1]).error == "SQS.SdkClientException"
    assert {"MessageId", "MD5OfMessageBody"} <= set(output)


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "Reported when a Task state runs longer than the TimeoutSeconds value",
)
def test_time_that_is_over_is_a_timeout_whatever_the_service(machine: Execute, cloud: LocalCloud) -> None:
    key = {"TableName": cloud.outputs["TableName"], "Key": {"id": {"S": "k"}}}
    message = {"QueueUrl": cloud.resources["EventDeadLetterQueue"], "MessageBody": "m"}
    tasks = [task("dynamodb:getItem", key), query(cloud), task("sqs:sendMessage", message)]
    with cloud.intercept(times_out(nth=0)):
        assert [machine({"T": each}).error for each in tasks] == ["States.Timeout"] * 3
