"""The stack as CloudFormation lists it, and questions to AWS about what is in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from oncekit.cli.deployed.stack import BAD_CREDENTIALS, Stack, is_denied
from oncekit.cli.doctor.verdict import CannotLook, Gone, Verdict, skipped
from oncekit.operation_functions import OperationFunctions

NOT_LOCAL = "not part of the local cloud"
NOT_LOCAL_TYPES = ("AWS::CloudWatch::Alarm", "AWS::Pipes::Pipe", "AWS::Scheduler::Schedule")
"""What it names and does not make: pipes and schedules it runs itself."""
IAM_PREFIX = {"stepfunctions": "states"}
IAM_ACTION = {
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "ListFunctions20150331": "ListFunctions",
}
"""Of calls whose permission has another name: S3's older ones."""
NOT_FOUND = (
    "NotFound",
    "NotFoundException",
    "NoSuchBucket",
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
    "ResourceNotFound",
    "ResourceNotFoundException",
    "StateMachineDoesNotExist",
)


@dataclass(frozen=True)
class Resource:
    """A resource that the stack lists: its CloudFormation type, its physical id and its status."""

    type: str
    id: str
    status: str


@dataclass(frozen=True)
class Deployment:
    """A stack with its resources by logical id. Every question is asked once."""

    stack: Stack
    resources: Mapping[str, Resource]
    answers: dict[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        return self.stack.id.endswith("/local")

    @property
    def is_prod(self) -> bool:
        return self.stack.parameters.get("Stage") == "prod"

    @property
    def operations(self) -> OperationFunctions:
        """Which function each operation has."""
        outputs = {"FunctionPrefix": f"{self.stack.name}_op", **self.stack.outputs}
        return OperationFunctions.of(self.stack.parameters, outputs)

    def id(self, logical_id: str) -> str:
        """What Ref gives. Raises CannotLook for what the stack does not list; `stack.resources` reports that."""
        if logical_id not in self.resources:
            raise CannotLook(f"{logical_id} is not in the stack")
        return self.resources[logical_id].id

    def of_type(self, kind: str) -> dict[str, str]:
        """Physical ids by logical id, of one CloudFormation type."""
        return {logical_id: each.id for logical_id, each in self.resources.items() if each.type == kind}

    def once(self, command: str) -> str:
        """A command of ours as a user types it for this stack."""
        return f"`once {command}{'' if self.stack.name == 'once' else f' --stack {self.stack.name}'}`"

    def is_left_out(self, logical_id: str) -> bool:
        """Whether the local cloud has no such thing to ask for."""
        return self.is_local and logical_id in self.resources and self.resources[logical_id].type in NOT_LOCAL_TYPES

    def absent(self, otherwise: Verdict) -> Verdict:
        """A setting is not there: nothing to say of the local cloud, which leaves out what has no effect in it."""
        return skipped(NOT_LOCAL) if self.is_local else otherwise

    def ask(self, service: str, method: str, unset: Collection[str] = (), **parameters: Any) -> Mapping[str, Any]:
        """The answer of a boto3 method; {} for the error codes in `unset`, which say that nothing is set.

        Raises CannotLook, naming the permission that is missing, and Gone.
        """
        key = (service, method, repr(sorted(parameters.items())))
        if key not in self.answers:
            with self.asking(service, unset) as answer:
                answer.update(getattr(self.stack.client(service), method)(**parameters))
            self.answers[key] = answer
        return self.answers[key]

    def ask_all(self, service: str, method: str, member: str, **parameters: Any) -> list[Any]:
        """The members of all pages of a boto3 method."""
        with self.asking(service):
            pages = self.stack.client(service).get_paginator(method).paginate(**parameters)
            return [each for page in pages for each in page.get(member, ())]

    @contextmanager
    def asking(self, service: str, unset: Collection[str] = ()) -> Iterator[dict[str, Any]]:
        """What AWS refuses inside, as CannotLook or Gone; bad credentials stop everything, and stay what they are."""
        from botocore.exceptions import ClientError

        try:
            yield {}
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in unset:
                return
            if code in BAD_CREDENTIALS:
                raise
            if code in NOT_FOUND:
                raise Gone(f"{error.operation_name}: {code}") from error
            if is_denied(code):
                action = IAM_ACTION.get(error.operation_name, error.operation_name)
                raise CannotLook(f"needs the permission {IAM_PREFIX.get(service, service)}:{action}") from error
            message = " ".join(error.response["Error"].get("Message", "").split())
            raise CannotLook(f"{error.operation_name}: {code}: {message}") from error


def deployment_of(stack: Stack) -> Deployment:
    """Lists the stack's resources. Raises ClientError: without the list there is nothing to look at."""
    pages = stack.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack.name)
    listed = (each for page in pages for each in page["StackResourceSummaries"])
    resources = {
        each["LogicalResourceId"]: Resource(
            each["ResourceType"], each.get("PhysicalResourceId", ""), each["ResourceStatus"]
        )
        for each in listed
        if each["ResourceStatus"] != "DELETE_COMPLETE"
    }
    return Deployment(stack, resources)
