"""The rules of single records and writes: what a record is like in each status, and what no change of one may be.

They need nothing but the writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from once.step import CLOSINGS

from oncekit.promises.faults import Fault
from oncekit.promises.journal import Item, Write
from oncekit.promises.openings import is_expired, is_tried_again
from oncekit.promises.owners import has_nonce, is_fast

ALWAYS = {"id", "status", "fingerprint", "owner", "fence", "attempts", "onCrash", "acquiredAt"}
SOMETIMES = {"recoveries", "steps"}
BY_STATUS = {
    "IN_PROGRESS": (ALWAYS | {"leaseExpiresAt", "openShard"}, {"error", "request", "requestRef", "mayStartAgain"}),
    "COMPLETED": (ALWAYS | {"finishedAt", "expiresAt"}, {"result", "resultRef"}),
    "FAILED": (ALWAYS | {"error", "finishedAt", "expiresAt"}, set()),
    "QUARANTINED": (
        ALWAYS | {"error", "finishedAt", "leaseExpiresAt", "openShard"},
        {"request", "requestRef", "mayStartAgain"},
    ),
}
CLOSED = ("COMPLETED", "FAILED")
DEAD = ("FAILED", "TIMED_OUT", "ABORTED", "DOES_NOT_EXIST")
WITHOUT_REQUEST = ("RequestUnreadable", "RecoveriesUsedUp")
"""Why recovery itself may quarantine: the request stays with its owner's execution."""


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
    if what := _request_missing(record):
        yield fault(what)
    shard = hashlib.sha256(record["id"].encode()).hexdigest()[0]
    if "openShard" in record and record["openShard"] != f"{record['status']}#{shard}":
        yield fault("another shard")
    if record["status"] == "COMPLETED" and ("result" in record) == ("resultRef" in record):
        yield fault("not exactly one answer")
    # A lock that was released before the first attempt reached the function counts none.
    least = 0 if "mayStartAgain" in record else 1
    if not record.get("fence", 0) >= record.get("attempts", 0) >= least:
        yield fault("attempts and fence do not fit")


def _request_missing(record: Item) -> str:
    """What is wrong with the request that a record should have: an operator's copy, or that of a fast owner."""
    if record["status"] == "QUARANTINED" and record["error"]["name"] not in WITHOUT_REQUEST:
        is_copied = record.get("requestRef", {}).get("key", "").startswith("requests/")
        return "" if is_copied and "request" not in record else "quarantined without its request"
    if record["status"] != "IN_PROGRESS" or not is_fast(record["owner"]):
        return ""
    if not has_nonce(record["owner"]):
        return "an owner in the fast lane that two runs could be"
    is_kept = ("requestRef" in record) != bool(record.get("request"))
    return "" if is_kept else "an owner in the fast lane without its request"


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
    if not is_expired(old, write.at):
        yield from _faults_of_change(write, old, new, by_operator)
    reopened = old["status"] != "IN_PROGRESS" and new["status"] == "IN_PROGRESS" and not by_operator
    acquired = new["owner"] != old["owner"] or reopened
    if new["fence"] != old["fence"] + 1 if acquired else new["fence"] not in (old["fence"], old["fence"] + 1):
        yield Fault("P1", "broken", f"{write.id}: fence {old['fence']} became {new['fence']}")


def _faults_of_change(write: Write, old: Item, new: Item, by_operator: bool) -> Iterator[Fault]:
    if is_tried_again(write):
        if old["fingerprint"] != new["fingerprint"] or old.get("steps") != new.get("steps") or new["attempts"] != 1:
            yield Fault(
                "P2", "twice", f"{write.id}: a failure was tried again with another payload, attempt or other steps"
            )
        return
    if old["status"] in CLOSED:
        # Its owner says it once more when an answer was lost; each time it is kept for as long from then on.
        by_owner = write.actor is not None and write.actor.owner == old["owner"]
        said_again = {"finishedAt", "expiresAt"} if by_owner else set()
        if changed := sorted({name for name in {*old, *new} if old.get(name) != new.get(name)} - said_again):
            yield Fault("P3", "broken", f"{write.id}: {changed} changed after it was {old['status']}, by {write.actor}")
        return
    if by_operator:
        return
    if old["status"] == "QUARANTINED" and new["status"] != "QUARANTINED":
        yield Fault("P2", "twice", f"{write.id}: left its quarantine by {write.actor}")
    if old["fingerprint"] != new["fingerprint"]:
        yield Fault("P6", "broken", f"{write.id}: the payload changed under an open lock")
    if new["owner"] != old["owner"]:
        if old["leaseExpiresAt"] >= write.at:
            yield Fault("P1", "twice", f"{write.id}: taken over before its lease was over, by {write.actor}")
        if not _may_be_replaced(write, old):
            yield Fault("P1", "twice", f"{write.id}: taken over from an owner that is {write.owner_status}")
    if (
        "steps" in old
        and new["status"] != "COMPLETED"
        and any(new.get("steps", {}).get(name) != step for name, step in old["steps"].items() if name != CLOSINGS)
    ):
        yield Fault("P2", "twice", f"{write.id}: a finished step was forgotten, by {write.actor}")
    if write.actor is not None:
        yield from _faults_of_actor(write, old, new)


def _may_be_replaced(write: Write, old: Item) -> bool:
    """Its owner is dead. One in the fast lane has ended in any way, or has released the lock, and its lease is over."""
    if not is_fast(old["owner"]):
        return write.owner_status in DEAD
    is_gone = write.owner_status != "RUNNING" or "mayStartAgain" in old
    return is_gone and old["leaseExpiresAt"] < write.at


def _faults_of_actor(write: Write, old: Item, new: Item) -> Iterator[Fault]:
    """P4: the owner, whoever takes over, and three things that may be done to a dead owner's record."""
    assert write.actor is not None
    changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    if write.actor.kind == "function":
        mine = (old["owner"], old["fence"], old["status"]) == (write.actor.owner, write.actor.fence, "IN_PROGRESS")
        if not mine or changed - {"steps"}:
            yield Fault("P4", "broken", f"{write.id}: a function without the lock changed {sorted(changed)}")
        return
    if "mayStartAgain" in changed & set(new) and (write.actor.owner, write.actor.state) != (
        old["owner"],
        "ReleaseLock",
    ):
        yield Fault("P2", "twice", f"{write.id}: {write.actor} says for its owner that it may be started again")
    if write.actor.owner == new["owner"]:
        return
    ends_lease = changed <= {"leaseExpiresAt", "recoveries"} and new["leaseExpiresAt"] == 0
    quarantines = new["status"] == "QUARANTINED" and new["fence"] == old["fence"]
    # A claim may be over when it arrives, and then keeps nobody away; none may shorten a lease.
    claims = (
        changed == {"leaseExpiresAt"}
        and write.actor.state == "ClaimRedrive"
        and new["leaseExpiresAt"] > old["leaseExpiresAt"]
    )
    if not (ends_lease or quarantines or claims):
        yield Fault("P4", "broken", f"{write.id}: {write.actor.owner} in {write.actor.state} changed {sorted(changed)}")
    elif not _may_be_replaced(write, old):
        yield Fault("P4", "broken", f"{write.id}: {write.actor.state} though its owner is {write.owner_status}")
