"""Once inside another application: its stack is one of the stacks inside of that application's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

DEEPEST = 3
"""`once init` makes two: that of operations.yaml, and Once's own in it."""
_STACK = "AWS::CloudFormation::Stack"


def with_outputs(cloudformation: Any, name: str, needed: Collection[str], depth: int = DEEPEST) -> Any:
    """The stack of this name, or else the first one inside of it that has the outputs; the stack itself if none has.

    Raises botocore's ClientError when there is no stack of the name.
    """
    stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    if _has(stack, needed) or not depth:
        return stack
    found = (
        with_outputs(cloudformation, inner, needed, depth - 1) for inner in _inside(rows_of(cloudformation, name, 0))
    )
    return next((each for each in found if _has(each, needed)), stack)


def _has(stack: Mapping[str, Any], needed: Collection[str]) -> bool:
    return set(needed) <= {each["OutputKey"] for each in stack.get("Outputs", ())}


def _inside(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names of the stacks among a stack's resources."""
    for each in rows:
        if each["ResourceType"] == _STACK and (arn := each.get("PhysicalResourceId")):
            yield str(arn).rpartition(":stack/")[2].partition("/")[0]


def rows_of(cloudformation: Any, name: str, depth: int = DEEPEST) -> Iterator[Mapping[str, Any]]:
    """What ListStackResources says of a stack and of those inside of it, itself first, without what was deleted."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
    listed = [each for page in pages for each in page["StackResourceSummaries"]]
    rows = [each for each in listed if each["ResourceStatus"] != "DELETE_COMPLETE"]
    yield from rows
    for inner in _inside(rows) if depth else ():
        yield from rows_of(cloudformation, inner, depth - 1)
