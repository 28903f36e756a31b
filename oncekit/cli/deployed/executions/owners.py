"""The owner of a record: whether its execution goes on.

An Express execution keeps no history and answers no question, so the record says what is known of an owner in the fast
lane: its lease lasts longer than its execution and its function can, so when it is over, the owner has ended.
"""

from __future__ import annotations

from shlex import quote

from oncekit.cli.deployed.records.record import OPERATOR, Record
from oncekit.cli.deployed.stack import Stack
from oncekit.local.lanes import FAST

MAY_RUN, LEASE_OVER, ENDED = "MAY_RUN", "LEASE_OVER", "ENDED"
"""Of an owner in the fast lane: its lease is not over; it is, and nobody knows how it ended; it holds no lock."""
GONE, BY_OPERATOR = "GONE", "OPERATOR"
"""Of an owner that is no execution of this stack, or not any more; of an operator's lock."""
NOT_ALIVE = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", LEASE_OVER, ENDED, GONE, BY_OPERATOR)
"""Any other status, also one that is not known, is of an owner that may go on."""


def owner_status(stack: Stack, record: Record) -> str:
    """The status of a record's owner: as Step Functions says or, in the fast lane, as the record says."""
    owner = record["owner"]
    if stack.lane_of(owner) == FAST:
        if record["status"] != "IN_PROGRESS":
            return ENDED
        return MAY_RUN if record["leaseExpiresAt"] >= stack.now() else LEASE_OVER
    if OPERATOR in owner:
        return BY_OPERATOR
    if not stack.has_execution(owner):
        return GONE
    client = stack.client("stepfunctions")
    try:
        return str(client.describe_execution(executionArn=owner, includedData="METADATA_ONLY")["status"])
    except client.exceptions.ExecutionDoesNotExist:
        return GONE


def where_its_path_is(stack: Stack, execution: str) -> str:
    """Where to look for what a fast execution did."""
    level = stack.parameters.get("ExecutionLog", "ERROR")
    if stack.endpoint_url is not None:
        return "`once up` prints the path of each execution when it ends"
    if level == "OFF":
        return "its log is off (ExecutionLog)"
    name = stack.id.split("/")[1] if stack.id.count("/") > 1 else stack.name  # a stack can be named by its ARN, too
    pattern = quote(f'{{ $.execution_arn = "{execution}" }}')
    command = f"aws logs filter-log-events --log-group-name /aws/vendedlogs/states/{name}-fast --filter-pattern"
    return f"its log has {'errors only' if level == 'ERROR' else 'every state'}: {command} {pattern}"


def no_history(stack: Stack, execution: str) -> str:
    """What there is to say in place of a path."""
    return (
        f"{execution}: it is an execution of the fast lane. Express executions keep no history, so nobody can say "
        "whether one with this ARN existed; "
        f"{where_its_path_is(stack, execution)}; `once show ID` tells what its record says"
    )
