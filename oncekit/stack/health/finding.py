"""An answer of the doctor's, and how AWS is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from oncekit.stack.aws_errors import BAD_CREDENTIALS
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

Outcome = Literal["ok", "wrong", "warning", "skipped"]
NOT_FOUND = ("NotFound", "NoSuchBucket", "QueueDoesNotExist", "NonExistentQueue", "DoesNotExist")
"""In the error codes of a resource that is not there."""


@dataclass(frozen=True)
class Finding:
    """An answer, as `once doctor --json` prints it. `advice` is what to do, with the next command."""

    name: str
    outcome: Outcome
    resource: str
    message: str
    advice: str = ""


class Resource(NamedTuple):
    """A resource that a stack lists: its logical id, its CloudFormation type, its physical id and its status."""

    name: str
    type: str
    id: str
    status: str


@dataclass(frozen=True)
class Patient:
    """The stack of Once, and all resources of the stack that the user named, which it may be inside of."""

    stack: Stack
    place: Place
    resources: tuple[Resource, ...]

    def of_type(self, kind: str) -> list[Resource]:
        return [each for each in self.resources if each.type == kind and each.id]

    def once(self, command: str) -> str:
        """A command of ours as the user types it for this stack."""
        stack = "" if self.place.stack == "once" else self.place.stack
        given = {"stack": stack, "profile": self.place.profile, "region": self.place.region}
        return f"`once {command}{''.join(f' --{name} {value}' for name, value in given.items() if value)}`"

    @property
    def restoring(self) -> str:
        return (
            f"somebody deleted it: `aws cloudformation detect-stack-drift --stack-name {self.stack.name}` looks what "
            "else is gone; a change set with `--deployment-mode REVERT_DRIFT` makes it again, where CloudFormation can"
        )


def gone(error: ClientError) -> str:
    """AWS's word for it that what was asked for is not there. Raises the error again where it says something else."""
    code: str = error.response["Error"]["Code"]
    if any(each in code for each in NOT_FOUND):
        return code
    raise error


Question = Callable[[Patient], Iterator[Finding]]


def answered(patient: Patient, name: str, question: Question) -> Iterator[Finding]:
    """The answers to a question. What AWS refuses is one, too, except bad credentials, which stop everything."""
    from botocore.exceptions import ClientError

    try:
        yield from question(patient)
    except ClientError as error:
        told = error.response["Error"]
        if told["Code"] in BAD_CREDENTIALS:
            raise
        try:
            not_there = f"AWS does not have it ({gone(error)})"
            yield Finding(name, "wrong", patient.stack.name, not_there, patient.restoring)
        except ClientError:
            why = " ".join(f"{error.operation_name}: {told['Code']}: {told.get('Message', '')}".split())
            yield Finding(name, "skipped", patient.stack.name, f"could not look: {why}")


def resources_of(stack: Stack) -> tuple[Resource, ...]:
    """Those of a stack and of the stacks inside of it. Raises ClientError."""
    names = ("LogicalResourceId", "ResourceType", "PhysicalResourceId", "ResourceStatus")
    return tuple(Resource(*(str(each.get(name, "")) for name in names)) for each in stack.resources())
