"""Parameters of Systems Manager, as the templates have them.

moto has them, too, but what it imports for them, all of EC2, takes two seconds; it is asked for what no template has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from oncekit.local.intrinsics import as_text
from oncekit.local.own_services import Answer, Proceed, Request, Service
from oncekit.local.permissions.needs import arn
from oncekit.local.resources import Deployed

PARAMETER = "AWS::SSM::Parameter"


def answering(resources: Callable[[], Mapping[str, Deployed]]) -> Service:
    """Gives a parameter of these resources by its name."""

    def answer(request: Request, proceed: Proceed) -> Answer:
        if request.asked.operation == "GetParameter":
            name = request.asked.parameters.get("Name")
            for each in resources().values():
                if (each.type, each.ref) == (PARAMETER, name):
                    body = json.dumps({"Parameter": _told(each)})
                    return 200, {"Content-Type": "application/x-amz-json-1.1"}, body.encode()
        return proceed()

    return answer


def _told(parameter: Deployed) -> dict[str, Any]:
    given, name = parameter.properties, parameter.ref
    told = {"Name": name, "Type": given["Type"], "Value": as_text(given["Value"]), "Version": 1, "DataType": "text"}
    return told | {"ARN": arn("ssm", f"parameter/{name.lstrip('/')}")}
