"""The local cloud: runs template.yaml, unchanged, on this machine, with neither Docker nor an AWS account.

once_cloud.py      the cloud that people use: requests, operations, records
lanes.py           the lanes; http_request.py has the request in an execution that the HTTP API started
picked_request.py  the request in what a rule or a pipe of an application passes on
cloud.py           a cloud for any template: deploys it, runs it, and can be reset
kept_files.py      a cache on disk for what takes long to make
template.py        template.yaml with its parameters; form.py checks its form, sam.py translates it to CloudFormation
elsewhere.py       values that a template takes from elsewhere: once/values.yaml
built.py           what `sam build` has made; archive.py unpacks code that is in an archive
intrinsics.py      Ref, GetAtt, Sub, If...
definition.py      a state machine's definition with its substitutions
deploy.py          makes the resources, and adds what moto drops; moto_resources.py those that are moto's
stack.py           what a deployment has made
execution.py       executions, and starts of business logic, as plain values
items.py           DynamoDB items as plain values
server.py          the endpoint of AWS; loopback.py any server on 127.0.0.1
account.py         the account and region of the local cloud; names of functions
resources.py       by type of resource, its names and who makes it; stack_answers.py what CloudFormation says of it
quotas.py          AWS quotas that several modules use
access_keys.py     the access keys of one run; every call needs one
own_services.py    services that are answered before moto sees the request; parameter_answers.py is Parameter Store,
                   secret_answers.py is Secrets Manager
request_rules.py   the rules for which HTTP requests are accepted on this machine, in front of a WSGI application
rest_requests.py   what a request of a REST protocol asks for
clock.py           real and virtual time
boundaries.py      where a state begins and ends
patching.py        replaces attributes while a context is open; changed_packages.py lists all that are replaced
faults.py          ready-made faults of service calls
events/            rules, schedules, queues and pipes: deliveries from one service to another
gateway/           the HTTP APIs
engine/            Step Functions: executions on oncekit.asl, and its API
lambda_runtime/    functions in processes of their own
permissions/       checks every call against the policies of its role
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
