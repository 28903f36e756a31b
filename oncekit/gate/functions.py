"""Functions that the state machine cannot call, and functions that nobody watches.

An operation is added by adding a function: what must go with it is easily forgotten, and nothing else would say so
before the first request is quarantined, or fails unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.project import ALARM, FUNCTION, MACHINE, Project

WATCHED = {"Errors": "it fails", "Throttles": "it is throttled"}
"""The metrics that some alarm must look at for every function, and what of."""
_OPERATION = re.compile(r"[a-z][a-z0-9-]{0,39}")  # as in request.schema.json


def check(project: Project) -> Iterator[Finding]:
    if not project.resources(MACHINE):  # the functions of an application that has Once inside: see nested.py
        return
    alarms = project.resources(ALARM)
    for name, properties in project.resources(FUNCTION).items():
        problems = (
            *_uncallable(project, name, properties),
            *_unwatched(name, properties, alarms),
            *_not_taken_back(name, properties, alarms),
        )
        for problem in problems:
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
    whole = {"FunctionName": {"Ref": name}}
    for metric, when in WATCHED.items():
        if not any((metric, whole) in metrics_of(alarm) for alarm in alarms.values()):
            yield f"nothing alarms when {when}; give it an alarm on its {metric}, like the one of BuildReportFunction"
    if "LogGroup" not in properties.get("LoggingConfig", {}):
        yield "its log is kept for ever; give it a log group with RetentionInDays, by LoggingConfig"


def _not_taken_back(name: str, properties: Mapping[str, Any], alarms: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A metric of all versions hides the results of a tenth of the invocations."""
    named = _referred(properties.get("DeploymentPreference", {}).get("Alarms", ()))
    looks_at = [each for alarm in named for each in metrics_of(alarms.get(alarm, {}))]
    newest = {"Fn::GetAtt": [name, "Version.Version"]}
    if not any(metric == "Errors" and of.get("ExecutedVersion") == newest for metric, of in looks_at):
        yield (
            "a gradual rollout of it does not go back when its new version fails; name an alarm that looks at "
            "ExecutedVersion in DeploymentPreference.Alarms, like BuildReportRolloutAlarm"
        )


def _referred(node: Any) -> Iterator[str]:
    """What a part of the template refers to, under whatever conditions."""
    if isinstance(node, Mapping) and "Ref" in node:
        yield str(node["Ref"])
    elif isinstance(node, Mapping | list):
        for each in node.values() if isinstance(node, Mapping) else node:
            yield from _referred(each)


def metrics_of(alarm: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The metrics of Lambda that an alarm looks at, each with its dimensions."""
    inner = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    return [
        (each["MetricName"], {of["Name"]: of["Value"] for of in each.get("Dimensions", ())})
        for each in (alarm, *inner)
        if each.get("Namespace") == "AWS/Lambda"
    ]
