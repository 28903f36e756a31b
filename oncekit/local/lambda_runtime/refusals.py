"""The errors of the Lambda service when it does not invoke a function: ClientError, as a boto3 client raises it."""

from __future__ import annotations

from botocore.exceptions import ClientError


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


def not_offered(invocation_type: str) -> ClientError:
    """The local runtime has synchronous invocation only."""
    message = f"InvocationType {invocation_type} is not supported in the local cloud: use RequestResponse"
    return _refusal(400, "InvalidParameterValueException", message, Type="User")
