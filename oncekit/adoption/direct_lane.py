"""The direct lane: what a function needs that keeps its trigger and its event, and takes the lock itself."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oncekit.adoption.application_template import ApplicationTemplate
from oncekit.adoption.code import Code, is_python
from oncekit.adoption.library_layer import libraries, too_old
from oncekit.adoption.names import Operation
from oncekit.adoption.operations_template import PAYLOAD_ONLY, OperationsTemplate
from oncekit.adoption.texts import text
from oncekit.local.lambda_runtime.entry import has_library
from oncekit.problem import Problem

NAME = "DirectLaneName"
"""The parameter of Once, and of once/operations.yaml, under whose value functions find it."""
VARIABLE = "ONCE_PARAMETER"
SWEEP, ATTEMPTS = 120, 900
"""Seconds: within so many a sweep finds a lease that is over; for about so many the full lane tries, by default."""
OTHER_LANGUAGE = """the library, which takes the lock, is Python. Let its callers send requests to Once's own API \
(Once's docs/http.md): what the function returns is their answer"""


def check(template: ApplicationTemplate, operations: OperationsTemplate, operation: Operation, function: str) -> None:
    """Raises Problem for a function that cannot take the lock itself."""
    if not is_python(template, function):
        raise Problem(f"--direct: {function} is not in Python, and {OTHER_LANGUAGE}")
    if (told := too_old(template, function)) is not None:
        raise Problem(f"--direct: {told}")
    if operation.name in operations.payload_only():
        raise Problem(
            f"--direct: {operation.name} is in {PAYLOAD_ONLY} of Machine in {operations.path}: recovery would send the "
            f"bare payload, which nothing can tell from the function's own event; `once new {operation.name} "
            f"--function {function} --gets request` takes it out"
        )


def equip(template: ApplicationTemplate, operations: OperationsTemplate, operation: Operation, function: str) -> None:
    """Give it the library, the name of Once's place, and the permissions that steps do not need."""
    template.tell_once(NAME, "!Ref AWS::StackName")
    operations.add_parameter(NAME, "Name under which functions of the direct lane find Once.")
    operations.set_once(NAME, f"!Ref {NAME}")
    if (role := template.role_of(function)) is not None:
        operations.allow_direct_lane(operation, role)
    if not any(libraries(template, function)) and not has_library(Code.of(template, function).folder, []):
        template.give_library(function)
    template.give_variable(function, VARIABLE, '!Sub "/once/${AWS::StackName}/direct"')


def lines_to_change(template: ApplicationTemplate, operation: Operation, function: str) -> Iterator[str]:
    """What only somebody who knows the function can do."""
    code = Code.of(template, function)
    handler = str(template.function(function).get("Handler", "handler")).rpartition(".")
    file = code.folder / f"{handler[0].replace('.', '/')}.py"
    where = os.path.relpath(file, template.path.parent) if file.is_file() else Path(code.folder).name
    yield f"Four lines of {where} are yours to change, the first before the others:"
    yield from text("four_lines.txt", **operation.places, handler=handler[2]).splitlines()
    yield (
        "Deploy once before you change them: until the parameter is there, `once` raises, and senders send again. "
        "Once's docs/direct-lane.md has the lines for each trigger."
    )


def given_up_too_early(template: ApplicationTemplate, function: str) -> Iterator[str]:
    """Each FIFO queue of the function that gives a message up, and goes on in its group, before the full lane is done.

    What only a deployment knows is not told.
    """
    from once.direct import MARGIN  # botocore takes its time

    timeout = template.function(function).get("Timeout", 3)
    for queue, properties in _queues(template, function):
        receives: Any = (properties.get("RedrivePolicy") or {}).get("maxReceiveCount")
        visibility = properties.get("VisibilityTimeout", 30)
        if not properties.get("FifoQueue") or not all(
            isinstance(each, int) for each in (timeout, receives, visibility)
        ):
            continue
        needed = timeout + MARGIN + SWEEP + ATTEMPTS
        if (receives - 1) * visibility < needed:
            yield (
                f"{queue} gives a message up after {receives} receives, the last {(receives - 1) * visibility} seconds "
                f"after the first, and goes on in its group. After a crash that may be too early: {timeout} + {MARGIN} "
                f"seconds until its lease is over, {SWEEP} for a sweep and {ATTEMPTS} for attempts of the full lane. "
                f"So set maxReceiveCount of {queue} to {math.ceil(needed / max(visibility, 1)) + 1} or more, or a "
                "longer VisibilityTimeout"
            )


def _queues(template: ApplicationTemplate, function: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Those of the template that start the function by an event of SAM, with their properties."""
    for event in (template.function(function).get("Events") or {}).values():
        match event:
            case {"Type": "SQS", "Properties": {"Queue": {"Fn::GetAtt": [str() as queue, "Arn"]}}}:
                yield queue, template.at("Resources", queue, "Properties") or {}
