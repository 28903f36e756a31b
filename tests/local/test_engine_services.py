"""Service integrations: names, shapes and errors, as Step Functions gives them."""

from __future__ import annotations

from typing import Any

import pytest
from engine_machines import END, Execute, create, executes, start, task

from oncekit.local import LocalCloud
from oncekit.local.engine.integrations import java_name
from oncekit.local.engine.interceptors import fails, never_arrives


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


@pytest.mark.ours
@pytest.mark.parametrize("resource", ["aws-sdk:lambda:deleteFunction", "lambda:getFunction", "dynamodb:query"])
def test_an_action_that_the_integration_does_not_have_calls_nothing(
    machine: Execute, cloud: LocalCloud, resource: str
) -> None:
    execution = machine({"S": task(resource, {"FunctionName": "once-ChargePaymentFunction", "TableName": "t"})})
    assert execution.cause == f"the local cloud does not run the integration {resource}"
    assert not cloud.invocations()


@pytest.mark.aws(
    "Step Functions Developer Guide, Learning to use AWS service SDK integrations",
    "The parameter names must be in PascalCase",
)
@pytest.mark.parametrize(
    ("resource", "arguments", "name"),
    [
        ("dynamodb:getItem", {"tableName": "t"}, "tableName"),
        ("dynamodb:getItem", {"TableName": "t", "Key": {"id": {"s": "k"}}}, "s"),
        ("aws-sdk:sfn:listExecutions", {"stateMachineArn": "m"}, "stateMachineArn"),
        ("lambda:invoke", {"FunctionName": "f", "payload": {}}, "payload"),
    ],
)
def test_names_of_arguments_are_in_pascal_case(
    machine: Execute, resource: str, arguments: dict[str, Any], name: str
) -> None:
    execution = machine({"S": task(resource, arguments)})
    assert execution.error == "States.Runtime"
    assert str(execution.cause).endswith(f'[The field "{name}" is not supported by Step Functions]')


@pytest.mark.aws(
    recorded="localstack/localstack: services/stepfunctions/v2/services/test_dynamodb_task_service.snapshot.json",
    says="put_item without an item fails with DynamoDB.AmazonDynamoDBException, Error Code: ValidationException",
)
def test_an_error_without_a_class_has_the_services_general_name(machine: Execute, cloud: LocalCloud) -> None:
    with cloud.intercept(fails("ValidationException", nth=0)):
        assert machine({"Q": query(cloud)}).error == "DynamoDb.DynamoDbException"
        read = {"TableName": cloud.outputs["TableName"], "Key": {"id": {"S": "k"}}}
        assert machine({"Q": task("dynamodb:getItem", read)}).error == "DynamoDB.AmazonDynamoDBException"


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors in workflows",
    "the SDK for Java names of services and exceptions",
)
@pytest.mark.parametrize(
    ("name", "java"),
    [
        ("DynamoDB", "DynamoDb"),
        ("S3", "S3"),
        ("SFN", "Sfn"),
        ("CloudWatch Logs", "CloudWatchLogs"),
        ("Secrets Manager", "SecretsManager"),
        ("KMSInvalidState", "KmsInvalidState"),
    ],
)
def test_services_and_errors_have_the_names_of_the_sdk_for_java(name: str, java: str) -> None:
    assert java_name(name) == java


@pytest.mark.aws(model="stepfunctions", says="If nextToken is returned, there are more results available.")
def test_executions_and_events_come_in_pages(cloud: LocalCloud) -> None:
    created = create(cloud, {"S": END})
    arns = [start(cloud, created) for _ in range(3)]
    for arn in arns:
        cloud.wait(arn)
    client = cloud.client("stepfunctions")
    pages = list(
        client.get_paginator("list_executions").paginate(stateMachineArn=created, PaginationConfig={"PageSize": 2})
    )
    assert [len(page["executions"]) for page in pages] == [2, 1]
    assert {each["executionArn"] for page in pages for each in page["executions"]} == set(arns)
    events = client.get_paginator("get_execution_history").paginate(
        executionArn=arns[0], PaginationConfig={"PageSize": 3}
    )
    assert [each["id"] for page in events for each in page["events"]] == [1, 2, 3, 4]
