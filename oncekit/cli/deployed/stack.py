"""The deployed stack that operator commands work on: AWS, or the local cloud when AWS_ENDPOINT_URL names it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any

from oncekit.cli.deployed.local_environment import local_endpoint, local_key, unconfigured
from oncekit.cli.deployed.nested_stacks import with_outputs
from oncekit.cli.deployed.place import Place
from oncekit.cli.problem import Problem
from oncekit.local.lanes import FAST, FULL, MACHINES, Lane

_EXECUTION = re.compile(r"[^\s:]{1,80}")
"""The name of an execution."""
NEEDED = ("StateMachineArn", "TableName", "ResponseBucketName")


@dataclass(frozen=True)
class Stack:
    """A stack's outputs and parameters, and clients where it lives."""

    name: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    session: Any
    endpoint_url: str | None = None
    """The local cloud's, whatever the environment says of a service; None for AWS."""
    now: Callable[[], float] = time.time
    """The clock by which it was seen: that of the local cloud where it is there."""
    id: str = ""
    status: str = ""
    clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def client(self, service: str) -> Any:
        if service not in self.clients:
            self.clients[service] = self.session.client(service, endpoint_url=self.endpoint_url)
        return self.clients[service]

    @property
    def is_local(self) -> bool:
        """Whether it is in the local cloud, of this process or of `once up`, or in what stands in for AWS here."""
        return self.endpoint_url is not None or self.id.endswith("/local")

    @property
    def table(self) -> str:
        return self.outputs["TableName"]

    @property
    def start_at(self) -> str:
        """Where executions are started: the alias, so that they follow deployments as recovery does."""
        return self.start_in(FULL)

    def start_in(self, lane: Lane) -> str:
        """The same of a lane."""
        return self.outputs[MACHINES[lane].replace("Arn", "AliasArn")]

    def execution(self, name: str) -> str:
        """The ARN that an execution of this name has."""
        return self.outputs["StateMachineArn"].replace(":stateMachine:", ":execution:") + f":{name}"

    def has_execution(self, arn: str) -> bool:
        """Whether an ARN could be of one of this stack's operations."""
        machine, _, name = arn.rpartition(":")
        return machine == self.execution("").removesuffix(":") and _EXECUTION.fullmatch(name) is not None

    def lane_of(self, owner: str) -> Lane:
        """The lane of an owner, told apart as the state machine does: in the fast one is any of this account's."""
        place, express, _ = owner.partition(":express:")
        own = self.outputs[MACHINES[FULL]].partition(":stateMachine:")[0]
        return FAST if express and place == own else FULL

    def fast_execution(self, owner: str) -> str | None:
        """The execution in the fast lane that an owner, or its own ARN, names; None where it is none of this stack's.

        An owner there is an execution and a nonce: an Express execution can run twice.
        """
        machine = self.outputs.get(MACHINES[FAST], "").replace(":stateMachine:", ":express:").split(":")
        parts = owner.split(":")
        is_named = len(parts) in (9, 10) and all(map(_EXECUTION.fullmatch, parts[7:]))
        return ":".join(parts[:9]) if is_named and parts[:7] == machine else None

    def number(self, parameter: str) -> int:
        return int(self.parameters[parameter])


def session_at(place: Place) -> Any:
    """A boto3 session for the stack at a place."""
    import boto3
    import botocore.session
    from botocore.config import Config

    is_local = local_endpoint() is not None
    core = unconfigured() if is_local else botocore.session.Session(profile=place.profile)
    retries = {"mode": "standard", "total_max_attempts": 4}
    # No proxy for the local cloud: what is signed for it stays on this machine.
    way = Config(retries=retries, connect_timeout=5, read_timeout=30, proxies={} if is_local else None)  # type: ignore[arg-type]
    core.set_default_client_config(way)
    key = local_key(place.profile) if is_local else {}
    return boto3.Session(botocore_session=core, region_name=place.region, **key)


class CloudClock:
    """The clock of the local cloud, which its console moves ahead and never back: by the dates of its answers."""

    def __init__(self) -> None:
        self._ahead = 0

    def hear(self, http_response: Any, **_: Any) -> None:
        """A handler of botocore's event `after-call`. A date is a moment in the second that it names."""
        told = parsedate_to_datetime(http_response.headers["Date"]).timestamp() + 0.5
        self._ahead = max(self._ahead, round(told - time.time()))

    def now(self) -> float:
        return time.time() + self._ahead


def connect(place: Place, needed: Collection[str] = NEEDED, open_session: Callable[[Place], Any] = session_at) -> Stack:
    """Find the stack, or the one of Once inside of it.

    Raises Problem when there is none, or when it has not the outputs needed: no stack of Once.
    """
    from botocore.exceptions import ClientError

    name, endpoint, session, clock = place.stack, local_endpoint(), open_session(place), CloudClock()
    if endpoint is not None:
        session.events.register("after-call", clock.hear)
    try:
        described = with_outputs(session.client("cloudformation", endpoint_url=endpoint), name, needed)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            raise Problem(
                f"there is no stack {name} here; give --stack (or ONCE_STACK), --region or --profile"
            ) from error
        raise
    stack = _as_described(Stack(name, {}, {}, session, endpoint, clock.now), described)
    if missing := [each for each in needed if each not in stack.outputs]:
        raise Problem(f"the stack {name} is not a stack of Once: it has no output {', '.join(missing)}; give --stack")
    return stack


def once_in(stack: Stack) -> Stack | None:
    """The stack itself, or the one of Once inside of it; None where there is none."""
    inner = _as_described(stack, with_outputs(stack.client("cloudformation"), stack.name, NEEDED))
    return inner if set(NEEDED) <= set(inner.outputs) else None


def _as_described(stack: Stack, described: Mapping[str, Any]) -> Stack:
    """The same place and clients, and what DescribeStacks says."""
    return replace(
        stack,
        name=str(described.get("StackName", stack.name)),
        outputs={each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", ())},
        parameters={each["ParameterKey"]: each["ParameterValue"] for each in described.get("Parameters", ())},
        id=described["StackId"],
        status=described["StackStatus"],
    )


THROTTLED = ("TooManyRequestsException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "SlowDown")
BAD_CREDENTIALS = ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException")
ADVICE = {
    "NoCredentialsError": 'log in, give --profile, or for `once up` run `eval "$(once env)"`',
    "PartialCredentialsError": "log in, or give --profile",
    "NoRegionError": 'give --region, or for `once up` run `eval "$(once env)"`',
    "ProfileNotFound": "see `aws configure list-profiles`",
    "EndpointConnectionError": "is `once up` running, if AWS_ENDPOINT_URL is set?",
    "ConnectTimeoutError": "is `once up` running, if AWS_ENDPOINT_URL is set?",
}
"""What to do about botocore's own errors, by their class."""


def is_denied(code: str) -> bool:
    """Whether an error code says that a permission is missing; SNS has a word of its own for it."""
    return "AccessDenied" in code or code.startswith("Unauthorized") or code == "AuthorizationError"


def is_throttling(code: str) -> bool:
    """Whether an error code says that the call may be made later."""
    return "Throttl" in code or code in THROTTLED


def _advice(code: str) -> str:
    if code in BAD_CREDENTIALS:
        return "; log in again, or give --profile"
    if is_denied(code):
        return "; use a profile that may do this (--profile)"
    return "; AWS is throttling: try again in a moment" if is_throttling(code) else ""


@contextmanager
def clear_aws_errors(about: str = "") -> Iterator[None]:
    """What AWS, the network and the credentials refuse, as problems of one line that name what it was about."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    prefix = f"{about}: " if about else ""
    try:
        yield
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        text = " ".join(f"{error.operation_name}: {code}: {message}".split())
        raise Problem(prefix + text + _advice(code)) from error
    except ResponseParserError as error:
        raise Problem(f"{prefix}the answer is not from AWS; does AWS_ENDPOINT_URL name another server?") from error
    except BotoCoreError as error:
        advice = ADVICE.get(type(error).__name__)
        text = " ".join(str(error).split()).rstrip(".")
        raise Problem(prefix + text + (f"; {advice}" if advice else "")) from error
