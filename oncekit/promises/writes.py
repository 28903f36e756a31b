"""The rules of single records and writes: what a record is like in each status, and what no change of one may be.

They need nothing but the writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from once.step import CLOSINGS

from oncekit.contract.lanes import DIRECT, Invoked, is_direct
from oncekit.promises.journal import Actor, Fault, Item, Write
from oncekit.promises.openings import OPEN, is_expired, is_forgotten, is_new_lock, is_tried_again
from oncekit.promises.owners import TICKET, has_nonce, is_fast

ALWAYS = {"id", "status", "fingerprint", "owner", "fence", "attempts", "onCrash", "acquiredAt"}
SOMETIMES = {"steps", "decisions"}
KEPT = {"request", "requestRef"}
BY_STATUS = {
    "IN_PROGRESS": (ALWAYS | {"leaseExpiresAt", "openShard"}, KEPT | {"error", "pendingSince"}),
    "QUARANTINED": (ALWAYS | {"leaseExpiresAt", "openShard", "error", "finishedAt"}, KEPT | {"pendingSince"}),
    "COMPLETED": (ALWAYS | {"finishedAt", "expiresAt"}, {"result", "resultRef"}),
    "FAILED": (ALWAYS | {"error", "finishedAt", "expiresAt"}, set()),
}


def shape_faults(record: Item) -> Iterator[Fault]:
    """What it has and lacks for its status."""

    def fault(what: str) -> Fault:
        return Fault("P5", "broken", f"{record.get('id')}: {what}: {dict(record)}")

    if record.get("status") not in BY_STATUS:
        yield fault("no known status")
        return
    required, optional = BY_STATUS[record["status"]]
    if missing := required - set(record):
        yield fault(f"lacks {sorted(missing)}")
    if left_over := set(record) - required - optional - SOMETIMES:
        yield fault(f"has {sorted(left_over)}")
    hashed = hashlib.sha256(record["id"].encode()).hexdigest()
    if record["status"] in OPEN:
        if len(KEPT & set(record)) != 1:
            yield fault("not exactly one request")
        folder = f"requests/{'/'.join(record['id'].split('#', 2)[:2])}/{hashed}/"
        if "requestRef" in record and not record["requestRef"]["key"].startswith(folder):
            yield fault("a request where none is kept")
        if TICKET.fullmatch(record["owner"]):
            yield fault("a ticket that works")
    if is_fast(record["owner"]) and not has_nonce(record["owner"]):
        yield fault("an owner in the fast lane that two runs could be")
    if is_direct(record["owner"]) and Invoked.of(record["owner"]) is None:
        yield fault("an owner in the direct lane that two calls could be")
    if "openShard" in record and record["openShard"] != f"{record['status']}#{hashed[0]}":
        yield fault("another shard")
    if record["status"] == "COMPLETED" and ("result" in record) == ("resultRef" in record):
        yield fault("not exactly one answer")
    # What was released before its first attempt, by its owner or by an operator, counts none.
    is_decided = record["owner"].rpartition(":")[2].startswith("operator-") or TICKET.fullmatch(record["owner"])
    least = 0 if is_decided or record.get("leaseExpiresAt") == 0 else 1
    if not record.get("fence", 0) >= record.get("attempts", 0) >= least:
        yield fault("attempts and fence do not fit")


def write_faults(write: Write) -> Iterator[Fault]:
    """What one change of a record may never be, whoever makes it."""
    old, new = write.old, write.new
    by_operator = write.actor is not None and write.actor.kind == "operator"
    if new is None:
        if not by_operator:
            yield Fault("P5", "lost", f"{write.id}: its record was removed by {write.actor}")
        return
    yield from shape_faults(new)
    if old is None:
        if new["fence"] != 1:
            yield Fault("P1", "broken", f"{write.id}: begins with fence {new['fence']}")
        return
    if old.get("decisions") != new.get("decisions") and write.actor is not None and not by_operator:
        yield Fault("P5", "lost", f"{write.id}: who decided what was changed by {write.actor}")
    if not is_expired(old, write.at):
        yield from _faults_of_change(write, old, new, by_operator)
    reopened = old["status"] != "IN_PROGRESS" and new["status"] == "IN_PROGRESS"
    acquired = new["owner"] != old["owner"] or reopened
    if new["fence"] != old["fence"] + 1 if acquired else new["fence"] not in (old["fence"], old["fence"] + 1):
        yield Fault("P1", "broken", f"{write.id}: fence {old['fence']} became {new['fence']}")
    if new["fence"] != old["fence"] and new.get("leaseExpiresAt") == 0 and not by_operator:
        yield Fault("P2", "twice", f"{write.id}: a new attempt may be started again, says {write.actor}")
    if new["fence"] != old["fence"] and "pendingSince" in new:
        yield Fault("P1", "twice", f"{write.id}: pending, though {new['owner']} has begun: nobody would wait for it")
    began = is_new_lock(write) and write.actor is not None and write.actor.is_in("AcquireLock")
    if new["acquiredAt"] != old["acquiredAt"] and not began:
        yield Fault("P5", "broken", f"{write.id}: its tickets are void, by {write.actor}")


def _faults_of_change(write: Write, old: Item, new: Item, by_operator: bool) -> Iterator[Fault]:
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    if is_forgotten(write):
        if left := sorted({"result", "resultRef", "steps"} & set(new)):
            yield Fault("P5", "broken", f"{write.id}: forgotten, and its record has {left}")
        return
    if is_tried_again(write):
        if old["fingerprint"] != new["fingerprint"] or old.get("steps") != new.get("steps") or new["attempts"] != 1:
            yield Fault(
                "P2", "twice", f"{write.id}: a failure was tried again with another payload, attempt or other steps"
            )
        return
    if old["status"] not in OPEN:
        # Its owner says it once more when an answer was lost; each time it is kept for as long from then on.
        by_owner = write.actor is not None and write.actor.owner == old["owner"]
        if told := sorted(changed - ({"finishedAt", "expiresAt"} if by_owner else set())):
            yield Fault("P3", "broken", f"{write.id}: {told} changed after it was {old['status']}, by {write.actor}")
        return
    if new["status"] in OPEN and changed & KEPT:
        yield Fault("P5", "lost", f"{write.id}: its request changed under an open lock, by {write.actor}")
    if by_operator:
        return
    if old["fingerprint"] != new["fingerprint"]:
        yield Fault("P6", "broken", f"{write.id}: the payload changed under an open lock")
    steps = old.get("steps", {}) if new["status"] != "COMPLETED" else {}
    if any(new.get("steps", {}).get(name) != step for name, step in steps.items() if name != CLOSINGS):
        yield Fault("P2", "twice", f"{write.id}: a finished step was forgotten, by {write.actor}")
    if _is_by_ticket(write, new, changed):
        yield from _faults_of_ticket(write, old, new, changed)
        return
    if old["status"] == "QUARANTINED":
        yield Fault("P2", "twice", f"{write.id}: left its quarantine by {write.actor}")
    if new["owner"] != old["owner"] and not _may_be_replaced(write, old):
        yield Fault("P1", "twice", f"{write.id}: taken over from an owner that is {_seen(write, old)}")
    if write.actor is not None:
        yield from _faults_of_actor(write, write.actor, old, new, changed)


def _may_be_replaced(write: Write, old: Item) -> bool:
    """Its lease is over, and it has ended, or released the lock, or is pending, so that it does nothing any more.

    Nobody knows an operator's owner, so it has ended.
    """
    has_ended = write.owner_status not in ("RUNNING", "PENDING_REDRIVE") or "pendingSince" in old
    return (has_ended or not old["leaseExpiresAt"]) and bool(old["leaseExpiresAt"] < write.at)


def _is_by_ticket(write: Write, new: Item, changed: set[str]) -> bool:
    """Work elsewhere ends an operation, or says that it goes on. Who calls may be anybody but a lock's owner."""
    if write.actor is not None and write.actor.kind == "ticket":
        return True
    is_owner = write.actor is not None and write.actor.kind in ("execution", DIRECT)
    return not is_owner and (bool(TICKET.fullmatch(new["owner"])) or changed == {"leaseExpiresAt"})


def _faults_of_ticket(write: Write, old: Item, new: Item, changed: set[str]) -> Iterator[Fault]:
    """P3 and P4: it ends its own try, under an owner of its own; or it makes a lease longer that somebody has."""
    ticket = f"{old['acquiredAt']} {old['fingerprint']} {write.id}"
    if write.actor is not None and write.actor.kind == "ticket" and write.actor.owner != ticket:
        yield Fault("P3", "broken", f"{write.id}: ended or extended by another try's ticket: {write.actor.owner}")
    if TICKET.fullmatch(new["owner"]):
        return
    until, longer = old["leaseExpiresAt"], new.get("leaseExpiresAt", 0)
    grows = old["status"] == "IN_PROGRESS" and until != 0 and max(until, longer) == longer
    if changed != {"leaseExpiresAt"} or not grows:
        yield Fault("P4", "broken", f"{write.id}: work elsewhere changed {sorted(changed)} of {until}")


def _seen(write: Write, old: Item) -> str:
    return f"{write.owner_status}, its lease {'' if old['leaseExpiresAt'] < write.at else 'not '}over"


def _faults_of_actor(write: Write, actor: Actor, old: Item, new: Item, changed: set[str]) -> Iterator[Fault]:
    """P4: the owner, whoever takes over, and who quarantines for a dead owner; these in the full lane only."""
    if actor.kind == "function":
        mine = (old["owner"], old["fence"], old["status"]) == (actor.owner, actor.fence, "IN_PROGRESS")
        if not mine or changed - {"steps"}:
            yield Fault("P4", "broken", f"{write.id}: a function without the lock changed {sorted(changed)}")
        return
    is_owner = actor.owner == old["owner"]
    if "pendingSince" in changed & set(new) and not (is_owner and actor.is_in("KeepOpen")):
        yield Fault("P4", "broken", f"{write.id}: {actor} says for its owner that it is pending")
    is_released = "leaseExpiresAt" in changed and new.get("leaseExpiresAt") == 0
    if is_released and not (is_owner and actor.is_in("ReleaseLock")):
        yield Fault("P2", "twice", f"{write.id}: {actor} says for its owner that it may be started again")
    if actor.kind == DIRECT:
        if not is_owner or new["fence"] != old["fence"]:
            yield Fault("P4", "broken", f"{write.id}: {actor.owner} has one attempt, and changed {sorted(changed)}")
        return
    if is_owner:
        return
    if is_fast(actor.owner):
        yield Fault("P4", "broken", f"{write.id}: {actor.owner} changed the lock of another from the fast lane")
    quarantines = new["status"] == "QUARANTINED" and new["fence"] == old["fence"] and new["owner"] == old["owner"]
    if quarantines:
        if not _may_be_replaced(write, old):
            yield Fault("P4", "broken", f"{write.id}: quarantined for an owner that is {_seen(write, old)}")
    elif actor.owner != new["owner"]:
        yield Fault("P4", "broken", f"{write.id}: {actor.owner} in {actor.state} changed {sorted(changed)}")
