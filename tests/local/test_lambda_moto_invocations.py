"""Invoke of boto3 and of `aws`, through moto, reaches the local runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from lambda_probe import probe
from moto.server import ThreadedMotoServer

from oncekit.local.lambda_runtime import LambdaRuntime
from oncekit.local.lambda_runtime.moto_invocations import serve_moto_invocations

pytestmark = pytest.mark.ours

CREDENTIALS = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    runtime = LambdaRuntime({})
    runtime.register("probe", probe())
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    with serve_moto_invocations(runtime):
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()
    runtime.close()


@pytest.fixture
def client(endpoint: str) -> Any:
    import boto3

    return boto3.client("lambda", endpoint_url=endpoint, **CREDENTIALS)


@pytest.mark.parametrize("name", ["probe", "arn:aws:lambda:us-east-1:123456789012:function:probe"])
def test_result_comes_back(client: Any, name: str) -> None:
    answer = client.invoke(FunctionName=name, Qualifier="live", Payload=b'{"a": "\xc3\xbc"}')
    assert (answer["StatusCode"], answer["ExecutedVersion"], "FunctionError" in answer) == (200, "1", False)
    assert json.loads(answer["Payload"].read()) == {"a": "ü"}


@pytest.mark.aws(model="lambda", says="If present, indicates that an error occurred during function execution.")
def test_error_of_the_function_is_told_as_unhandled(client: Any) -> None:
    answer = client.invoke(FunctionName="probe", Payload=b'{"do": "fail", "message": "no"}')
    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    assert json.loads(answer["Payload"].read())["errorType"] == "ValueError"


def test_refusal_is_raised_as_by_the_service(client: Any) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException, match="function:nobody:live") as refused:
        client.invoke(FunctionName="nobody:live", Payload=b"{}")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    with pytest.raises(client.exceptions.InvalidRequestContentException):
        client.invoke(FunctionName="probe", Payload=b"{")


@pytest.mark.aws(
    model="lambda",
    says="Validate parameter values and verify that the user or role has permission to invoke the function.",
)
def test_dry_run_is_answered(client: Any) -> None:
    assert client.invoke(FunctionName="probe", InvocationType="DryRun")["StatusCode"] == 204
