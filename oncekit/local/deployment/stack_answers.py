"""CloudFormation's answers about the stacks and their resources, with what is deployed."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import escape

from oncekit.local.client_errors import client_error
from oncekit.local.deployment.stack import Application
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service


def answering(root: Callable[[], Application]) -> Service:
    """Describes these stacks, and says of any other that it does not exist."""
    created = datetime.datetime.now(datetime.UTC).isoformat()

    def named(wanted: str) -> Application:
        found = next((each for each in root().all() if wanted in (each.name, each.id)), None)
        if found is None:
            raise client_error("ValidationError", f"Stack with id {wanted} does not exist", "DescribeStacks")
        return found

    def resources(wanted: str) -> Mapping[str, Any]:
        told = [
            {
                "LogicalResourceId": logical_id,
                "PhysicalResourceId": each.ref,
                "ResourceType": each.type,
                "ResourceStatus": "CREATE_COMPLETE",
                "LastUpdatedTimestamp": created,
            }
            for logical_id, each in named(wanted).resources.items()
            if each.ref
        ]
        return {"StackResourceSummaries": told}

    def described(stack: Application) -> dict[str, Any]:
        return {
            "StackName": stack.name,
            "StackId": stack.id,
            "StackStatus": "CREATE_COMPLETE",
            "CreationTime": created,
            "Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in stack.outputs.items()],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in stack.parameters.items()],
        }

    def stacks(wanted: str) -> Mapping[str, Any]:
        return {"Stacks": [described(each) for each in ([named(wanted)] if wanted else root().all())]}

    ours = {"DescribeStacks": stacks, "ListStackResources": resources}

    def answer(request: Request, proceed: Proceed) -> Answer:
        operation = request.asked.operation
        if operation not in ours:
            return proceed()
        result = _xml(ours[operation](request.asked.parameters.get("StackName", "")))
        body = f"<{operation}Response><{operation}Result>{result}</{operation}Result></{operation}Response>"
        return 200, {"Content-Type": "text/xml"}, body.encode()

    return answer


def _xml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "".join(f"<{name}>{_xml(member)}</{name}>" for name, member in value.items())
    if isinstance(value, list):
        return "".join(f"<member>{_xml(member)}</member>" for member in value)
    return escape(str(value))
