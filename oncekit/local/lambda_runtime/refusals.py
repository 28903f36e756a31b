"""The errors of the Lambda service when it does not invoke a function: ClientError, as a boto3 client raises it."""

from __future__ import annotations

from botocore.exceptions import ClientError

MAX_REQUEST_BYTES = 6_291_456
"""The limit of a synchronous invocation, 6 MiB: Lambda's quotas."""


def _refusal(status: int, code: str, message: str, **more: str) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "RequestId": "",
                "HostId": "",
                "HTTPHeaders": {},
                "RetryAttempts": 0,
            },
            **more,  # type: ignore[typeddict-item]  # members of the modelled exception, as boto3 adds them
        },
        "Invoke",
    )


def function_not_found(arn: str) -> ClientError:
    """There is no such function, alias or version."""
    return _refusal(404, "ResourceNotFoundException", f"Function not found: {arn}", Type="User")


def throttled() -> ClientError:
    """The function already has its maximum of running invocations."""
    reason = "ReservedFunctionConcurrentInvocationLimitExceeded"
    return _refusal(429, "TooManyRequestsException", "Rate Exceeded.", Reason=reason, Type="User")


def request_too_large(size: int) -> ClientError:
    """The event is over MAX_REQUEST_BYTES."""
    message = (
        f"{size} byte payload is too large for the RequestResponse invocation type (limit {MAX_REQUEST_BYTES} bytes)"
    )
    return _refusal(413, "RequestTooLargeException", message, Type="User")


def request_is_no_json(reason: str) -> ClientError:
    """The event is not JSON."""
    message = f"Could not parse request body into json: {reason}"
    return _refusal(400, "InvalidRequestContentException", message, Type="User")


def not_offered(invocation_type: str) -> ClientError:
    """The local runtime has synchronous invocation only."""
    message = f"InvocationType {invocation_type} is not supported in the local cloud: use RequestResponse"
    return _refusal(400, "InvalidParameterValueException", message, Type="User")
