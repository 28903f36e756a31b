"""The shape that every template has, whatever is in its properties: said with the resource, before it is translated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oncekit.local.intrinsics import TemplateError

_SECTIONS = ("Parameters", "Mappings", "Conditions", "Resources", "Outputs")


def check_shape(template: Mapping[str, Any], path: Path) -> None:
    """Raises TemplateError, which names the place that has another shape than CloudFormation's."""
    for section in _SECTIONS:
        members = template.get(section, {})
        if not isinstance(members, dict):
            raise TemplateError(f"{path}: {section} is {members!r}, but must be an object")
        for name, member in members.items():
            if not isinstance(name, str):
                raise TemplateError(f"{path}: {section}: the name {name!r} is not a text; put it in quotes")
            if not isinstance(member, dict):
                raise TemplateError(f"{path}: {section}: {name} is {member!r}, but must be an object")
    for name, declared in template.get("Parameters", {}).items():
        if problem := _problem_of_parameter(declared):
            raise TemplateError(f"{path}: parameter {name} {problem}")
    for name, resource in template["Resources"].items():
        if problem := _problem(resource):
            raise TemplateError(f"{path}: {name} {problem}")
    for name, output in template.get("Outputs", {}).items():
        if "Value" not in output:
            raise TemplateError(f"{path}: the output {name} has no Value")


def _problem_of_parameter(declared: Mapping[str, Any]) -> str | None:
    for bound in ("MinValue", "MaxValue"):
        if not _is_number(declared.get(bound, 0)):
            return f"has the {bound} {declared[bound]!r}, but that is not a number"
    if not isinstance(declared.get("AllowedValues", []), list):
        return f"has the AllowedValues {declared['AllowedValues']!r}, but they are a list"
    try:
        re.compile(str(declared.get("AllowedPattern", "")))
    except re.error as error:
        return f"has the AllowedPattern {declared['AllowedPattern']!r}, which is not a regular expression here: {error}"
    return None


def _is_number(value: Any) -> bool:
    """Also one in quotes, as AWS's own templates write bounds."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _problem(resource: Mapping[str, Any]) -> str | None:
    """What is wrong with a resource, after its name."""
    if "Type" not in resource:
        return "has no Type"
    if not isinstance(resource["Type"], str):
        return f"has the Type {resource['Type']!r}, but a Type is a text"
    if not isinstance(resource.get("Properties", {}), dict):
        return f"has the Properties {resource['Properties']!r}, but Properties are an object"
    if not isinstance(resource.get("Condition", ""), str):
        return f"has the Condition {resource['Condition']!r}, but a Condition is the name of one"
    others = resource.get("DependsOn", [])
    if not isinstance(others, str) and not (isinstance(others, list) and all(isinstance(each, str) for each in others)):
        return f"has the DependsOn {others!r}, but DependsOn is the name of a resource, or a list of names"
    return None
