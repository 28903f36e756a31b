"""Where functions of the direct lane get their events: their own queues, buses and paths of APIs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oncekit.contract.lanes import PLACES
from oncekit.local.gateway.http_api import http_apis
from oncekit.local.gateway.rest_api import ANY, rest_apis

if TYPE_CHECKING:
    from oncekit.local.deployment.resources import Deployed
    from oncekit.local.once_cloud import LocalCloud

_FUNCTION = re.compile(r":function:([^:/]+)")


def own_triggers(cloud: LocalCloud) -> Iterator[tuple[str, str, str]]:
    """The kind of each, where to send to, and the operation."""
    resources = [each for each in cloud.deployed.resources.values() if each.ref]
    direct = {each.ref: cloud.operations.operations_of(each.ref) for each in resources if _is_direct(each)}
    queues: dict[Any, str] = {each.attributes("Arn"): each.ref for each in resources if each.type == "AWS::SQS::Queue"}

    def operations(function: Any) -> tuple[str, ...]:
        named = _FUNCTION.search(str(function))
        return direct.get(named[1] if named else str(function), ())

    for each in resources:
        given = each.properties
        if each.type == "AWS::Lambda::EventSourceMapping" and (queue := queues.get(given.get("EventSourceArn"))):
            yield from (("queue", queue, operation) for operation in operations(given["FunctionName"]))
        if each.type == "AWS::Events::Rule" and "EventPattern" in given:
            bus = str(given.get("EventBusName", "default")).rpartition("/")[2]
            targets = given.get("Targets", ())
            yield from (("bus", bus, operation) for target in targets for operation in operations(target["Arn"]))
    for api in (*rest_apis(cloud.deployed.resources), *http_apis(cloud.deployed.resources)):
        for method in api.methods:
            verb = "ANY" if method.name == ANY.upper() else method.name
            where = f"{verb} {cloud.http_url}{method.resource}"
            yield from (("HTTP", where, operation) for operation in operations(method.integration.get("uri")))


def _is_direct(resource: Deployed) -> bool:
    variables = (resource.properties.get("Environment") or {}).get("Variables") or {}
    return resource.type == "AWS::Lambda::Function" and bool(PLACES & variables.keys())
