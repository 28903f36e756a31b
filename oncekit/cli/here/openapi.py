"""The OpenAPI document of a stack's HTTP API, with the schemas of the operations' payloads.

Its paths and statuses are those of the template; openapi.yaml says the rest.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncekit.contract.operation_functions import OperationFunctions
from oncekit.contract.own_stack import own_stack
from oncekit.problem import Problem

if TYPE_CHECKING:
    from oncekit.local.deployment.stack import Application, Stack

Document = dict[str, Any]
API = "AWS::ApiGateway::RestApi"
STARTS = "/{tenant}/{operation}"
"""The path by which Once's API is told from others."""
OBJECT: Document = {"type": "object"}


def as_yaml(found: Document) -> str:
    import yaml

    return str(yaml.safe_dump(found, sort_keys=False, width=120, allow_unicode=True))


def document(template: Path) -> Document:
    """The document of the API, with all that parameters can add to it. Raises Problem where there is no API."""
    from oncekit.local.deployment.deploy import planned
    from oncekit.local.deployment.stack import NOTHING

    plan = planned(template)
    once = own_stack(plan.root) or NOTHING
    made = [made for each in once.all() for made in each.resources.values()]
    bodies = [each.properties.get("Body", {}) for each in made if each.type == API]
    body = next((each for each in bodies if STARTS in each.get("paths", {})), None)
    if body is None:
        off = "; its parameter HttpTrigger is false" if once.parameters.get("HttpTrigger") == "false" else ""
        raise Problem(f"{template} has no HTTP API of Once{off}")
    paths = {path: _methods(methods) for path, methods in body["paths"].items()}
    found: Document = json.loads(json.dumps(_parts()["document"]))  # a copy
    found["info"]["version"] = body["info"]["version"]
    found["paths"] = {**_of_operations(paths, dict(_payloads(plan, once))), **paths}
    return found


@functools.cache
def _parts() -> Document:
    import yaml

    parts: Document = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return parts


def _methods(methods: Mapping[str, Mapping[str, Any]]) -> Document:
    """Those of a path that a client sends; a browser sends OPTIONS by itself."""
    return {name: _method(method) for name, method in methods.items() if name != "options"}


def _method(method: Mapping[str, Any]) -> Document:
    found: Document = {
        "operationId": method["operationId"],
        "parameters": [_parameter(p) for p in method["parameters"]],
    }
    if "requestBody" in method:
        found["requestBody"] = method["requestBody"]
    described = dict(method["responses"])
    if "422" in described:  # API Gateway takes no such range
        described["4XX"] = {"description": "The operation failed for good, with a status of its own."}
    found["responses"] = {code: _response(code, described[code]["description"]) for code in sorted(described)}
    return found


def _response(code: str, description: str) -> Document:
    responses, headers = _parts()["responses"], _parts()["headers"]
    names, content = responses.get(code, responses["problem"])
    parts = {"headers": {name: headers[name] for name in names}, "content": content}
    return {"description": description, **{name: part for name, part in parts.items() if part}}


def _parameter(given: Mapping[str, Any]) -> Document:
    """As the template has it, with what its values may be."""
    required = {"required": True} if given["name"] == "Idempotency-Key" else {}
    return {**given, **required, "schema": _parts()["parameters"].get(given["name"], given["schema"])}


def _payloads(plan: Stack, once: Application) -> Iterator[tuple[str, Document]]:
    """The operations, each with the schema of its payload; where nothing says more, that is an object."""
    known = OperationFunctions.of(once.outputs)
    for operation, named in known.named.items():
        spec = plan.functions.get(named.name)
        yield operation, OBJECT if spec is None else _schema(spec.code / "schema.json")


def _schema(file: Path) -> Document:
    if not file.is_file():
        return OBJECT
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Problem(f"{file} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Problem(f"{file} is not a schema: it must be an object")
    return {name: each for name, each in found.items() if name != "$schema"}


def _of_operations(paths: Mapping[str, Document], schemas: Mapping[str, Document]) -> Document:
    """The paths that start an operation, once for each."""
    found = {}
    for operation, schema in schemas.items():
        for path, methods in paths.items():
            if "post" in methods:
                found[path.replace("{operation}", operation)] = {"post": _for_one(methods["post"], operation, schema)}
    return found


def _for_one(method: Document, operation: str, schema: Document) -> Document:
    words = "".join(word.capitalize() for word in operation.split("-"))
    return {
        **method,
        "operationId": method["operationId"].replace("Operation", words),
        "parameters": [each for each in method["parameters"] if each["name"] != "operation"],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }
