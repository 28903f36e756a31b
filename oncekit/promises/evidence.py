"""All that the promises are held against: what happened, from a journal, and what is left in the cloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oncekit.local import Execution, LocalCloud
from oncekit.local.http_request import received
from oncekit.promises.journal import Item, Journal, Refusal, Start, Write, rows_of
from oncekit.promises.owners import is_of_a_lane

ObjectOf = Callable[[Mapping[str, Any]], bytes | None]
"""The object that a reference, {bucket, key}, names; None if it is not there."""


@dataclass(frozen=True)
class Evidence:
    """Plain values, but for the objects, which are read when a rule asks for one."""

    writes: Sequence[Write]
    starts: Sequence[Start]
    refusals: Sequence[Refusal]
    executions: Sequence[Execution]
    records: Mapping[str, Item]
    """Those that are left, by id."""
    rejected: Sequence[Mapping[str, Any]]
    """The messages in the queue of rejected requests."""
    object_of: ObjectOf
    inline_limit: int
    """Bytes of a finished record with its answer in it, at most."""


def evidence_of(journal: Journal) -> Evidence:
    cloud = journal.cloud
    return Evidence(
        journal.writes,
        journal.starts,
        journal.refusals,
        executions_of(cloud),
        all_records(cloud),
        cloud.rejected(),
        lambda ref: _object(cloud, ref),
        int(cloud.parameters["InlineLimitBytes"]),
    )


def all_records(cloud: LocalCloud) -> dict[str, Item]:
    """Every record by its id."""
    return {item["id"]: item for item in rows_of(cloud, "IdempotencyTable")}


def executions_of(cloud: LocalCloud) -> list[Execution]:
    """Every execution of an operation, in both lanes, with the request that it got."""
    from oncekit.local.execution import execution_of

    lanes = [machine for machine in cloud.executions.machines if is_of_a_lane(cloud, machine.name)]
    executions = [execution_of(each) for machine in lanes for each in machine.executions]
    return [replace(each, input=received(each.input)) for each in executions]


def _object(cloud: LocalCloud, ref: Mapping[str, Any]) -> bytes | None:
    from botocore.exceptions import ClientError

    try:
        body: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    except ClientError:
        return None
    return body
