"""All that the promises are held against: what happened, from a journal, and what is left in the cloud."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oncekit.contract.http_request import received
from oncekit.contract.lanes import MACHINES
from oncekit.local import Execution, LocalCloud
from oncekit.promises.journal import Item, Journal, Start, Write, all_records


@dataclass(frozen=True)
class Evidence:
    """Plain values, but for the objects, which are read when a rule asks for one."""

    writes: Sequence[Write]
    starts: Sequence[Start]
    executions: Sequence[Execution]
    """Each with its request as its input; calls in the direct lane are among them: see `Journal.invoked`."""
    by_http: Collection[str]
    """ARNs of the executions whose senders hear by HTTP what came of them, as those in the direct lane always do."""
    records: Mapping[str, Item]
    """Those that are left, by id."""
    rejected: Sequence[Mapping[str, Any]]
    """What is kept of refused requests."""
    object_of: Callable[[Mapping[str, Any]], bytes | None]
    """The object that a reference, {bucket, key}, names; None if it is not there."""
    now: float
    """When all this is looked at."""


def evidence_of(journal: Journal) -> Evidence:
    cloud = journal.cloud
    executions = executions_of(cloud)
    return Evidence(
        journal.writes,
        journal.starts,
        [*(replace(each, input=received(each.input)) for each in executions), *journal.invoked],
        {*by_http(executions), *(each.arn for each in journal.invoked)},
        all_records(cloud),
        cloud.rejected(),
        lambda ref: _object(cloud, ref),
        cloud.clock.now(),
    )


def by_http(executions: Sequence[Execution]) -> set[str]:
    """ARNs of those that the HTTP API started: their input is http alone, with nothing that a key brought along."""
    return {each.arn for each in executions if isinstance(each.input, dict) and set(each.input) == {"http"}}


def executions_of(cloud: LocalCloud) -> list[Execution]:
    """Every execution of an operation, in both lanes."""
    from oncekit.local.execution import execution_of

    lanes = {cloud.once.outputs.get(output) for output in MACHINES.values()}
    machines = (machine for machine in cloud.executions.machines if machine.arn in lanes)
    return [execution_of(each) for machine in machines for each in machine.executions]


def _object(cloud: LocalCloud, ref: Mapping[str, Any]) -> bytes | None:
    from botocore.exceptions import ClientError

    try:
        body: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    except ClientError:
        return None
    return body
