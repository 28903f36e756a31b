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
from typing import Any

from oncekit.local import Execution
from oncekit.promises import reasons
from oncekit.promises.evidence import Evidence, evidence_of
from oncekit.promises.faults import Fault
from oncekit.promises.journal import Item, Journal, Start, Write
from oncekit.promises.openings import openings, request_of, retry_faults
from oncekit.promises.owners import execution_of_owner, is_fast, name_of_second, name_without_lock
from oncekit.promises.writes import write_faults

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
    """P3, P6 and P7: each request gets the bytes that were kept for its payload; duplicates keep nothing.

    That what was kept does not change while it is kept, the rules of single writes say.
    """
    payloads = {execution.arn: request_of(execution.input).get("payload") for execution in executions}
    answers: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for write in writes:
        if write.new is not None and write.new["status"] == "COMPLETED":
            payload = payloads.get(execution_of_owner(write.new["owner"]))
            answers[write.id, _answer(write.new)].append(payload)
    for execution in executions:
        if not isinstance(execution.output, dict):
            continue
        id, disposition = str(execution.output.get("id")), execution.output.get("disposition")
        if disposition in ("EXECUTED", "REPLAYED"):
            answer = _answer(execution.output)
            if not (of := answers[id, answer]):
                yield Fault("P3", "broken", f"{id}: {execution.name} got {answer:.80}")
            elif None not in of and payloads[execution.arn] not in of:
                yield Fault("P6", "broken", f"{id}: {execution.name} got the answer to another payload")
        took_part = {"TakeOverLock", "RedriveOwner", "ExecuteBusinessLogic"} & set(execution.states)
        if disposition == "REPLAYED" and not took_part and set(execution.states) & {"CacheResponse", "KeepRequest"}:
            yield Fault("P7", "broken", f"{id}: a duplicate came through {execution.states}")


def _answer(holder: Mapping[str, Any]) -> str:
    """The result of a record or of an output, as text."""
    return str(holder["result"]) if "result" in holder else _json(holder.get("resultRef"))


def _json(value: Any) -> str:
    return json.dumps(value, default=int, sort_keys=True)


# ---- what is left ----


def record_faults(evidence: Evidence, record: Item) -> Iterator[Fault]:
    """A record at the end: what it refers to is there, whole, and what it holds is small."""
    if "resultRef" in record:
        ref = record["resultRef"]
        body = evidence.object_of(ref)
        if body is None or (hashlib.sha256(body).hexdigest(), len(body)) != (ref["sha256"], ref["bytes"]):
            yield Fault("P3", "lost", f"{record['id']}: its result is not what its reference says")
    if "requestRef" in record:
        body = evidence.object_of(record["requestRef"])
        if not body:
            yield Fault("P5", "lost", f"{record['id']}: quarantined without its request")
        else:
            yield from _request_faults(evidence, record, body)
    if "result" in record:
        steps = len(_json(record.get("steps", {})))
        size = sum(len(str(value).encode()) for value in record.values()) - steps
        if size > evidence.inline_limit:
            yield Fault("P7", "broken", f"{record['id']}: {size} bytes, over the inline limit")


def in_flight_faults(evidence: Evidence) -> Iterator[Fault]:
    """P5: with the lock of an owner in the fast lane its request is kept, exactly; nobody can ask it later."""
    inputs = {execution.arn: execution.input for execution in evidence.executions}
    for write in evidence.writes:
        new = write.new or {}
        if new.get("status") != "IN_PROGRESS" or not is_fast(new["owner"]):
            continue
        body = new.get("request") or ("requestRef" in new and evidence.object_of(new["requestRef"]))
        given = inputs.get(execution_of_owner(new["owner"]))
        if not body or (given is not None and json.loads(body) != given):
            yield Fault("P5", "lost", f"{write.id}: its owner in the fast lane has not kept its request")


def _request_faults(evidence: Evidence, record: Item, body: bytes) -> Iterator[Fault]:
    """It is, exactly, what an execution of the id got, and its payload is the owner's."""
    inputs = {execution.arn: execution.input for execution in evidence.executions}
    kept, owner = json.loads(body), execution_of_owner(record["owner"])
    if owner not in inputs:
        return  # its history is gone
    payload = request_of(inputs[owner]).get("payload")
    if kept not in inputs.values() or request_of(kept).get("payload") != payload:
        yield Fault("P5", "lost", f"{record['id']}: the request that was kept is not its owner's")


def end_faults(
    executions: Sequence[Execution], records: Mapping[str, Item], rejected: Sequence[Mapping[str, Any]]
) -> Iterator[Fault]:
    """P5, once recovery has had its time: each request has come to an end, or is kept where an operator finds it."""
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
        refused = execution.error in REFUSALS
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
    return faults_in(evidence_of(journal), at_rest=at_rest)


def faults_in(evidence: Evidence, *, at_rest: bool = True) -> list[Fault]:
    """The same, of what was seen."""
    writes, starts, executions = evidence.writes, evidence.starts, evidence.executions
    ended = [each for execution in executions for each in reasons.ends_of(execution)]
    found = [fault for write in writes for fault in write_faults(write)]
    found += start_faults(starts, executions, writes)
    found += reasons.decision_faults(starts, ended, openings(writes))
    found += retry_faults(writes, executions)
    found += answer_faults(executions, writes)
    found += in_flight_faults(evidence)
    for record in evidence.records.values():
        found += record_faults(evidence, record)
    if at_rest:
        # Elsewhere the machine may hear refusals that never happened.
        found += reasons.quarantine_faults(writes, executions, ended, evidence.refusals)
        found += end_faults(executions, evidence.records, evidence.rejected)
    return found
