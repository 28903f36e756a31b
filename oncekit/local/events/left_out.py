"""What an application has beside its operations, and the local cloud does not run: it is only named.

Without this an application could be tried here only after everything else was taken out of its template.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.local.deployed import Deployed
from oncekit.local.events.targets import is_target

MAPPING = "AWS::Lambda::EventSourceMapping"
RULE = "AWS::Events::Rule"
SCHEDULE = "AWS::Scheduler::Schedule"
TOO_MUCH = ('"wildcard": ', '"cidr": ', '"anything-but": {', '"prefix": {', '"suffix": {', "<aws.events.")
"""In a rule: comparisons and placeholders that AWS has, and `patterns.py` and `templates.py` have not."""


def left_out(resources: Mapping[str, Deployed]) -> Iterator[str]:
    """What is there by its name only, each as people know it."""
    for logical_id, each in resources.items():
        if each.ref and not is_run(each):
            yield f"{logical_id} ({each.type})"


def is_run(each: Deployed) -> bool:
    """Whether the local cloud does what a resource does on AWS, as far as an operation can tell."""
    if each.type == RULE:
        foreign = any(_is_foreign(target) for target in each.properties.get("Targets", []))
        return "ScheduleExpression" not in each.properties and not foreign and not _asks_too_much(each.properties)
    if each.type == SCHEDULE:
        return not _is_foreign(each.properties["Target"])
    return each.is_run and each.type != MAPPING


def _asks_too_much(rule: Mapping[str, Any]) -> bool:
    text = json.dumps([rule.get("EventPattern"), rule.get("Targets")])
    return any(each in text for each in TOO_MUCH)


def _is_foreign(target: Mapping[str, str]) -> bool:
    return not is_target(target["Arn"])
