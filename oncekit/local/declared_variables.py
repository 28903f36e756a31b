"""Which functions of a template declare a variable. `sam local invoke --env-vars` drops those that are not declared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oncekit.local.template import TemplateError, parse

__all__ = ["TemplateError", "undeclared"]

SERVERLESS = "AWS::Serverless::Function"
FUNCTIONS = (SERVERLESS, "AWS::Lambda::Function")
APPLICATION = "AWS::Serverless::Application"


def undeclared(template: Path, variable: str) -> Iterator[str]:
    """The functions, also those of applications inside, that do not declare it. Raises TemplateError."""
    try:
        body = parse(template.read_text(encoding="utf-8"), template)
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{template} cannot be read: {error}") from error
    everywhere = _variables(_mapping(_mapping(body.get("Globals")).get("Function")))
    for logical_id, resource in body["Resources"].items():
        resource = _mapping(resource)  # Fn::ForEach has a list
        properties, kind = _mapping(resource.get("Properties")), resource.get("Type")
        location = properties.get("Location")
        if kind == APPLICATION and isinstance(location, str) and (template.parent / location).is_file():
            yield from undeclared(template.parent / location, variable)
        elif kind in FUNCTIONS and variable not in (everywhere if kind == SERVERLESS else {}) | _variables(properties):
            yield logical_id


def _variables(properties: dict[str, Any]) -> dict[str, Any]:
    return _mapping(_mapping(properties.get("Environment")).get("Variables"))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
