"""What an operator does to one record. Each write holds only for the record as it was read, or raises Changed.

`seen` is how it stood when it was shown to who decides, as `stands` tells: then it is read as no other. A command that
shows nothing has none.
Each is kept with the record: who decided, when, and `because` of what, if that was said.
`retry`, `resolve` and `release` give the lock to an owner that no execution has, under the next fence: an execution of
the old owner that still runs can neither finish the record nor write a fenced step. Of a pending operation nobody is at
work here: they wait for no lease, and ask for no owner. What goes on elsewhere they do not stop.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from oncekit.contract.lanes import FULL
from oncekit.contract.quotas import MOST_INLINE_BYTES
from oncekit.contract.record_form import OPEN
from oncekit.contract.words import RELEASED
from oncekit.problem import Problem
from oncekit.stack import executions, kept
from oncekit.stack.acts import Verb, with_act
from oncekit.stack.records import Changed, Record, hash_of, is_pending, new_operator, read, write
from oncekit.stack.stack import Stack

CLOCK_AHEAD = 300
"""Seconds that this machine's clock may be ahead of AWS's, which refuses what is signed with a greater difference
(docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html)."""
CLOCKS_DIFFER = 3600
"""Seconds: a released record has expired on every clock that is less wrong than that."""
FORGOTTEN = "what was kept of its request was removed; a new request starts afresh"
NO_FINGERPRINT = "0" * 64
"""Of no payload."""
OF_LOCK = ("leaseExpiresAt", "openShard", "request", "requestRef", "pendingSince")
"""Attributes that an open record has, or may have, and no other."""
START_EVERY = 300
"""Seconds in which one execution is started for an owner, by its name."""


def retry(stack: Stack, id: str, because: str | None = None, seen: str | None = None) -> dict[str, Any]:
    """Start a quarantined, pending or overdue operation again with its request, unchanged; steps stay, attempts start
    over. It is the same try: its ticket still ends it.

    With onCrash quarantine the next crash quarantines it again. The start is the sweep's, made at once: if this ends
    between its write and its start, the sweep makes it.
    """
    shown = read(stack, id, *OPEN, seen=seen)
    if shown["status"] == "IN_PROGRESS" and not is_pending(shown):
        if shown["leaseExpiresAt"] >= stack.now():
            raise Changed(f"{id}: not started again: it is in progress, and its lease is not over")
        _owner_has_ended(stack, shown, "not started again")
    request = kept.demand(stack, shown)
    then = _next(stack, shown)
    lock = {
        "status": "IN_PROGRESS",
        "attempts": 0,
        "leaseExpiresAt": 0,
        "openShard": f"IN_PROGRESS#{hash_of(id)[0]}",
    }
    sets = with_act(stack, shown, "retry", _iso(stack.now()), because, {**then, **lock})
    write(stack, shown, sets, ("error", "finishedAt", "pendingSince"))
    about = hash_of(f"{id} {shown['fingerprint']}")[:32]
    name = f"recover-{about}-{then['fence']}-{int(stack.now() // START_EVERY)}"
    client = stack.client("stepfunctions")
    with suppress(client.exceptions.ExecutionAlreadyExists):  # by a sweep
        client.start_execution(stateMachineArn=stack.start_at, name=name, input=request)
    told = {"id": id, "executionArn": stack.execution(name), "fence": then["fence"]}
    return {**told, "wasPending": "pendingSince" in shown}


def may_be_resolved(stack: Stack, id: str, seen: str | None = None) -> Record:
    """The record. Raises Changed when its owner says how it ends."""
    record = read(stack, id, *OPEN, seen=seen)
    if record["status"] != "QUARANTINED" and not is_pending(record):
        raise Changed(f"{id}: it is IN_PROGRESS, and not pending, so its owner says how it ends; nothing was changed")
    return record


def resolve(
    stack: Stack,
    id: str,
    result: str | None,
    failure: str | None,
    because: str | None = None,
    seen: str | None = None,
) -> dict[str, Any]:
    """Say how a quarantined or pending operation ended: with this result (JSON text), or failed with this message.

    Raises Problem for a message, or a reason, that does not fit into the record.
    """
    from once.canonical import size_of  # slow to import, and no other decision needs it

    record = may_be_resolved(stack, id, seen)
    then = _next(stack, record)
    days = stack.number("RetentionDays")
    ended: dict[str, Any] = {"finishedAt": _iso(stack.now()), "expiresAt": int(stack.now()) + days * 86400}
    room = MOST_INLINE_BYTES - size_of(id) - 1024  # as ExecuteBusinessLogic reckons it
    if result is None:
        if (size := size_of(str(failure))) > room:
            raise Problem(
                f"{id}: the message has {size:,} bytes, and the record has room for {room:,}; make it shorter"
            )
        ended |= {"status": "FAILED", "error": {"name": "ResolvedByOperator", "message": failure}}
    elif size_of(result) <= room:
        ended |= {"status": "COMPLETED", "result": result}
    else:
        from once.result_store import ResultStore

        store = ResultStore(stack.bucket, days, stack.client("s3"))
        ended |= {"status": "COMPLETED", "resultRef": store.put(id=id, text=result, **then)}
    sets = with_act(
        stack, record, "fail" if result is None else "resolve", ended["finishedAt"], because, {**then, **ended}
    )
    write(stack, record, sets, OF_LOCK if result is None else (*OF_LOCK, "error", "steps"))
    return {"id": id, "status": ended["status"], "fence": then["fence"], "wasPending": "pendingSince" in record}


def may_be_released(stack: Stack, id: str, seen: str | None = None) -> tuple[Record, str]:
    """The record and its owner's status. Raises Changed when there is no lock, or when its owner may be alive."""
    record = read(stack, id, *OPEN, seen=seen)
    return record, _owner_has_ended(stack, record, "not released")


def _owner_has_ended(stack: Stack, record: Record, not_done: str) -> str:
    """The status of the owner. Raises Changed for one that may be alive, also if only this machine's clock is wrong."""
    status, owner = executions.owner_status(stack, record), record["owner"]
    lane = stack.lane_of(owner)
    over = stack.now() - record["leaseExpiresAt"]  # 0 is a lease that was ended
    refused = f"{record['id']}: {not_done}: its owner is "
    if status == executions.MAY_RUN:
        raise Changed(f"{refused}in the {lane} lane, and may run until its lease is over, in {int(-over) + 1} s")
    if status not in executions.NOT_ALIVE:
        raise Changed(f"{refused}{status}: {owner}; stop that execution first")
    if lane != FULL and status == executions.LEASE_OVER and over <= CLOCK_AHEAD:
        raise Changed(
            f"{refused}in the {lane} lane, and its lease is over for {over:.0f} s, "
            f"only by the clock of this machine perhaps; try again in {CLOCK_AHEAD - over:.0f} s"
        )
    return status


def release(stack: Stack, shown: Record, because: str | None = None) -> dict[str, Any]:
    """Let the record expire now, so that the next request starts afresh. Not deleted: the fence goes on growing."""
    over = stack.now() - CLOCKS_DIFFER
    message, now = "the lock was released; a new request starts afresh", stack.now()
    fence = _end(stack, shown, message, now, over, acts=("release", because))["fence"]
    return {"id": shown["id"], "status": "RELEASED", "fence": fence}


def may_be_forgotten(stack: Stack, record: Record) -> None:
    """Raises Changed for a record whose owner may be alive."""
    if record["status"] in OPEN:
        _owner_has_ended(stack, record, "not forgotten")


def hold(stack: Stack, shown: Record, because: str | None = None) -> Record:
    """Remove what the record has of its request, and keep others from it until `let_go`, for an hour at most.

    Else the objects of a new request could be deleted with those of the old one. Until then a request is told that the
    operation was released: it cannot try again what failed in the future. The fingerprint stays, for another one would
    refuse the request, and keep it.
    """
    later = stack.now() + CLOCKS_DIFFER
    removes = ("result", "resultRef", "steps")
    return _end(stack, shown, FORGOTTEN, later, later, removes, acts=("forget", because))


def let_go(stack: Stack, held: Record) -> int:
    """Let a record that is held expire now, and forget the fingerprint: a short payload can be guessed by it."""
    over = stack.now() - CLOCKS_DIFFER
    return int(_end(stack, held, FORGOTTEN, stack.now(), over, fingerprint=NO_FINGERPRINT)["fence"])


def _end(
    stack: Stack,
    shown: Record,
    message: str,
    at: float,
    expires: float,
    removes: Collection[str] = (),
    acts: tuple[Verb, str | None] | None = None,
    **more: Any,
) -> Record:
    """End a record as released by an operator; what of it the next write needs is returned."""
    then = {**_next(stack, shown), "status": "FAILED"}
    error = {"name": RELEASED, "message": message}
    sets = {**then, "finishedAt": _iso(at), "expiresAt": int(expires), "error": error, **more}
    if acts:
        verb, because = acts
        sets = with_act(stack, shown, verb, _iso(stack.now()), because, sets)
    write(stack, shown, sets, (*OF_LOCK, *removes))
    return {"id": shown["id"], **then}


def _next(stack: Stack, shown: Record) -> dict[str, Any]:
    """An operator as the owner, under the next fence."""
    return {"owner": new_operator(stack), "fence": shown["fence"] + 1}


def _iso(at: float) -> str:
    told = datetime.datetime.fromtimestamp(at, datetime.UTC)
    return told.isoformat(timespec="milliseconds").replace("+00:00", "Z")
