"""`once openapi`: the OpenAPI document of the stack's HTTP API, with the schemas of the operations' payloads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from oncekit.cli.here.cloud import clear_errors, find_template
from oncekit.cli.here.openapi_parts import COMPONENTS, DESCRIPTION, PROBLEM, RESPONSES, SCHEMAS
from oncekit.cli.options import Output, Template
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import say, tell

Document = dict[str, Any]
API = "AWS::ApiGateway::RestApi"
_OF_AN_OPERATION = re.compile(r"\$\{AWS::StackName\}_op-(.+)")
Url = Annotated[str, typer.Option("--url", metavar="URL", help="The URL of the API; by default that of `once up`.")]


def openapi(url: Url = "http://127.0.0.1:4601", output: Output = None, template: Template = None) -> None:
    """Print the OpenAPI document of the HTTP API, as YAML.

    Each operation whose function has a schema.json has its own paths, with the schema of its payload.
    """
    path = find_template(template)
    with clear_errors():
        text = as_yaml(document(path, url))
    if output is None:
        say(*text.rstrip().split("\n"))
        return
    output.write_text(text)
    tell(f"{output}: OpenAPI 3.1")


def as_yaml(found: Document) -> str:
    import yaml

    return str(yaml.safe_dump(found, sort_keys=False, width=120, allow_unicode=True))


def document(template: Path, url: str, payloads: bool = True) -> Document:
    """The document. Raises Problem when the template has no API; without `payloads`, that of any application."""
    from oncekit.local.template import load

    deployed = load(template, {"HttpTrigger": "true"}).section("Resources")
    bodies = [each["Properties"]["Body"] for each in deployed.values() if each["Type"] == API]
    if not bodies:
        raise Problem(f"{template} has no HTTP API")
    paths = {path: _methods(methods) for path, methods in bodies[0]["paths"].items()}
    schemas = dict(_payloads(template, deployed)) if payloads else {}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Once", "version": bodies[0]["info"]["version"], "description": DESCRIPTION},
        "servers": [{"url": url}],
        "security": [{"iam": []}, {"userPool": []}],
        "paths": {**_of_operations(paths, schemas), **paths},
        "components": COMPONENTS,
    }


def _methods(methods: Mapping[str, Mapping[str, Any]]) -> Document:
    """Those of a path; what only some parameters make stands behind its condition."""
    return {name: _method(name, method.get("Fn::If", ("", method))[1]) for name, method in methods.items()}


def _method(name: str, method: Mapping[str, Any]) -> Document:
    found: Document = {
        "operationId": method["operationId"],
        "parameters": [_parameter(p) for p in method["parameters"]],
    }
    if "requestBody" in method:
        found["requestBody"] = method["requestBody"]
    described = dict(method["responses"])
    if name == "options":  # a browser asks without a signature
        found["security"] = []
        described["403"] = {"description": "No page may call: HttpCorsOrigin is empty."}
        described["429"] = {"description": "Too many requests."}
    if "422" in described:  # API Gateway takes no such range
        described["4XX"] = {"description": "The operation failed for good, with a status of its own."}
    told = {
        code: {"description": each["description"], **RESPONSES.get(code, PROBLEM)} for code, each in described.items()
    }
    found["responses"] = dict(sorted(told.items()))
    return found


def _parameter(given: Mapping[str, Any]) -> Document:
    """As the template has it, with what its values may be."""
    required = {"required": True} if given["name"] == "Idempotency-Key" else {}
    return {**given, **required, "schema": SCHEMAS.get(given["name"], given["schema"])}


def _payloads(template: Path, deployed: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Document]]:
    """The operations of the template that have a schema, each with it."""
    for each in deployed.values():
        if each["Type"] != "AWS::Lambda::Function":
            continue
        name = each["Properties"].get("FunctionName")
        operation = (
            _OF_AN_OPERATION.fullmatch(name["Fn::Sub"]) if isinstance(name, dict) and "Fn::Sub" in name else None
        )
        schema = template.parent / str(each["Properties"]["Code"].get("S3Key", "")) / "schema.json"
        if operation and schema.is_file():
            found = json.loads(schema.read_text())
            found.pop("$schema", None)
            yield operation[1], found


def _of_operations(paths: Mapping[str, Document], schemas: Mapping[str, Document]) -> Document:
    """The paths that start an operation, once for each that has a schema."""
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
