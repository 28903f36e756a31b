"""Owners in the fast lane. Express executions keep no history and answer no question: their record says what is known.

A fast owner's lease lasts longer than its execution and its function can, so when it is over, the owner has ended. Its
request is with the lock: in the record, or in the bucket under `inflight/`, where the record says.
"""

from __future__ import annotations

from shlex import quote

from oncekit.cli.deployed.records import record as records
from oncekit.cli.deployed.records.record import Record
from oncekit.cli.deployed.stack import Stack
from oncekit.local.lanes import FAST

MAY_RUN = "MAY_RUN"
"""Its lease is not over."""
LEASE_OVER = "LEASE_OVER"
"""It has ended, and nobody knows how."""
ENDED = "ENDED"
"""It holds no lock any more: it finished, or somebody else decided."""


def is_fast(stack: Stack, owner: str) -> bool:
    return stack.lane_of(owner) == FAST


def owner_status(stack: Stack, record: Record) -> str:
    """The status of a record's owner: as Step Functions says or, in the fast lane, as the record says."""
    owner = record["owner"]
    return _status(stack, record) if is_fast(stack, owner) else records.owner_status(stack, owner, record["id"])


def _status(stack: Stack, record: Record) -> str:
    if record["status"] != "IN_PROGRESS":
        return ENDED
    return MAY_RUN if record["leaseExpiresAt"] >= stack.now() else LEASE_OVER


def what_becomes(stack: Stack, record: Record) -> str:
    """What happens next to a record in progress whose owner is in the fast lane."""
    status = _status(stack, record)
    if status == MAY_RUN:
        left = int(record["leaseExpiresAt"] - stack.now()) + 1
        return f"it may run until its lease is over, in {left} s; then recovery starts its request in the full lane"
    return "its lease is over, and recovery starts its request in the full lane"


def log_of(stack: Stack, execution: str) -> str:
    """The command that prints what a fast execution logged."""
    pattern = quote(f'{{ $.execution_arn = "{execution}" }}')
    return f"aws logs filter-log-events --log-group-name {quote(_log_group(stack))} --filter-pattern {pattern}"


def _log_group(stack: Stack) -> str:
    name = stack.id.split("/")[1] if stack.id.count("/") > 1 else stack.name  # a stack can be named by its ARN, too
    return f"/aws/vendedlogs/states/{name}-fast"


def where_its_path_is(stack: Stack, execution: str) -> str:
    """Where to look for what a fast execution did."""
    level = stack.parameters.get("ExecutionLog", "ERROR")
    if stack.endpoint_url is not None:
        return "`once up` prints the path of each execution when it ends"
    if level == "OFF":
        return "its log is off (ExecutionLog)"
    return f"its log has {'every state' if level == 'ALL' else 'errors only'}: {log_of(stack, execution)}"


def no_history(stack: Stack, execution: str) -> str:
    """What there is to say in place of a path."""
    return (
        f"{execution}: it is an execution of the fast lane. Express executions keep no history, so nobody can say "
        "whether one with this ARN existed; "
        f"{where_its_path_is(stack, execution)}; `once show ID` tells what its record says"
    )
