"""Service integrations: names, shapes and errors, as Step Functions gives them."""

from __future__ import annotations

from typing import Any

import pytest
from engine_machines import END, Execute, create, executes, start, task

from oncekit.local import LocalCloud
from oncekit.local.faults import fails, never_arrives


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


@pytest.mark.aws(unconfirmed="V25")
def test_start_under_a_name_that_is_taken_says_so(machine: Execute, cloud: LocalCloud) -> None:
    created = create(cloud, {"S": END})
    cloud.wait(start(cloud, created, 1, name="taken"))
    arguments = {"StateMachineArn": created, "Name": "taken", "Input": "1"}
    starting = task("aws-sdk:sfn:startExecution", arguments)
    assert machine({"S": starting}).error == "Sfn.ExecutionAlreadyExistsException"
    missing = {**arguments, "StateMachineArn": f"{created}gone"}
    assert machine({"S": task("aws-sdk:sfn:startExecution", missing)}).error == "Sfn.StateMachineDoesNotExistException"
