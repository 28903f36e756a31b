"""What starts an application's own operations: the queues, buses and paths that `once new` connects to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

_OPERATION = re.compile(r'operation\\*": *\\*"([\w-]+)')
"""In what makes a request of a message; what Once itself has takes the operation from the request."""


def own_ways(cloud: LocalCloud) -> Iterator[tuple[str, str, str]]:
    """Of each its kind, where to send to, and the operation that it starts."""
    resources = [each for each in cloud.deployed.resources.values() if each.ref]
    queues = {each.attributes("Arn"): each.ref for each in resources if each.type == "AWS::SQS::Queue"}
    for each in resources:
        if each.type == "AWS::Pipes::Pipe" and (operation := _operation(each.properties)):
            source = str(each.properties["Source"])
            yield "queue", queues.get(source, source), operation
        if each.type == "AWS::Events::Rule" and (operation := _operation(each.properties)):
            yield "bus", str(each.properties.get("EventBusName", "default")).rpartition("/")[2], operation
        if each.type == "AWS::ApiGateway::RestApi":
            for path, methods in each.properties.get("Body", {}).get("paths", {}).items():
                for method, description in methods.items():
                    if operation := _operation(description):
                        yield "HTTP", f"{method.upper()} {cloud.http_url}{path}", operation


def _operation(made_of: Mapping[str, Any]) -> str | None:
    found = _OPERATION.search(json.dumps(made_of))
    return found[1] if found else None
