"""The promises P1 to P6, asked of every move of the model."""

from __future__ import annotations

import json
from typing import Any

from oncekit.proof.model.machine import NOW, End
from oncekit.proof.model.record import Record, parsed
from oncekit.proof.model.world import RUNNING, Execution, Late, World, is_fast, owner_at

OPEN, CLOSED = ("IN_PROGRESS", "QUARANTINED"), ("COMPLETED", "FAILED")
ANSWER = ("status", "owner", "fence", "result", "resultRef", "error")
BUSINESS = "ExecuteBusinessLogic"
REFUSALS = ("InvalidRequest", "PayloadMismatch", "Unavailable")


class Broken(Exception):
    """A promise that was not kept; the message begins with its name."""


def number(item: dict[str, Any], name: str) -> int:
    return int(item[name]["N"])


def text(item: dict[str, Any], name: str) -> str:
    value: str = item[name]["S"]
    return value


def expired(item: dict[str, Any]) -> bool:
    return "expiresAt" in item and number(item, "expiresAt") < NOW


def gone(record: Record) -> bool:
    return record is None or expired(parsed(record))


def begins_anew(before: Record, after: str) -> bool:
    """Whether a write gave the id a new life; an owner may repeat its last write when its answer has just expired."""
    if before is None or not gone(before):
        return before is None
    old, new = parsed(before), parsed(after)
    return any(old.get(name) != new.get(name) for name in ANSWER)


def was_failed(record: Record) -> bool:
    return record is not None and text(parsed(record), "status") == "FAILED"


def is_final(record: Record) -> bool:
    return record is not None and text(parsed(record), "status") != "IN_PROGRESS"


class Promises:
    """The checks; what may be how often comes from the definition's own parameters."""

    def __init__(self, *, max_attempts: int, max_recoveries: int, retries: frozenset[int]) -> None:
        """`retries` are the requests that may have a failed operation tried again."""
        self._retries = retries
        self._max_attempts = max_attempts
        self._max_recoveries = max_recoveries

    def written(self, world: World, after: str, place: int | None, late: Late | None = None) -> None:
        """The record was written by the execution in `place`, or by recovery (None), perhaps by a late call."""
        new = parsed(after)
        self._has_its_shape(new)
        if begins_anew(world.record, after):
            self._is_a_new_life(world, new, place)
            return
        assert world.record is not None
        old = parsed(world.record)
        if text(old, "status") == "FAILED" and text(new, "status") != "FAILED":
            self._is_tried_again(world, old, new, place)
        elif text(old, "status") != "IN_PROGRESS":
            if any(old.get(name) != new.get(name) for name in ANSWER):
                raise Broken(f"P3: a record that was {text(old, 'status')} has changed before it expired")
        elif place is None or owner_at(world, place) != text(old, "owner"):
            self._is_anothers(world, old, new, place)
        else:
            self._is_the_owners(world, old, new, place, late)

    def _has_its_shape(self, new: dict[str, Any]) -> None:
        status = text(new, "status")
        if status in OPEN and ("expiresAt" in new or "openShard" not in new or "leaseExpiresAt" not in new):
            raise Broken(f"P5: an open record ({status}) can expire, or is not in the index of open ones")
        if status in OPEN and not text(new, "openShard").startswith(f"{status}#"):
            raise Broken(f"P5: an open record ({status}) is in the wrong shard: {text(new, 'openShard')}")
        if status in CLOSED and ("expiresAt" not in new or "openShard" in new or "leaseExpiresAt" in new):
            raise Broken(f"P3: a closed record ({status}) has no end, or looks open")
        if status == "IN_PROGRESS" and is_fast(text(new, "owner")):
            if ("requestRef" in new) == ("S" in new.get("request", {})):
                raise Broken("P5: an owner in the fast lane has not kept its request")
        elif {"request", "requestRef", "mayStartAgain"} & set(new) and status in CLOSED:
            raise Broken("P5: a closed record has a request")
        if number(new, "attempts") > self._max_attempts:
            raise Broken("P5: there are more attempts than allowed")
        if "recoveries" in new and number(new, "recoveries") > self._max_recoveries + 2:
            raise Broken("P5: there are more recoveries than allowed")

    def _is_a_new_life(self, world: World, new: dict[str, Any], place: int | None) -> None:
        old = world.record
        fence = 0 if old is None else number(parsed(old), "fence")
        if place is None or text(new, "status") != "IN_PROGRESS" or text(new, "owner") != owner_at(world, place):
            raise Broken("P1: a record that was gone was written by somebody who did not acquire it")
        if number(new, "fence") != fence + 1:
            raise Broken(f"P1: the fence went from {fence} to {number(new, 'fence')}")
        of_the_last = {"steps", "result", "resultRef", "error", "recoveries", "finishedAt", "mayStartAgain"}
        if not is_fast(text(new, "owner")):
            of_the_last.add("requestRef")
        if left := of_the_last & set(new):
            raise Broken(f"P2: a new life of an id begins with {', '.join(sorted(left))} of the last one")

    def _is_tried_again(self, world: World, old: dict[str, Any], new: dict[str, Any], place: int | None) -> None:
        """A failure stands until a request asks for more."""
        execution = None if place is None else world.executions[place]
        if (
            execution is None
            or execution.request not in self._retries
            or execution.name.startswith(("recover-", "handover-"))
        ):
            raise Broken("P3: a failure was tried again by somebody who was not asked to")
        if (
            self._begun(new) != (owner_at(world, place or 0), number(old, "fence") + 1)
            or text(new, "status") != "IN_PROGRESS"
        ):
            raise Broken("P1: a failed operation was not acquired under the next fence")
        if old.get("steps") != new.get("steps"):
            raise Broken("P2: what steps have done was forgotten")

    def _is_anothers(self, world: World, old: dict[str, Any], new: dict[str, Any], place: int | None) -> None:
        """A write to a lock that somebody else holds: recovery, or an execution that found the owner dead."""
        if old.get("steps") != new.get("steps"):
            raise Broken("P2: what steps have done was forgotten")
        changed = {name for name in {*old, *new} if old.get(name) != new.get(name)}
        if self._begun(old) != self._begun(new):
            if place is None or self._begun(new) != (owner_at(world, place), number(old, "fence") + 1):
                raise Broken(f"P1: the lock went from fence {number(old, 'fence')} to {number(new, 'fence')}")
            if text(new, "status") != "IN_PROGRESS":
                raise Broken("P1: an acquisition ended the operation")
            self._may_be_replaced(world, old)
        elif text(new, "status") == "QUARANTINED":
            self._may_be_quarantined(world, old, new)
        elif place is not None and (
            changed - {"leaseExpiresAt", "claimedUntil"} or number(old, "leaseExpiresAt") >= NOW
        ):
            raise Broken("P4: somebody wrote to the lock of another owner")
        elif place is None:
            counted = number(new, "recoveries") - (number(old, "recoveries") if "recoveries" in old else 0)
            if changed - {"leaseExpiresAt", "recoveries"} or number(new, "leaseExpiresAt") or counted not in (0, 1):
                raise Broken("P1: recovery changed more than the lease and its count")

    def _is_the_owners(
        self, world: World, old: dict[str, Any], new: dict[str, Any], place: int, late: Late | None
    ) -> None:
        execution = world.executions[place]
        assert execution is not None
        fence = execution.fence if late is None else late.fence
        # A completed operation has no use for them: its answer says it all, and its record should be small.
        if old.get("steps") != new.get("steps") and text(new, "status") != "COMPLETED":
            raise Broken("P2: what steps have done was forgotten")
        if self._begun(old) != self._begun(new):
            if self._begun(new) != (owner_at(world, place), number(old, "fence") + 1):
                raise Broken(f"P1: the lock went from fence {number(old, 'fence')} to {number(new, 'fence')}")
            if text(new, "status") != "IN_PROGRESS":
                raise Broken("P1: an acquisition ended the operation")
            if late is not None and execution.status == RUNNING and execution.position != late.position:
                raise Broken("P1: a late call took the lock from its own execution, which is at work under it")
        elif text(new, "status") in CLOSED:
            if fence != number(old, "fence"):
                raise Broken("P4: an owner whose lock was lost has ended the operation")
            if text(new, "status") == "COMPLETED" and world.ledger != 1:
                raise Broken(f"P2: an operation was completed with {world.ledger} effects")
        elif text(new, "status") == "QUARANTINED" and fence == 0:
            raise Broken("P5: an operator is asked about business logic that was never started")

    def _may_be_replaced(self, world: World, old: dict[str, Any]) -> None:
        """An owner may be replaced by another when its lease is over and it has ended."""
        if number(old, "leaseExpiresAt") >= NOW:
            raise Broken("P1: a lock was taken before its lease was over")
        if self._lives(world, old):
            raise Broken("P1: the lock of a live owner was taken")

    def _may_be_quarantined(self, world: World, old: dict[str, Any], new: dict[str, Any]) -> None:
        """By another than its owner: only when that one has ended, and there is something to ask the operator."""
        if self._lives(world, old):
            raise Broken("P5: a live owner was quarantined by somebody else")
        error = new["error"]["M"]
        if "cannot be redriven" in text(error, "message") and not world.life.refused:
            raise Broken("P5: an owner was given up, and its redrive was never refused")
        started = any(
            each and BUSINESS in each.history and owner_at(world, place) == text(old, "owner")
            for place, each in enumerate(world.executions)
        )
        knowable = not is_fast(text(old, "owner"))  # nobody can be asked what an owner in the fast lane did
        if text(error, "name") == "OwnerCrashed" and knowable and not started and not world.life.started:
            raise Broken("P5: an operator is asked about business logic that was never started")

    def _lives(self, world: World, old: dict[str, Any]) -> bool:
        """Whether the owner's execution runs, for the first time or redriven, and has not released the lock."""
        if "mayStartAgain" in old:
            return False
        executions = enumerate(world.executions)
        return any(
            each and each.status == RUNNING and owner_at(world, place) == text(old, "owner")
            for place, each in executions
        )

    def _begun(self, item: dict[str, Any]) -> tuple[str, int]:
        return text(item, "owner"), number(item, "fence")

    def started(self, world: World, execution: Execution, fence: int) -> None:
        """The execution starts business logic under `fence`."""
        if execution.fence == fence:
            raise Broken(f"P2: business logic was started twice under fence {fence}")
        if world.life.succeeded:
            raise Broken("P2: business logic was started again after it had succeeded")
        if world.life.decided:
            raise Broken("P2: business logic was started again after it had decided how it ends")
        if world.record is None or text(parsed(world.record), "onCrash") != "quarantine":
            return
        if world.life.started:
            raise Broken("P2: business logic that must not run again was started again")

    def effected(self, world: World, after: World, place: int, fence: int) -> None:
        """A fenced step was sent by the function that `place` started under `fence`."""
        if after.record != world.record or after.ledger != world.ledger:
            if world.record is None:
                raise Broken("P4: a step took effect without a record")
            old = parsed(world.record)
            mine = (text(old, "owner"), number(old, "fence"), text(old, "status")) == (
                owner_at(world, place),
                fence,
                "IN_PROGRESS",
            )
            if not mine:
                raise Broken("P4: a step of an owner whose lock was lost took effect")
        if after.ledger > 1:
            raise Broken(f"P2: {after.ledger} effects")

    def refused(self, world: World, refusal: str, fingerprint: str) -> None:
        """A request is about to be refused, with this error, by what was just read."""
        item = None if world.record is None else parsed(world.record)
        if refusal == "PayloadMismatch" and (item is None or text(item, "fingerprint") == fingerprint):
            raise Broken("P6: a request was refused as another's, and is not")

    def ended(self, world: World, end: End, position: str, fingerprint: str) -> None:
        """An execution has ended, after a call made at `position`; the world is as that call left it."""
        item = None if world.record is None else parsed(world.record)
        # ReadRecord: the record of a request that KeepRefused has kept is gone.
        is_kept = position in ("RefuseRequest", "UndoLock") or (position == "ReadRecord" and _is_refused(world))
        if end.error in REFUSALS and not is_kept:
            raise Broken(f"P5: a request was refused ({end.error}) and kept nowhere")
        if end.error == "NeedsAttention" and (item is None or text(item, "status") != "QUARANTINED"):
            raise Broken("P5: an execution asks for an operator, and the record does not")
        if end.error == "OperationFailed" and (item is None or text(item, "status") != "FAILED"):
            raise Broken("P3: an execution says that the operation failed, and the record does not")
        disposition = end.output.get("disposition") if isinstance(end.output, dict) else None
        is_handed_over = any(each.startswith("first-") for each in world.names)
        if disposition == "IN_PROGRESS" and item is None and not is_handed_over and not _is_refused(world):
            raise Broken("P5: a request was acknowledged, and nobody has it")
        if disposition in ("EXECUTED", "REPLAYED"):
            if item is None or text(item, "status") != "COMPLETED" or expired(item):
                raise Broken("P3: an answer was given without a completed record")
            if text(item, "fingerprint") != fingerprint:
                raise Broken("P6: another request's answer was given")
            stored = text(item, "result") if "result" in item else _reference(item["resultRef"]["M"])
            if end.output.get("result", end.output.get("resultRef")) != stored:
                raise Broken("P3: an answer is not the one that is stored")


def _is_refused(world: World) -> bool:
    """Whether an owner has found no function, and has kept the request before it gave the lock back."""
    return "kept" in world.names


def _reference(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: value["S"] if "S" in value else json.loads(value["N"]) for name, value in stored.items()}
