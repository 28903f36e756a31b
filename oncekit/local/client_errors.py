"""Errors of AWS's services as a boto3 client raises them: ClientError."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError


def client_error(code: str, message: str, operation: str, status: int = 400, **more: str) -> ClientError:
    """A refusal of an API's operation; `more` are members of the modelled exception."""
    metadata = {"HTTPStatusCode": status, "RequestId": "local", "HostId": "", "HTTPHeaders": {}, "RetryAttempts": 0}
    told: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata, **more}
    return ClientError(told, operation)


class InNameOnly(ClientError):
    """A start of a state machine that the local cloud does not run, and says so. On AWS no start has this code."""

    def __init__(self, machine: str, reason: str) -> None:
        told = f"the local cloud has {machine} in name only: {reason}"
        super().__init__(client_error("StateMachineTypeNotSupported", told, "").response, "StartExecution")
        self.what = f"the state machine {machine}: {reason}"


class FunctionNotRun(ClientError):
    """An invocation of a function that the local cloud does not run. Who asks by the API gets what AWS has for none."""

    def __init__(self, arn: str, reason: str) -> None:
        super().__init__(function_not_found(f"{arn} (it is not run here: {reason})").response, "Invoke")
        self.what = f"the local cloud does not run the function {arn.partition(':function:')[2]}: {reason}"


def function_not_found(arn: str) -> ClientError:
    """There is no such function, alias or version."""
    return client_error("ResourceNotFoundException", f"Function not found: {arn}", "Invoke", 404, Type="User")


def throttled() -> ClientError:
    """The function already has its maximum of running invocations."""
    reason = "ReservedFunctionConcurrentInvocationLimitExceeded"
    return client_error("TooManyRequestsException", "Rate Exceeded.", "Invoke", 429, Reason=reason, Type="User")
