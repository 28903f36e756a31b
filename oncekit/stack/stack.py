"""The deployed stack that operator commands work on: its own, or the one of Once inside another application's."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from oncekit.contract.lanes import DIRECT, FAST, FULL, MACHINES, Lane, OwnersLane, is_direct
from oncekit.contract.objects import keys_below
from oncekit.contract.own_stack import DEEPEST, own_stack
from oncekit.problem import Problem
from oncekit.stack.session import CloudClock, Place, local_endpoint, session_at

_NAME = r"[^\s:]{1,80}"
"""Of an execution."""
_LOCAL = "/local"
"""The end of the id of a stack in the local cloud."""


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

    def lane_of(self, owner: str) -> OwnersLane:
        """The lane of an owner, told apart as the state machine does: in the fast one is any of this account's."""
        if is_direct(owner):
            return DIRECT
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

    def ref(self, logical_id: str) -> str | None:
        """The physical id of a resource of its own; None where it has none. Raises ClientError."""
        return _Listed(self.client("cloudformation"), self.name).ref(logical_id)

    def resources(self) -> Iterator[Mapping[str, Any]]:
        """What ListStackResources says of it and of the stacks inside of it. Raises ClientError."""
        return _Listed(self.client("cloudformation"), self.name).all_rows(DEEPEST)


def connect(place: Place, in_it: bool = True, open_session: Callable[[Place], Any] = session_at) -> Stack:
    """Find Once's stack: the one of this name, or the one inside of it. With `in_it` false the one of this name.

    Raises Problem when there is none.
    """
    from botocore.exceptions import ClientError

    name, endpoint, session, clock = place.stack, local_endpoint(), open_session(place), CloudClock()
    if endpoint is not None:
        session.events.register("after-call", clock.hear)
    named = Stack(name, {}, {}, session, endpoint, clock.now)
    try:
        if in_it:
            stack = once_in(named)
        else:
            stack = _as_described(named, _Listed(named.client("cloudformation"), name).described)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            raise Problem(
                f"there is no stack {name} here; give --stack (or ONCE_STACK), --region or --profile"
            ) from error
        raise
    if stack is None:
        raise Problem(f"the stack {name} is not a stack of Once, and has none inside; give --stack")
    return stack


def once_in(stack: Stack) -> Stack | None:
    """The stack itself, or the one of Once inside of it; None where there is none."""
    found = own_stack(_Listed(stack.client("cloudformation"), stack.name))
    return None if found is None else _as_described(stack, found.described)


def _as_described(stack: Stack, described: Mapping[str, Any]) -> Stack:
    """The same place and clients, and what DescribeStacks says."""
    return replace(
        stack,
        name=str(described.get("StackName", stack.name)),
        outputs=_outputs(described),
        parameters={each["ParameterKey"]: each["ParameterValue"] for each in described.get("Parameters", ())},
        id=described["StackId"],
        status=described["StackStatus"],
    )


def _outputs(described: Mapping[str, Any]) -> dict[str, str]:
    return {each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", ())}


# ---- a stack inside another ----


@dataclass(frozen=True)
class _Listed:
    """A stack as CloudFormation tells of it, as far as it is asked. Raises ClientError."""

    client: Any
    name: str

    @cached_property
    def described(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.client.describe_stacks(StackName=self.name)["Stacks"][0]
        return found

    @cached_property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Its resources, without what was deleted."""
        pages = self.client.get_paginator("list_stack_resources").paginate(StackName=self.name)
        listed = [each for page in pages for each in page["StackResourceSummaries"]]
        return [each for each in listed if each["ResourceStatus"] != "DELETE_COMPLETE"]

    @property
    def outputs(self) -> Mapping[str, str]:
        return _outputs(self.described)

    @property
    def inside(self) -> Mapping[str, _Listed]:
        return {
            each["LogicalResourceId"]: _Listed(self.client, str(arn).rpartition(":stack/")[2].partition("/")[0])
            for each in self.rows
            if each["ResourceType"] == "AWS::CloudFormation::Stack" and (arn := each.get("PhysicalResourceId"))
        }

    def ref(self, logical_id: str) -> str | None:
        return next(
            (each.get("PhysicalResourceId") for each in self.rows if each["LogicalResourceId"] == logical_id), None
        )

    def all_rows(self, depth: int) -> Iterator[Mapping[str, Any]]:
        """Its resources first, then those of the stacks inside of it."""
        yield from self.rows
        for each in self.inside.values() if depth else ():
            yield from each.all_rows(depth - 1)
