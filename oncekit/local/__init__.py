"""The local cloud: runs template.yaml, unchanged, on this machine, with neither Docker nor an AWS account.

once_cloud.py       the cloud that people use: requests, operations, records; nothing else here knows Once, but for
                    once_inside.py, what reading a template has to know
cloud.py            a cloud for any template: deploys it, runs it, and can be reset
templates/          reads the template
deployment/         makes its resources
endpoint/           answers calls of AWS's API
engine/             Step Functions: executions on oncekit.asl, and its API
events/             rules, schedules, queues and pipes: deliveries from one service to another
gateway/            the HTTP APIs
lambda_runtime/     functions in processes of their own
permissions/        checks every call against the policies of its role
execution.py        executions, and starts of business logic, as plain values
clock.py            real and virtual time
account.py          the account and region of the local cloud; names of functions
client_errors.py    what a client raises where a service refuses a call
kept_files.py       a cache on disk for what takes long to make
isolation.py        no other cloud is reached
patching.py         replaces attributes while a context is open; changed_packages.py lists all that are replaced
quick_start.py      what makes the start quick
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
