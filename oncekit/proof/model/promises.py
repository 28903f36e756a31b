"""The promises, asked of every write, every start of business logic and every end. P5's ends are in exploration.py."""

from __future__ import annotations

from typing import Any

from oncekit.proof.model.machine import NOW, End
from oncekit.proof.model.record import Record, is_open, number, parsed, text, time_of
from oncekit.proof.model.world import FAST, Execution, Late, World, hash_of

OPEN, CLOSED = ("IN_PROGRESS", "QUARANTINED"), ("COMPLETED", "FAILED")
ANSWER = ("status", "owner", "fence", "result", "resultRef", "error", "fingerprint")
OPERATORS = "operator-"


class Broken(Exception):
    """A promise that was not kept; the message begins with its name."""


def gone(record: Record) -> bool:
    over = time_of(record, "expiresAt")
    return record is None or (over is not None and over < NOW)


def begins_anew(world: World, after: str, late: Late | None) -> bool:
    """Whether a write gave the id a new life.

    Not what was sent before the record expired: the repeat of an owner's last write, another try of a failure.
    """
    before = world.record
    if before is None or not gone(before):
        return before is None
    sent = NOW if late is None else number(parsed(late.call)["ExpressionAttributeValues"], ":now", NOW)
    return (time_of(before, "expiresAt") or 0) < sent and any(
        parsed(before).get(n) != parsed(after).get(n) for n in ANSWER
    )


def key_of(item: dict[str, Any]) -> str:
    """Of the object that keeps a large request."""
    key: str = item["requestRef"]["M"]["key"]["S"]
    return key


def is_tried_again(before: Record, after: str) -> bool:
    return before is not None and text(parsed(before), "status") == "FAILED" and is_open(after)


def lives(world: World, item: dict[str, Any]) -> bool:
    """Whether the owner may still work: it runs, or a function of the fast lane does, it has not released the lock, and
    what goes on is not elsewhere."""
    owner = text(item, "owner")
    execution = world.execution(owner)
    if execution is None or not number(item, "leaseExpiresAt", 1) or "pendingSince" in item:
        return False
    is_at_work = execution.is_running and not execution.is_late
    return is_at_work or (execution.lane == FAST and any(each.owner == owner for each in world.functions))


def written(world: World, writer: Execution, after: str, max_attempts: int, late: Late | None) -> None:
    """An execution wrote the record, perhaps by a call that came late."""
    new = parsed(after)
    _has_its_shape(new, max_attempts)
    if writer.owner == text(new, "owner") != world.holder:
        if late is None and any(name.startswith(f"first-{hash_of(writer.id)}") for name in world.handed):
            raise Broken("P7: a request that was handed over is run here, too")
        if "requestRef" in new and key_of(new) not in dict(world.kept) and not is_open(world.record):
            raise Broken("P5: a lock was taken before the request was kept")
    if begins_anew(world, after, late):
        _is_a_new_life(world, new, writer)
        return
    old = parsed(world.record or "")
    if is_tried_again(world.record, after):
        _is_tried_again(world, old, new, writer, late)
    elif not is_open(world.record):
        if any(old.get(name) != new.get(name) for name in (*ANSWER, "leaseExpiresAt")):
            raise Broken(f"P3: a record that was {text(old, 'status')} has changed before it expired")
    elif _lock(old) != _lock(new):
        _is_next_fence(world, old, new, writer, late)
    elif writer.owner != text(old, "owner"):
        if text(new, "status") != "QUARANTINED":
            raise Broken("P4: somebody wrote to the lock of another owner")
        if lives(world, old):
            raise Broken("P5: a live owner was quarantined by somebody else")
        is_released = not number(old, "leaseExpiresAt") and number(old, "attempts") < max_attempts
        if is_released or OPERATORS in text(old, "owner"):
            raise Broken("P5: a lock that was given back was quarantined before anything was started")
    else:
        _is_the_owners(world, old, new, writer, late)
    if world.record is not None and text(new, "status") != "COMPLETED" and old.get("steps") != new.get("steps"):
        raise Broken("P2: what steps have done was forgotten")


def _lock(item: dict[str, Any]) -> tuple[str, int]:
    return text(item, "owner"), number(item, "fence")


def _has_its_shape(new: dict[str, Any], max_attempts: int) -> None:
    status, kept = text(new, "status"), {"request", "requestRef"} & set(new)
    if status in OPEN:
        if "expiresAt" in new or "leaseExpiresAt" not in new:
            raise Broken(f"P5: an open record ({status}) can expire, or has no lease")
        if not text(new, "openShard").startswith(f"{status}#"):
            raise Broken(f"P5: an open record ({status}) is in the wrong shard: {text(new, 'openShard')}")
        if len(kept) != 1:
            raise Broken(f"P5: an open record ({status}) keeps {len(kept)} requests")
    elif "expiresAt" not in new or {"openShard", "leaseExpiresAt", "pendingSince", *kept} & set(new):
        raise Broken(f"P3: a closed record ({status}) has no end, or looks open")
    if number(new, "attempts") > max_attempts:
        raise Broken("P7: there are more attempts than allowed")


def _is_a_new_life(world: World, new: dict[str, Any], writer: Execution) -> None:
    fence = 0 if world.record is None else number(parsed(world.record), "fence")
    if not text(new, "status") == "IN_PROGRESS" or _lock(new) != (writer.owner, fence + 1):
        raise Broken(f"P1: a free id was not acquired under fence {fence + 1}")
    if writer.is_recovery:
        raise Broken("P5: a recovery took a free lock")
    if left := {"steps", "result", "resultRef", "error", "finishedAt"} & set(new):
        raise Broken(f"P2: a new life of an id begins with {', '.join(sorted(left))} of the last one")


def _is_tried_again(
    world: World, old: dict[str, Any], new: dict[str, Any], writer: Execution, late: Late | None
) -> None:
    """A failure stands until a request that came after it asks for more."""
    if _lock(new) != (writer.owner, number(old, "fence") + 1):
        raise Broken("P1: a failed operation was not acquired under the next fence")
    if text(old, "fingerprint") != text(new, "fingerprint"):
        raise Broken("P6: a failure of another payload was tried again")
    if late is None and (writer.is_recovery or '"onFailed": "retry"' not in writer.given):
        raise Broken("P7: a failure was tried again by somebody who was not asked to")
    if (late or writer).knows != (world.life, number(old, "fence")):
        raise Broken("P7: a failure was tried again that was recorded after the request came")


def _is_next_fence(
    world: World, old: dict[str, Any], new: dict[str, Any], writer: Execution, late: Late | None
) -> None:
    if _lock(new) != (writer.owner, number(old, "fence") + 1) or text(new, "status") != "IN_PROGRESS":
        raise Broken(f"P1: the lock went from fence {number(old, 'fence')} to {number(new, 'fence')}")
    if writer.owner != text(old, "owner"):
        if number(old, "leaseExpiresAt") >= NOW or lives(world, old):
            raise Broken("P1: the lock of a live owner was taken")
    elif not number(old, "leaseExpiresAt"):
        raise Broken("P4: an owner took a lock again that was released")
    elif late is not None and writer.is_running and writer.position != late.position:
        raise Broken("P1: a late call took the lock from its own execution, which is at work under it")
    elif "pendingSince" in old:
        raise Broken("P5: an owner ended the time of work elsewhere")


def _is_the_owners(
    world: World, old: dict[str, Any], new: dict[str, Any], writer: Execution, late: Late | None
) -> None:
    status, fence = text(new, "status"), (late or writer).fence
    if status in CLOSED and fence != number(old, "fence"):
        raise Broken("P4: an owner whose lock was lost has ended the operation")
    if status == "COMPLETED" and world.ledger != 1:
        raise Broken(f"P2: an operation was completed with {world.ledger} effects")
    if status == "QUARANTINED" and text(new["error"]["M"], "name") == "LockLostError":
        raise Broken("P5: an operator is asked about a lock that was not lost")
    if status == "IN_PROGRESS" and not number(old, "leaseExpiresAt") and number(new, "leaseExpiresAt"):
        raise Broken("P4: an owner took a lock again that was released")
    if status == "IN_PROGRESS" and "pendingSince" in old and "pendingSince" not in new:
        raise Broken("P5: an owner ended the time of work elsewhere")
    if "pendingSince" in new and "pendingSince" not in old and fence != number(old, "fence"):
        raise Broken("P4: an owner whose lock was lost said that work goes on elsewhere")


def started(world: World, execution: Execution, fence: int, fingerprint: str) -> None:
    """The execution starts business logic under `fence`, for the payload that has this fingerprint."""
    if (execution.fence, execution.began_in) == (fence, execution.of_try):
        raise Broken(f"P2: business logic was started twice under fence {fence}")
    if execution.outrun:
        return
    if world.released and (execution.saw or execution.is_recovery):
        raise Broken("P5: business logic was started after an operator had released the lock")
    if not is_open(world.record) or _lock(parsed(world.record or "")) != (execution.owner, fence):
        raise Broken("P1: business logic was started without the lock")
    item = parsed(world.record or "")
    if text(item, "fingerprint") != fingerprint:
        raise Broken("P6: business logic was started with another payload than its record has")
    if "pendingSince" in item:
        raise Broken("P5: business logic was started, and its record says that it goes on elsewhere")
    if text(item, "onCrash") == "quarantine" and world.begun:
        raise Broken("P2: business logic that must not run again was started again")


def effected(before: World, after: World, owner: str, fence: int) -> None:
    """A function of this lock has done its step, or found it done."""
    if after.ledger > 1:
        raise Broken(f"P2: {after.ledger} effects")
    changed = (after.record, after.ledger) != (before.record, before.ledger)
    if changed and not (is_open(before.record) and _lock(parsed(before.record or "")) == (owner, fence)):
        raise Broken("P4: a step of an owner whose lock was lost took effect")


def told(world: World, after: Record, of_try: int, what: str) -> None:
    """A ticket of a try was given to the library, which has left the record so."""
    before = world.record
    old: dict[str, Any] = {} if before is None else parsed(before)
    status = text(old, "status") if old and of_try == world.tries else ""
    if after == before:
        if status in OPEN and not what.startswith("extend"):
            raise Broken(f"P5: work elsewhere has ended, and its operation has not, which is {status}")
        return
    new = parsed(after or "")
    if status not in OPEN:
        raise Broken("P3: work elsewhere has changed what it did not belong to, or what had ended")
    if what.startswith("extend"):
        if status != "IN_PROGRESS" or not 0 < number(old, "leaseExpiresAt") < number(new, "leaseExpiresAt"):
            raise Broken("P1: work elsewhere has revived a lock, or made its lease shorter")
        return
    _has_its_shape(new, number(new, "attempts"))
    if number(new, "fence") != number(old, "fence") + 1 or text(new, "owner") == text(old, "owner"):
        raise Broken("P4: work elsewhere has ended an operation, and left its owner the lock")
    if text(new, "status") == "FAILED" and old.get("steps") != new.get("steps"):
        raise Broken("P2: what steps have done was forgotten")


def refused(world: World, execution: Execution, fingerprint: str) -> None:
    """A request is about to be refused because of another payload."""
    if execution.is_recovery or execution.fence:
        raise Broken("P5: a request that was accepted is refused afterwards")
    if world.record is None or text(parsed(world.record), "fingerprint") == fingerprint:
        raise Broken("P6: a request was refused as another's, and is not")


def ended(world: World, execution: Execution, end: End, fingerprint: str) -> None:
    """An execution is about to end, after a call made at its position; the world is as that call left it."""
    item: dict[str, Any] = {} if gone(world.record) else parsed(world.record or "")
    status = text(item, "status") if item else "GONE"
    kept = execution.position == "RefuseRequest" or "http" in execution.given or world.handed
    if end.state == "RequestRefused" and not kept:
        raise Broken("P5: a request was refused and kept nowhere")
    wanted = {"NeedsAttention": "QUARANTINED", "OperationFailed": "FAILED", "ReturnStoredResponse": "COMPLETED"}
    if status != wanted.get(end.state, "COMPLETED" if end.state == "Finalize" else status):
        raise Broken(f"P3: an execution ends with {end.state}, and the record is {status}")
    if end.state not in ("Finalize", *wanted):
        return
    if text(item, "fingerprint") != fingerprint:
        raise Broken("P6: another request's answer was given")
    if end.state in ("Finalize", "ReturnStoredResponse"):
        stored = text(item, "result") if "result" in item else item["resultRef"]["M"]["sha256"]["S"]
        given = end.output["result"] if "result" in end.output else end.output["resultRef"]["sha256"]
        if not given == stored == world.answer:
            raise Broken("P3: an answer is not the one that was given before, or is stored")
