"""CloudFormation's answers about the stack and its resources, with what is deployed."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.patching import Change
from oncekit.local.resources import STACK, Deployed

Values = Callable[[], Mapping[str, str]]


def answering(outputs: Values, parameters: Values, resources: Callable[[], Mapping[str, Deployed]]) -> list[Change]:
    """While it is open, moto describes this stack, and says of any other that it does not exist."""
    from moto.cloudformation.exceptions import ValidationError
    from moto.cloudformation.responses import CloudFormationResponse
    from moto.core.responses import ActionResult

    stack_id = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/local"
    created = datetime.datetime.now(datetime.UTC)

    def check_name(wanted: str | None) -> None:
        if wanted not in (None, STACK, stack_id):
            raise ValidationError(wanted)

    def list_stack_resources(self: Any) -> Any:
        check_name(self._get_param("StackName"))
        told = [
            {
                "LogicalResourceId": logical_id,
                "PhysicalResourceId": each.ref,
                "ResourceType": each.type,
                "ResourceStatus": "CREATE_COMPLETE",
                "LastUpdatedTimestamp": created,
            }
            for logical_id, each in resources().items()
            # What is in an application inside is listed here, so that nobody asks for its stack.
            if each.ref and each.type != "AWS::CloudFormation::Stack"
        ]
        return ActionResult({"StackResourceSummaries": told})

    def describe_stacks(self: Any) -> Any:
        check_name(self._get_param("StackName"))
        stack = {
            "StackName": STACK,
            "StackId": stack_id,
            "StackStatus": "CREATE_COMPLETE",
            "CreationTime": created,
            "Tags": {},  # moto makes a list of it
            "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in outputs().items()],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters().items()],
        }
        return ActionResult({"Stacks": [stack]})

    return [
        (CloudFormationResponse, "describe_stacks", describe_stacks),
        (CloudFormationResponse, "list_stack_resources", list_stack_resources),
    ]
