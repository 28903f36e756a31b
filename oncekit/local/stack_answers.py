"""CloudFormation's answers about the stacks and their resources, with what is deployed."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from oncekit.local.deploy import Application
from oncekit.local.patching import Change


def answering(root: Callable[[], Application]) -> list[Change]:
    """While it is open, moto describes these stacks, and says of any other that it does not exist."""
    from moto.cloudformation.exceptions import ValidationError
    from moto.cloudformation.responses import CloudFormationResponse
    from moto.core.responses import ActionResult

    created = datetime.datetime.now(datetime.UTC)

    def named(wanted: str) -> Application:
        found = next((each for each in root().all() if wanted in (each.name, each.id)), None)
        if found is None:
            raise ValidationError(wanted)
        return found

    def list_stack_resources(self: Any) -> Any:
        told = [
            {
                "LogicalResourceId": logical_id,
                "PhysicalResourceId": each.ref,
                "ResourceType": each.type,
                "ResourceStatus": "CREATE_COMPLETE",
                "LastUpdatedTimestamp": created,
            }
            for logical_id, each in named(self._get_param("StackName")).resources.items()
            if each.ref
        ]
        return ActionResult({"StackResourceSummaries": told})

    def described(stack: Application) -> dict[str, Any]:
        return {
            "StackName": stack.name,
            "StackId": stack.id,
            "StackStatus": "CREATE_COMPLETE",
            "CreationTime": created,
            "Tags": {},  # moto makes a list of it
            "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in stack.outputs.items()],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in stack.parameters.items()],
        }

    def describe_stacks(self: Any) -> Any:
        wanted = self._get_param("StackName")
        return ActionResult({"Stacks": [described(each) for each in ([named(wanted)] if wanted else root().all())]})

    return [
        (CloudFormationResponse, "describe_stacks", describe_stacks),
        (CloudFormationResponse, "list_stack_resources", list_stack_resources),
    ]
