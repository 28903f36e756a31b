"""Service integrations: names, shapes and errors, as Step Functions gives them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from engine_machines import END, Execute, create, executes, start, task

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
    assert "Output" not in output


@pytest.mark.aws(unconfirmed="V25")
def test_start_under_a_name_that_is_taken_says_so(machine: Execute, cloud: LocalCloud) -> None:
    created = create(cloud, {"S": END})
    cloud.wait(start(cloud, created, 1, name="taken"))
    arguments = {"StateMachineArn": created, "Name": "taken", "Input": "1"}
    starting = task("aws-sdk:sfn:startExecution", arguments)
    assert machine({"S": starting}).error == "Sfn.ExecutionAlreadyExistsException"
    missing = {**arguments, "StateMachineArn": f"{created}gone"}
    assert machine({"S": task("aws-sdk:sfn:startExecution", missing)}).error == "Sfn.StateMachineDoesNotExistException"


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "Reported when a Task state runs longer than the TimeoutSeconds value",
)
def test_time_that_is_over_is_a_timeout_whatever_the_service(machine: Execute, cloud: LocalCloud) -> None:
    key = {"TableName": cloud.outputs["TableName"], "Key": {"id": {"S": "k"}}}
    tasks = [task("dynamodb:getItem", key), query(cloud)]
    with cloud.intercept(times_out(nth=0)):
        assert [machine({"T": each}).error for each in tasks] == ["States.Timeout"] * 2
