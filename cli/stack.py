"""The deployed stack that operator commands work on: AWS, or the local cloud when AWS_ENDPOINT_URL names it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cli.problem import Problem

NEEDED = ("StateMachineArn", "TableName", "ResponseBucketName", "RejectedQueueUrl")


@dataclass(frozen=True)
class Stack:
    """A stack's outputs and parameters, and clients where it lives."""

    name: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    session: Any
    now: Callable[[], float] = time.time

    def client(self, service: str) -> Any:
        return self.session.client(service)

    @property
    def table(self) -> str:
        return self.outputs["TableName"]

    @property
    def start_at(self) -> str:
        """Where executions are started: the alias, so that they follow deployments as recovery does."""
        return self.outputs.get("StateMachineAliasArn", self.outputs["StateMachineArn"])

    def execution(self, name: str) -> str:
        """The ARN that an execution of this name has."""
        return self.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + f":{name}"

    def number(self, parameter: str) -> int:
        return int(self.parameters[parameter])


def connect(name: str, profile: str | None, region: str | None) -> Stack:
    """Find the stack. Raises Problem when there is none, or when it is no stack of Once."""
    import boto3
    from botocore.exceptions import ClientError

    session = boto3.Session(profile_name=profile, region_name=region)
    try:
        stack = session.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            raise Problem(f"there is no stack {name} here; give --stack, --region or --profile") from error
        raise
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}
    parameters = {each["ParameterKey"]: each["ParameterValue"] for each in stack.get("Parameters", ())}
    if missing := [each for each in NEEDED if each not in outputs]:
        raise Problem(f"the stack {name} is no stack of Once: it has no output {', '.join(missing)}; give --stack")
    return Stack(name, outputs, parameters, session)


@contextmanager
def clear_aws_errors(about: str = "") -> Iterator[None]:
    """What AWS, the network and the credentials refuse, as problems that name what it was about."""
    from botocore.exceptions import BotoCoreError, ClientError

    prefix = f"{about}: " if about else ""
    try:
        yield
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        advice = ""
        if "AccessDenied" in code or code.startswith("Unauthorized"):
            advice = "; use a profile that may do this (--profile)"
        elif "Throttl" in code or code in ("TooManyRequestsException", "ProvisionedThroughputExceededException"):
            advice = "; AWS is throttling: try again in a moment"
        raise Problem(f"{prefix}{error.operation_name}: {code}: {message}{advice}") from error
    except BotoCoreError as error:
        kind = type(error).__name__
        advice = {
            "NoCredentialsError": "; log in, or give --profile",
            "NoRegionError": "; give --region",
            "ProfileNotFound": "; see `aws configure list-profiles`",
            "EndpointConnectionError": "; is `once up` running, if AWS_ENDPOINT_URL is set?",
        }.get(kind, "")
        raise Problem(f"{prefix}{error}{advice}") from error
