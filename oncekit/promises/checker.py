"""The one checker of the promises P1 to P7: on what is left at the end, and on every write on the way.

Here are the rules that need the executions and the starts of business logic, too; those of records and writes are in
writes.py, of new lives in openings.py, of what business logic decided in reasons.py. Each rule yields its faults.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oncekit.local import Execution, LocalCloud
from oncekit.local.http_request import received
from oncekit.promises import reasons
from oncekit.promises.faults import Fault
from oncekit.promises.journal import Item, Journal, Start, Write, rows_of
from oncekit.promises.openings import openings, request_of, retry_faults
from oncekit.promises.owners import execution_of_owner, is_fast, is_of_a_lane, name_of_second, name_without_lock
from oncekit.promises.writes import history_faults, shape_faults

REFUSALS = ("InvalidRequest", "PayloadMismatch", "Unavailable")


# ---- starts of business logic ----


def start_faults(starts: Sequence[Start], executions: Sequence[Execution], writes: Sequence[Write]) -> Iterator[Fault]:
    """P2: not after it succeeded, not twice under a fence, not again where onCrash is quarantine."""
    by_life: dict[tuple[str, int], list[Start]] = defaultdict(list)
    opened = openings(writes)
    for start in starts:
        by_life[start.id, bisect_right(opened[start.id], start.fence)].append(start)
    ended = {each for execution in executions for each in reasons.ends_of(execution)}
    successes = {(each.id, each.fence) for each in ended if not each.error and not each.is_unknown}
    careful = {write.id for write in writes if write.new and write.new["onCrash"] == "quarantine"}
    for (id, life), all_starts in by_life.items():
        for fence, count in Counter(start.fence for start in all_starts).items():
            if count > 1:
                yield Fault("P2", "twice", f"{id}: started {count} times under fence {fence}")
        if id in careful and len(all_starts) > 1:
            yield Fault("P2", "twice", f"{id}: started {len(all_starts)} times though onCrash is quarantine")
        for known, fence in successes:
            same_life = known == id and bisect_right(opened[id], fence) == life
            if same_life and any(start.fence > fence for start in all_starts):
                yield Fault("P2", "twice", f"{id}: started again after it succeeded under fence {fence}")


# ---- answers ----


def answer_faults(executions: Sequence[Execution], writes: Sequence[Write]) -> Iterator[Fault]:
    """P3 and P7: the bytes that were kept, for every request of an id, and duplicates that start nothing.

    That what was kept does not change while it is kept, the rules of single writes say.
    """
    answers: dict[str, list[str]] = defaultdict(list)
    for write in writes:
        if write.new is not None and write.new["status"] == "COMPLETED":
            answers[write.id].append(_answer(write.new))
    for execution in executions:
        if execution.status != "SUCCEEDED" or not isinstance(execution.output, dict):
            continue
        id, disposition = str(execution.output.get("id")), execution.output.get("disposition")
        if disposition in ("EXECUTED", "REPLAYED") and _answer(execution.output) not in answers[id]:
            yield Fault("P3", "broken", f"{id}: {execution.name} got {_answer(execution.output):.80}")
        took_part = {"TakeOverLock", "RetryFailed", "RedriveOwner", "ExecuteBusinessLogic"} & set(execution.states)
        if disposition == "REPLAYED" and not took_part and set(execution.states) & {"CacheResponse", "KeepRequest"}:
            yield Fault("P7", "broken", f"{id}: a duplicate came through {execution.states}")


def _answer(holder: Mapping[str, Any]) -> str:
    """The result of a record or of an output, as text."""
    return str(holder["result"]) if "result" in holder else _json(holder.get("resultRef"))


def _json(value: Any) -> str:
    return json.dumps(value, default=int, sort_keys=True)


# ---- what is left ----


def record_faults(cloud: LocalCloud, record: Item) -> Iterator[Fault]:
    """A record at the end: its shape, and that what it refers to is there, whole."""
    yield from shape_faults(record)
    if "resultRef" in record:
        ref = record["resultRef"]
        body = _object(cloud, ref)
        if body is None or (hashlib.sha256(body).hexdigest(), len(body)) != (ref["sha256"], ref["bytes"]):
            yield Fault("P3", "lost", f"{record['id']}: its result is not what its reference says")
    if "requestRef" in record:
        body = _object(cloud, record["requestRef"])
        if not body:
            yield Fault("P5", "lost", f"{record['id']}: quarantined without its request")
        else:
            yield from _request_faults(cloud, record, body)
    if record["status"] == "COMPLETED" and "result" in record:
        limit = int(cloud.parameters["InlineLimitBytes"])
        steps = len(_json(record.get("steps", {})))
        if (size := sum(len(str(value).encode()) for value in record.values()) - steps) > limit:
            yield Fault("P7", "broken", f"{record['id']}: {size} bytes, over the inline limit")


def in_flight_faults(cloud: LocalCloud, executions: Sequence[Execution], writes: Sequence[Write]) -> Iterator[Fault]:
    """P5: with the lock of an owner in the fast lane its request is kept, exactly; nobody can ask it later."""
    inputs = {execution.arn: execution.input for execution in executions}
    for write in writes:
        new, old = write.new or {}, write.old or {}
        of_a_lock = ("status", "owner", "request", "requestRef")
        if new.get("status") != "IN_PROGRESS" or not is_fast(new["owner"]):
            continue
        if all(old.get(name) == new.get(name) for name in of_a_lock):
            continue
        body = new["request"] if "request" in new else _object(cloud, new.get("requestRef", {}))
        given = inputs.get(execution_of_owner(new["owner"]))
        if not body or (given is not None and json.loads(body) != given):
            yield Fault("P5", "lost", f"{write.id}: its owner in the fast lane has not kept its request")


def _request_faults(cloud: LocalCloud, record: Item, body: bytes) -> Iterator[Fault]:
    """It is, exactly, what an execution of the id got, and its payload is the owner's."""
    inputs = {execution.arn: execution.input for execution in executions_of(cloud)}
    kept, owner = json.loads(body), execution_of_owner(record["owner"])
    if owner not in inputs:
        return  # its history is gone
    payload = request_of(inputs[owner]).get("payload")
    if kept not in inputs.values() or request_of(kept).get("payload") != payload:
        yield Fault("P5", "lost", f"{record['id']}: the request that was kept is not its owner's")


def _object(cloud: LocalCloud, ref: Mapping[str, Any]) -> bytes | None:
    from botocore.exceptions import ClientError

    if not ref:
        return None
    try:
        body: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    except ClientError:
        return None
    return body


def all_records(cloud: LocalCloud) -> dict[str, Item]:
    """Every record by its id."""
    return {item["id"]: item for item in rows_of(cloud, "IdempotencyTable")}


def executions_of(cloud: LocalCloud) -> list[Execution]:
    """Every execution of an operation, in both lanes, with the request that it got."""
    from oncekit.local.execution import execution_of

    lanes = [machine for machine in cloud.executions.machines if is_of_a_lane(cloud, machine.name)]
    executions = [execution_of(each) for machine in lanes for each in machine.executions]
    return [replace(each, input=received(each.input)) for each in executions]


def end_faults(cloud: LocalCloud, executions: Sequence[Execution], records: Mapping[str, Item]) -> Iterator[Fault]:
    """P5, once recovery has had its time: each request has come to an end, or is kept where an operator finds it."""
    rejected = cloud.rejected()
    kept = {_canonical(_kept_in(each)) for each in rejected}
    kept_by = {each["executionArn"] for each in rejected}
    named = {each["executionArn"] for each in rejected if "inputOmitted" in each}
    inputs = {execution.arn: execution.input for execution in executions}
    names = {execution.name for execution in executions}
    for record in records.values():
        if record["status"] == "IN_PROGRESS":
            yield Fault("P5", "stuck", f"{record['id']} is in progress for {record['owner']}")
    for execution in executions:
        if execution.status == "RUNNING":
            yield Fault("P5", "stuck", f"{execution.name} runs in {execution.states[-1:]}")
            continue
        if is_fast(execution.arn) and (name_without_lock(execution.arn) in names or execution.status in reasons.DIED):
            # That one in the full lane has the request. One that died without a lock was not accepted: it had told
            # nobody, and nothing before the lock takes as long as AWS lets it live.
            continue
        if name_of_second(execution.arn) in names:
            continue  # that one has the request, and is looked at itself
        refused = execution.status == "FAILED" and execution.error in REFUSALS
        if refused and execution.arn in kept_by:
            continue
        record = records.get(id_of(execution.input), {})
        owners = inputs.get(execution_of_owner(record.get("owner", "")), execution.input)
        in_record = bool(record) and request_of(owners).get("payload") == request_of(execution.input).get("payload")
        is_kept = _canonical(execution.input) in kept or execution.arn in named
        if refused or not (in_record or is_kept):
            yield Fault("P5", "lost", f"{execution.name} ended as {execution.status} {execution.error}, left nothing")


def _kept_in(message: Mapping[str, Any]) -> Any:
    """The request in a message of the rejected-requests queue; a message without it names the execution that has it."""
    return json.loads(message["inputText"]) if "inputText" in message else message.get("input")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def id_of(given: Any) -> str:
    """The id of the request that an execution was given."""
    request = request_of(json.loads(given) if isinstance(given, str) else given)
    return f"{request.get('tenant', 'default')}#{request.get('operation')}#{request.get('idempotencyKey')}"


# ---- all of it ----


def faults(journal: Journal, *, at_rest: bool = True) -> list[Fault]:
    """Every broken promise; `at_rest` says that recovery has had its time, so that everything must have ended."""
    cloud = journal.cloud
    records, executions = all_records(cloud), executions_of(cloud)
    found = [*history_faults(journal.writes), *start_faults(journal.starts, executions, journal.writes)]
    ended = [each for execution in executions for each in reasons.ends_of(execution)]
    found += reasons.decision_faults(journal.starts, ended, openings(journal.writes))
    found += retry_faults(journal.writes, executions)
    found += answer_faults(executions, journal.writes)
    found += in_flight_faults(cloud, executions, journal.writes)
    for record in records.values():
        found += record_faults(cloud, record)
    if at_rest:
        # Elsewhere the machine may hear refusals that never happened.
        found += reasons.quarantine_faults(journal.writes, executions, ended, journal.refusals)
        found += end_faults(cloud, executions, records)
    return found
