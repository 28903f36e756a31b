"""Invocations through moto: `aws lambda invoke --endpoint-url` and boto3's Lambda client reach the local runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import unquote

from botocore.exceptions import ClientError

from oncekit.local.engine.patching import replaced


class Runtime(Protocol):
    """What invokes: a LambdaRuntime, or an object that stands in front of one."""

    def invoke(self, **parameters: Any) -> dict[str, Any]: ...


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def serve_moto_invocations(runtime: Runtime) -> Iterator[None]:
    """While it is open, moto answers Invoke with the runtime's functions, whether moto knows them or not.

    moto itself would start a container, and gives every error as `Handled`.
    """
    from moto.awslambda.responses import LambdaResponse

    def invoke(self: Any) -> Answer:
        parameters = {
            "FunctionName": unquote(self.path.rsplit("/", 2)[-2]),
            "Payload": self.body,
            "Qualifier": self._get_param("Qualifier") or self._get_param("qualifier"),
            "InvocationType": self.headers.get("X-Amz-Invocation-Type"),
        }
        try:
            return _answered(runtime.invoke(**parameters))
        except ClientError as error:
            return _refused(error)

    with replaced((LambdaResponse, "invoke", invoke)):
        yield


def _answered(response: dict[str, Any]) -> Answer:
    headers = {"X-Amz-Executed-Version": response.get("ExecutedVersion", "")}
    if "FunctionError" in response:
        headers["X-Amz-Function-Error"] = response["FunctionError"]
    return _answer(response["StatusCode"], headers, response["Payload"].read())


def _refused(error: ClientError) -> Answer:
    """In the protocol of the Lambda API: the code in a header, the message in the body."""
    response: Mapping[str, Any] = error.response
    more = {key: response[key] for key in ("Type", "Reason") if key in response}
    body = json.dumps({**more, "Message": response["Error"]["Message"]}).encode()
    return _answer(
        response["ResponseMetadata"]["HTTPStatusCode"], {"X-Amzn-ErrorType": response["Error"]["Code"]}, body
    )


def _answer(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    # moto takes the status from the headers.
    return status, {"Content-Type": "application/json", "status": str(status), **headers}, body
