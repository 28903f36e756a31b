"""Parameters of Systems Manager, as the templates have them.

moto has them, too, but what it imports for them, all of EC2, takes two seconds; it is asked for what no template has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oncekit.local.deployment.resources import Deployed
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service
from oncekit.local.permissions.needs import arn
from oncekit.local.templates.intrinsics import as_text

PARAMETER = "AWS::SSM::Parameter"


def answering(resources: Callable[[], Mapping[str, Deployed]]) -> Service:
    """Gives parameters of these resources by their names, or by the path that their names begin with."""

    def answer(request: Request, proceed: Proceed) -> Answer:
        asked = request.asked.parameters
        there = {each.ref: each for each in resources().values() if each.type == PARAMETER and each.ref}
        match request.asked.operation:
            case "GetParameter" if asked.get("Name") in there:
                return _answered({"Parameter": _told(there[asked["Name"]])})
            case "GetParameters" if found := [name for name in asked.get("Names", ()) if name in there]:
                invalid = [name for name in asked["Names"] if name not in there]
                return _answered({"Parameters": [_told(there[name]) for name in found], "InvalidParameters": invalid})
            case "GetParametersByPath" if found := [name for name in there if _is_below(name, asked)]:
                return _answered(_page([_told(there[name]) for name in sorted(found)], asked))
        return proceed()

    return answer


def _is_below(name: str, asked: Mapping[str, Any]) -> bool:
    path = str(asked.get("Path")).rstrip("/") + "/"
    return name.startswith(path) and (bool(asked.get("Recursive")) or "/" not in name.removeprefix(path))


def _page(found: Sequence[Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """At most ten: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParametersByPath.html"""
    begin = int(asked.get("NextToken") or 0)
    end = begin + int(asked.get("MaxResults") or 10)
    return {"Parameters": found[begin:end], **({"NextToken": str(end)} if end < len(found) else {})}


def _answered(told: Mapping[str, Any]) -> Answer:
    return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(told).encode()


def _told(parameter: Deployed) -> dict[str, Any]:
    given, name = parameter.properties, parameter.ref
    told = {"Name": name, "Type": given["Type"], "Value": as_text(given["Value"]), "Version": 1, "DataType": "text"}
    return told | {"ARN": arn("ssm", f"parameter/{name.lstrip('/')}")}
