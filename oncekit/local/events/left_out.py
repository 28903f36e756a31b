"""What an application has beside its operations, and the local cloud does not run: it is only named.

Without this an application could be tried here only after everything else was taken out of its template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oncekit.local.deployed import Deployed
from oncekit.local.events import pipes, rules
from oncekit.local.events.targets import is_target

MAPPING = "AWS::Lambda::EventSourceMapping"
PIPE = "AWS::Pipes::Pipe"
RULE = "AWS::Events::Rule"
SCHEDULE = "AWS::Scheduler::Schedule"


def left_out(resources: Mapping[str, Deployed]) -> Iterator[str]:
    """What is there by its name only, each as people know it."""
    for logical_id, each in resources.items():
        if each.ref and not is_run(each):
            yield f"{logical_id} ({each.type})"


def is_run(each: Deployed) -> bool:
    """Whether the local cloud does what a resource does on AWS, as far as an operation can tell."""
    if each.type == RULE:
        return rules.is_supported(each.properties)
    if each.type == PIPE:
        return pipes.is_supported(each.properties)
    if each.type == SCHEDULE:
        return is_target(each.properties["Target"]["Arn"])
    return each.is_run and each.type != MAPPING
