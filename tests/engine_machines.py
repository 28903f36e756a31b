"""Small state machines for the tests of the engine."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from oncekit.local import Execution, LocalCloud

ROLE = "arn:aws:iam::123456789012:role/r"
END = {"Type": "Succeed"}
Execute = Callable[..., Execution]
"""What `executes` gives, for one cloud."""


def create(cloud: LocalCloud, states: dict[str, Any], machine_type: str = "STANDARD", **top: Any) -> str:
    """The ARN of a new state machine."""
    definition = {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **top}
    arn: str = cloud.client("stepfunctions").create_state_machine(
        name=f"m{uuid.uuid4().hex}", definition=json.dumps(definition), roleArn=ROLE, type=machine_type
    )["stateMachineArn"]
    return arn


def start(cloud: LocalCloud, machine: str, given: Any = None, name: str | None = None) -> str:
    """The ARN of a new execution."""
    more = {} if name is None else {"name": name}
    arn: str = cloud.client("stepfunctions").start_execution(stateMachineArn=machine, input=json.dumps(given), **more)[
        "executionArn"
    ]
    return arn


def executes(cloud: LocalCloud) -> Execute:
    """Makes a state machine of its states, the first of which starts, runs it once, and waits for the end."""

    def run(states: dict[str, Any], given: Any = None, machine_type: str = "STANDARD", **top: Any) -> Execution:
        return cloud.wait(start(cloud, create(cloud, states, machine_type, **top), given))

    return run


def succeed(expression: str) -> dict[str, Any]:
    return {"Type": "Succeed", "Output": "{% " + expression + " %}"}


def task(resource: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    named = {"Type": "Task", "Resource": f"arn:aws:states:::{resource}", "Arguments": arguments}
    return {**named, **({} if "Next" in more else {"End": True}), **more}


def types(execution: Execution) -> list[str]:
    """The types of the events, oldest first."""
    return [str(getattr(event["type"], "value", event["type"])) for event in execution.events]
