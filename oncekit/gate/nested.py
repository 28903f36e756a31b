"""Operations of an application that has Once inside: functions that nobody watches, names that nothing has.

Such a template names another one (AWS::Serverless::Application), and that one says which functions run the operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.functions import WATCHED, metrics_of
from oncekit.gate.project import ALARM, Project

APPLICATION = "AWS::Serverless::Application"
_ENTRY = re.compile(r"([a-z][a-z0-9-]*)=\$\{(\w+)\}")


def check(project: Project) -> Iterator[Finding]:
    for name, properties in project.resources(APPLICATION).items():
        if "Operations" in (given := properties.get("Parameters") or {}):
            yield from (Finding(project.path.name, name, problem) for problem in _problems(project, given))
        location = properties.get("Location")
        if not isinstance(location, str) or location.startswith("https:"):
            continue
        inner = project.path.parent / location
        if not inner.is_file():
            yield Finding(project.path.name, name, f"its Location {location} is not a file")
        elif not Project.at(inner).resources("AWS::StepFunctions::StateMachine"):  # else it is Once itself
            yield from check(Project.at(inner))


def _problems(project: Project, given: Mapping[str, Any]) -> Iterator[str]:
    operations = {match[1]: match[2] for each in _entries(given["Operations"]) if (match := _ENTRY.fullmatch(each))}
    alarms = [each for alarm in project.resources(ALARM).values() for each in metrics_of(alarm)]
    for operation, parameter in operations.items():
        name = {"Fn::Select": [6, {"Fn::Split": [":", {"Ref": parameter}]}]}
        for metric, when in WATCHED.items():
            if (metric, {"FunctionName": name}) not in alarms:
                happens = when.removeprefix("it ")
                yield f"nothing alarms when {operation} {happens}; give it an alarm on the {metric} of {parameter}"
    for operation in _entries(given.get("PayloadOnlyOperations", [])):
        if operation not in operations:
            yield f"PayloadOnlyOperations has {operation}, which is not in Operations"


def _entries(value: Any) -> list[str]:
    """The entries of a list that is written as one text, by Fn::Join."""
    if isinstance(value, Mapping):
        value = value.get("Fn::Join", [",", [value]])[1]
    entries = value.split(",") if isinstance(value, str) else value
    return [str(each.get("Fn::Sub", "") if isinstance(each, Mapping) else each).strip() for each in entries]
