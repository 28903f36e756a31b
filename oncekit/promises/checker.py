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

from oncekit.contract.lanes import is_direct
from oncekit.contract.quotas import MOST_INLINE_BYTES
from oncekit.local import Execution
from oncekit.promises.evidence import Evidence, evidence_of
from oncekit.promises.journal import Fault, Item, Journal, Start, Write, unseen_faults
from oncekit.promises.openings import began_at, is_forgotten, is_new_lock, opening_faults, openings, request_of
from oncekit.promises.owners import execution_of_owner, handed_over, handed_over_by, is_full
from oncekit.promises.reasons import DECISIONS, DIED, Ended, ends_of, quarantine_faults
from oncekit.promises.writes import write_faults

REFUSALS = ("InvalidRequest", "PayloadMismatch")
UNAVAILABLE = "Unavailable"
"""Not in the full lane, which never refuses for a cause that passes."""


# ---- starts of business logic ----


def start_faults(starts: Sequence[Start], ended: Sequence[Ended], writes: Sequence[Write]) -> Iterator[Fault]:
    """P2: not after it decided, unless it began anew; not twice under a fence, nor where onCrash is quarantine."""
    opened = openings(writes)

    def life_of(each: Start | Ended) -> tuple[str, int]:
        return each.id, bisect_right(opened[each.id], each.fence)

    by_life: dict[tuple[str, int], list[Start]] = defaultdict(list)
    for start in starts:
        by_life[life_of(start)].append(start)
    careful = {write.id for write in writes if write.new and write.new["onCrash"] == "quarantine"}
    for (id, _), all_starts in by_life.items():
        for fence, count in Counter(start.fence for start in all_starts).items():
            if count > 1:
                yield Fault("P2", "twice", f"{id}: started {count} times under fence {fence}")
        if id in careful and len(all_starts) > 1:
            yield Fault("P2", "twice", f"{id}: started {len(all_starts)} times though onCrash is quarantine")
    for each in ended:
        decided = each.error in DECISIONS and not each.is_unknown
        if decided and any(start.fence > each.fence for start in by_life[life_of(each)]):
            told = f"its {each.error}" if each.error else "it succeeded"
            yield Fault("P2", "twice", f"{each.id}: started again after {told} under fence {each.fence}")


# ---- answers ----


def answer_faults(executions: Sequence[Execution], writes: Sequence[Write]) -> Iterator[Fault]:
    """P3, P6 and P7: each request gets the bytes that were kept for its payload; duplicates keep nothing.

    That what was kept does not change while it is kept, the rules of single writes say. A duplicate that came before
    there was an answer may have kept its request, because it found no lock.
    """
    payloads = {execution.arn: request_of(execution.input).get("payload") for execution in executions}
    answers: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    """When each was kept, and for which execution."""
    for write in writes:
        if write.new is not None and write.new["status"] == "COMPLETED":
            answers[write.id, _answer(write.new)].append((write.at, execution_of_owner(write.new["owner"])))
    for execution in executions:
        if not isinstance(execution.output, dict):
            continue
        id, disposition = str(execution.output.get("id")), execution.output.get("disposition")
        if disposition not in ("EXECUTED", "REPLAYED"):
            continue
        answer = _answer(execution.output)
        given = answers[id, answer]
        of = [payloads.get(owner) for _, owner in given]
        if not given:
            yield Fault("P3", "broken", f"{id}: {execution.name} got {answer:.80}")
        elif None not in of and payloads[execution.arn] not in of:
            yield Fault("P6", "broken", f"{id}: {execution.name} got the answer to another payload")
        states = set(execution.states)
        if states & {"TakeNextFence", "ExecuteBusinessLogic"}:
            continue
        is_kept = "KeepRequest" in states and any(at < began_at(execution) for at, _ in given)
        if is_kept or "CacheResponse" in states:
            yield Fault("P7", "broken", f"{id}: a duplicate came through {execution.states}")


def _answer(holder: Mapping[str, Any]) -> str:
    """The result of a record or of an output, as text."""
    return str(holder["result"]) if "result" in holder else _json(holder.get("resultRef"))


def _json(value: Any) -> str:
    return json.dumps(value, default=int, sort_keys=True)


# ---- what is kept ----


def record_faults(evidence: Evidence, record: Item) -> Iterator[Fault]:
    """A record at the end: the answer that it refers to is there, whole, and what it holds is small."""
    if "resultRef" in record:
        ref = record["resultRef"]
        body = evidence.object_of(ref)
        if body is None or (hashlib.sha256(body).hexdigest(), len(body)) != (ref["sha256"], ref["bytes"]):
            yield Fault("P3", "lost", f"{record['id']}: its result is not what its reference says")
    size = sum(len(str(value).encode()) for name, value in record.items() if name != "steps")
    if size > MOST_INLINE_BYTES:
        yield Fault("P7", "broken", f"{record['id']}: {size} bytes, over the inline limit")


def _numbers(text: str | bytes) -> Any:
    """JSON with every number as a double, as the machines read it: an exponent may become a row of digits."""
    return json.loads(text, parse_int=float)


def kept_faults(evidence: Evidence) -> Iterator[Fault]:
    """P5: with its lock a request is kept, exactly, for recovery needs nobody's execution; until it is forgotten."""
    inputs = {execution.arn: execution.input for execution in evidence.executions}
    forgotten = {write.id: number for number, write in enumerate(evidence.writes) if is_forgotten(write)}
    for number, write in enumerate(evidence.writes):
        new = write.new or {}
        given = inputs.get(execution_of_owner(new.get("owner", "")))
        if not is_new_lock(write) or given is None or number < forgotten.get(write.id, 0):
            continue
        request = {"tenant": "default", **request_of(given)}
        if _kept(evidence, new) != _numbers(_json({name: request.get(name) for name in KEPT_OF_A_REQUEST})):
            yield Fault("P5", "lost", f"{write.id}: its owner has not kept its request")


def _kept(evidence: Evidence, record: Item) -> Any:
    """The request that an open record keeps."""
    ref = record.get("requestRef")
    return _numbers(record.get("request") or (ref and evidence.object_of(ref)) or "null")


KEPT_OF_A_REQUEST = ("operation", "tenant", "idempotencyKey", "payload")
"""What it asks besides is in the record, or is nobody's but the sender's."""


def end_faults(evidence: Evidence) -> Iterator[Fault]:
    """P5, once recovery has had its time: each request has come to an end, or is kept where an operator finds it.

    Nor is a refused request of an id that an operator has forgotten: it is deleted with the rest.

    Not that of an execution which somebody stopped before it had a lock: that person has it, and AWS rings and keeps
    the input; nor of one that AWS ended so, by the machine's time limit or at the first look at its input.
    """
    kept = {each["executionArn"]: each for each in evidence.rejected}
    forgotten = {write.id for write in evidence.writes if is_forgotten(write)}
    begun = {found[0] for execution in evidence.executions if (found := handed_over(execution.name))}
    inputs = {execution.arn: execution.input for execution in evidence.executions}
    payloads: dict[str, list[Any]] = defaultdict(list)
    for write in evidence.writes:
        owner = execution_of_owner(write.new["owner"]) if write.new else ""
        if owner in inputs:
            payloads[write.id].append(request_of(inputs[owner]).get("payload"))
        elif is_direct(owner):  # nobody tells what it was asked for, but its lock does
            assert write.new is not None
            payloads[write.id].append(request_of(_kept(evidence, write.new)).get("payload"))
    for record in evidence.records.values():
        # Work elsewhere may go on until then.
        waits = "pendingSince" in record and record["leaseExpiresAt"] >= evidence.now
        if record["status"] == "IN_PROGRESS" and not waits:
            yield Fault("P5", "stuck", f"{record['id']} is in progress for {record['owner']}")
    for execution in evidence.executions:
        if execution.status == "RUNNING":
            yield Fault("P5", "stuck", f"{execution.name} runs in {execution.states[-1:]}")
            continue
        if _is_ended_by_others(execution):
            continue  # of a lock that it had, its record tells
        if handed_over_by(execution.arn) in begun:
            continue  # that one has the request, and is looked at itself
        if execution.error in REFUSALS or (execution.error == UNAVAILABLE and not is_full(execution.arn)):
            refused = kept.get(execution.arn, {})
            is_there = "inputOmitted" in refused or refused.get("input") == execution.input
            is_deleted = id_of(execution.input) in forgotten
            is_lost = not is_there and not is_deleted and execution.arn not in evidence.by_http
        else:
            is_lost = request_of(execution.input).get("payload") not in payloads[id_of(execution.input)]
        if is_lost:
            yield Fault("P5", "lost", f"{execution.name} ended as {execution.status} {execution.error}, left nothing")


def _is_ended_by_others(execution: Execution) -> bool:
    service, _, _ = str(execution.error).partition(".")
    is_unreadable = service == "States" and execution.states == ("ReceiveRequest",)
    return execution.status in DIED or is_unreadable


def refusal_faults(executions: Sequence[Execution], starts: Sequence[Start]) -> Iterator[Fault]:
    """P5: a request of the direct lane is its sender's until business logic begins, and Once's from then on."""
    begun = {execution_of_owner(start.owner) for start in starts}
    for execution in executions:
        if is_direct(execution.arn) and execution.status == "FAILED" and execution.arn in begun:
            yield Fault("P5", "broken", f"{execution.arn} raised {execution.error} after business logic had begun")


def id_of(given: Any) -> str:
    """The id of the request that an execution was given."""
    request = request_of(json.loads(given) if isinstance(given, str) else given)
    return f"{request.get('tenant', 'default')}#{request.get('operation')}#{request.get('idempotencyKey')}"


# ---- all of it ----


def faults(journal: Journal, *, at_rest: bool = True) -> list[Fault]:
    """Every broken promise; `at_rest` says that recovery has had its time, so that everything must have ended."""
    evidence = evidence_of(journal)
    return [*unseen_faults(journal, evidence.records), *faults_in(evidence, at_rest=at_rest)]


def faults_in(evidence: Evidence, *, at_rest: bool = True) -> list[Fault]:
    """The same, of what was seen."""
    writes, starts, executions = evidence.writes, evidence.starts, evidence.executions
    ended = [each for execution in executions for each in ends_of(execution)]
    found = [fault for write in writes for fault in write_faults(write)]
    found += start_faults(starts, ended, writes)
    found += opening_faults(writes, executions)
    found += answer_faults(executions, writes)
    found += kept_faults(evidence)
    found += quarantine_faults(writes, ended)
    found += refusal_faults(executions, starts)
    for record in evidence.records.values():
        found += record_faults(evidence, record)
    if at_rest:
        found += end_faults(evidence)
    return found
