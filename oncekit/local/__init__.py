"""The local cloud: runs template.yaml, unchanged, on this machine, with neither Docker nor an AWS account.

once_cloud.py      the cloud that people open: requests, operations, records; all that knows of Once
cloud.py           a cloud: deploys a template, runs it, is empty again after a reset
executions.py      finds its executions, and waits for their ends
kept_files.py      what took long to make, kept for the next process
read_yaml.py       YAML, read once for each text
template.py        template.yaml with its parameters, translated from SAM to CloudFormation
intrinsics.py      Ref, GetAtt, Sub, If...
definition.py      a state machine's definition with its substitutions
deploy.py          makes the resources on moto, and adds what moto drops
execution.py       an execution, and a start of business logic, as plain values
items.py           DynamoDB items as plain values
server.py          the endpoint on loopback
account.py         which account and region this is
quotas.py          AWS quotas that several parts hold
access_keys.py     the keys of a run, without which nobody is let in
assumed_roles.py   keys that AssumeRole made
knocking.py        who may knock at a door of this machine
doorkeeper.py      keeps those rules before a WSGI application
clock.py           real and virtual time
faults.py          what can go wrong with a call, ready-made
events/            rules, schedules, queues and pipes: what one service delivers to another
engine/            moto's Step Functions interpreter, patched
lambda_runtime/    functions in processes of their own
permissions/       what each role allows, held against every call
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oncekit.local.clock import Clock, RealClock, VirtualClock
from oncekit.local.execution import Execution, Invocation

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

__all__ = ["Clock", "Execution", "Invocation", "LocalCloud", "RealClock", "VirtualClock"]


def __getattr__(name: str) -> Any:
    """LocalCloud on first use: what it needs takes most of a second to import."""
    if name == "LocalCloud":
        from oncekit.local.once_cloud import LocalCloud

        return LocalCloud
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
