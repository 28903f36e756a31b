"""The deployed stack that operator commands work on: its own, or the one of Once inside another application's."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oncekit.cli.deployed.session import CloudClock, Place, local_endpoint, session_at
from oncekit.local.lanes import FAST, FULL, MACHINES, Lane
from oncekit.local.objects import keys_below
from oncekit.problem import Problem

NEEDED = ("StateMachineArn", "TableName", "ResponseBucketName")
_NAME = r"[^\s:]{1,80}"
"""Of an execution."""
_LOCAL = "/local"
"""The end of the id of a stack in the local cloud, which has those inside of it as one."""
_DEEPEST = 3
"""`once init` makes two stacks inside of one: that of operations.yaml, and Once's own in it."""


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
        return self.endpoint_url is not None or self.id.endswith(_LOCAL)

    @property
    def given_name(self) -> str:
        """The name that log groups have in theirs; a stack can be named by its ARN, too."""
        return self.id.split("/")[1] if self.id.count("/") > 1 else self.name

    @property
    def table(self) -> str:
        return self.outputs["TableName"]

    @property
    def bucket(self) -> str:
        return self.outputs["ResponseBucketName"]

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
        return re.fullmatch(re.escape(self.execution("")) + _NAME, arn) is not None

    def lane_of(self, owner: str) -> Lane:
        """The lane of an owner, told apart as the state machine does: in the fast one is any of this account's."""
        place, express, _ = owner.partition(":express:")
        own = self.outputs[MACHINES[FULL]].partition(":stateMachine:")[0]
        return FAST if express and place == own else FULL

    def fast_execution(self, owner: str) -> str | None:
        """The execution in the fast lane that an owner, or its own ARN, names; None where it is none of this stack's.

        An owner there is an execution and a nonce: an Express execution can run twice.
        """
        machine = self.outputs.get(MACHINES[FAST], "").replace(":stateMachine:", ":express:")
        found = re.fullmatch(f"({re.escape(machine)}:{_NAME}:{_NAME})(:{_NAME})?", owner)
        return found and found[1]

    def number(self, parameter: str) -> int:
        return int(self.parameters[parameter])

    def objects(self, prefix: str) -> Iterator[str]:
        """The keys in its bucket that begin so, in their order."""
        return keys_below(self.client("s3"), self.bucket, prefix)

    def resources(self) -> Iterator[Mapping[str, Any]]:
        """What ListStackResources says of it and of the stacks inside of it, which the local cloud lists as one.

        Raises ClientError.
        """
        return _rows(self.client("cloudformation"), self.name, 0 if self.is_local else _DEEPEST)


def connect(place: Place, needed: Collection[str] = NEEDED, open_session: Callable[[Place], Any] = session_at) -> Stack:
    """Find the stack, or the one of Once inside of it.

    Raises Problem when there is none, or when it has not the outputs needed: no stack of Once.
    """
    from botocore.exceptions import ClientError

    name, endpoint, session, clock = place.stack, local_endpoint(), open_session(place), CloudClock()
    if endpoint is not None:
        session.events.register("after-call", clock.hear)
    try:
        described = _with_outputs(session.client("cloudformation", endpoint_url=endpoint), name, needed)
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
    inner = _as_described(stack, _with_outputs(stack.client("cloudformation"), stack.name, NEEDED))
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


# ---- a stack inside another ----


def _with_outputs(cloudformation: Any, name: str, needed: Collection[str], depth: int = _DEEPEST) -> Any:
    """The stack of this name, or else the first one inside of it that has the outputs; the stack itself if none has."""
    stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    if _has(stack, needed) or not depth or stack["StackId"].endswith(_LOCAL):
        return stack
    inside = _inside(_rows(cloudformation, name, 0))
    found = (_with_outputs(cloudformation, inner, needed, depth - 1) for inner in inside)
    return next((each for each in found if _has(each, needed)), stack)


def _has(stack: Mapping[str, Any], needed: Collection[str]) -> bool:
    return set(needed) <= {each["OutputKey"] for each in stack.get("Outputs", ())}


def _inside(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names of the stacks among a stack's resources."""
    for each in rows:
        if each["ResourceType"] == "AWS::CloudFormation::Stack" and (arn := each.get("PhysicalResourceId")):
            yield str(arn).rpartition(":stack/")[2].partition("/")[0]


def _rows(cloudformation: Any, name: str, depth: int) -> Iterator[Mapping[str, Any]]:
    """The resources of a stack and of those inside of it, itself first, without what was deleted."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
    listed = [each for page in pages for each in page["StackResourceSummaries"]]
    rows = [each for each in listed if each["ResourceStatus"] != "DELETE_COMPLETE"]
    yield from rows
    for inner in _inside(rows) if depth else ():
        yield from _rows(cloudformation, inner, depth - 1)
