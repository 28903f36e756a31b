"""Functions that the state machine cannot call, and functions that nobody watches.

An operation is added by adding a function: what must go with it is easily forgotten, and nothing else would say so
before the first request is quarantined, or fails unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gate.finding import Finding
from gate.project import FUNCTION, MACHINE, Project

ALARM = "AWS::CloudWatch::Alarm"
WATCHING = {"FunctionErrorsAlarm": "it fails", "FunctionThrottlesAlarm": "it is throttled"}
"""The alarms that must look at every function, and what of."""
_OPERATION = re.compile(r"[a-z][a-z0-9-]{0,39}")  # as in request.schema.json


def check(project: Project) -> Iterator[Finding]:
    alarms = project.resources(ALARM)
    for name, properties in project.resources(FUNCTION).items():
        for problem in (*_uncallable(project, name, properties), *_unwatched(name, properties, alarms)):
            yield Finding(project.path.name, name, problem)


def _uncallable(project: Project, name: str, properties: Mapping[str, Any]) -> Iterator[str]:
    prefix, alias, named = _called(project)
    if properties.get("AutoPublishAlias") != alias:
        yield f"it has no alias {alias}, by which the state machine calls it; leave AutoPublishAlias to Globals"
    if name in named:
        return
    called = str(project.resolver().resolve(properties.get("FunctionName", "")))
    if not called.startswith(f"{prefix}-"):
        yield (
            "no state calls a function of this name; an operation's FunctionName is "
            "!Sub ${AWS::StackName}_op-<operation>"
        )
    elif not _OPERATION.fullmatch(operation := called.removeprefix(f"{prefix}-")):
        yield (
            f"no request can ask for the operation {operation}: it begins with a small letter and has at most 40 of "
            "small letters, digits and hyphens; rename it"
        )


def _called(project: Project) -> tuple[str, str, set[str]]:
    """What the names of operations begin with, their alias, and the functions that a machine names itself."""
    resolver = project.resolver()
    values: dict[str, str] = {}
    for properties in project.resources(MACHINE).values():
        given = properties.get("DefinitionSubstitutions", {})
        values |= {key: str(resolver.resolve(value)) for key, value in given.items()}
    named = {value.partition(".")[0] for key, value in values.items() if key.endswith("FunctionArn")}
    return values.get("FunctionPrefix", ""), values.get("FunctionAlias", ""), named


def _unwatched(name: str, properties: Mapping[str, Any], alarms: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for alarm, when in WATCHING.items():
        if alarm in alarms and not any(_is_of(name, metric) for metric in alarms[alarm].get("Metrics", ())):
            yield f"nothing alarms when {when}; add a metric of it to {alarm}, like those of the other functions"
    if "LogGroup" not in properties.get("LoggingConfig", {}):
        yield "its log is kept for ever; give it a log group with RetentionInDays, by LoggingConfig"


def _is_of(name: str, metric: Mapping[str, Any]) -> bool:
    dimensions = metric.get("MetricStat", {}).get("Metric", {}).get("Dimensions", ())
    return any(each.get("Value") == {"Ref": name} for each in dimensions)
