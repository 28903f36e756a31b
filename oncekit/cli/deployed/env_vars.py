"""`once env-vars`: what `sam local invoke` needs to run a function against what is deployed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from oncekit.cli.deployed.on_stack import on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Output, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import say_json, tell

FUNCTION = "AWS::Lambda::Function"
ENDPOINT = "AWS_ENDPOINT_URL"
FROM_CONTAINERS = "A container gets an answer of `once up --from-containers` only; docs/sam-local.md says how."


def env_vars(output: Output = None, stack: StackName = "once", profile: Profile = None, region: Region = None) -> None:
    """Write the file for `sam local invoke --env-vars`.

    It has the environment variables of each deployed function: the names of the tables and the bucket of a stack, or
    those of `once up` with its endpoint as a container reaches it. Values are written as they are, also secrets.

    JSON: {function: {variable: value}}, each function under its logical id.
    """
    raise typer.Exit(_env_vars(Place(stack, profile, region), output))


def _env_vars(place: Place, output: Path | None) -> int:
    def work(stack: Stack) -> int:
        found = {logical_id: _variables(stack, name) for logical_id, name in _functions(stack).items()}
        if output is None:
            say_json(found, indent=2)
        else:
            _write(output, found)
        if stack.endpoint_url is not None:
            tell(FROM_CONTAINERS)
        return 0

    return on_stack(place, "", work)


def _functions(stack: Stack) -> dict[str, str]:
    """The names of the stack's functions by their logical ids, which are what `sam local invoke` takes."""
    pages = stack.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack.name)
    listed = (each for page in pages for each in page["StackResourceSummaries"])
    return {
        each["LogicalResourceId"]: each["PhysicalResourceId"]
        for each in listed
        if each["ResourceType"] == FUNCTION and each["ResourceStatus"] != "DELETE_COMPLETE"
    }


def _variables(stack: Stack, name: str) -> dict[str, str]:
    told = stack.client("lambda").get_function_configuration(FunctionName=name).get("Environment", {})
    if refused := told.get("Error"):
        raise Problem(f"{name}: its variables cannot be read: {refused.get('Message')}; allow kms:Decrypt on their key")
    return {**told.get("Variables", {}), **_endpoint(stack)}


def _endpoint(stack: Stack) -> Mapping[str, str]:
    """In a container 127.0.0.1 is the container. On AWS each client knows its endpoint."""
    if stack.endpoint_url is None:
        return {}
    from oncekit.local.knocking import HOST_OF_CONTAINERS

    return {ENDPOINT: f"http://{HOST_OF_CONTAINERS}:{urlsplit(stack.endpoint_url).port}"}


def _write(output: Path, found: Mapping[str, Any]) -> None:
    try:
        output.touch(mode=0o600)
        output.chmod(0o600)  # there may be secrets in it, also when the file was there before
        output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Problem(f"{output}: {error.strerror}; give a file that can be written with --output") from error
    tell(f"{output}: the variables of {', '.join(sorted(found)) or 'no function'}.")
