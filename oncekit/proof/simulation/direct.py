"""The direct lane: each request is an event of its function's own; and senders, who send again what was not taken.

A sender is what a queue is: what was raised, or what nobody answered, it sends again with the same key, for a day; what
is left of a batch, as a batch. A call of `once` is told to the journal in the shape of an execution: what it was asked
for, and what it returned.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from once import Refused
from once.operation import Operation

from oncekit.contract.lanes import DIRECT, is_direct
from oncekit.local import Execution, LocalCloud
from oncekit.local.once_cloud import PREFIX
from oncekit.local.patching import replaced
from oncekit.promises.checker import id_of
from oncekit.promises.journal import Actor, Fault, Journal
from oncekit.promises.openings import is_new_lock
from oncekit.promises.owners import lock_of
from oncekit.proof.simulation.functions import Functions
from oncekit.proof.simulation.paths import Batch
from oncekit.proof.simulation.scheduler import Scheduler, Task

LIVES = 60.0
"""Seconds that a function has. It does not live longer, but it may stand still for as long as you like, and wake up."""
WAITS = 30.0
"""Seconds for which a request waits that asks for it."""
FIRST_PAUSE, LONGEST_PAUSE, PATIENCE = 30.0, 1800.0, 86_400.0
"""Seconds between two sendings, and from the first to the last one."""
DECIDED = ("InvalidRequest", "PayloadMismatch")
"""What no sender sends again."""


@dataclass
class _Context:
    """What Lambda tells an invocation."""

    function_name: str
    aws_request_id: str
    began: float
    scheduler: Scheduler

    @property
    def ends_at(self) -> float:
        return self.began + LIVES

    def get_remaining_time_in_millis(self) -> int:
        return int((self.ends_at - self.scheduler.now()) * 1000)

    @property
    def name(self) -> str:
        """What the names of its owners begin with."""
        return f"{DIRECT}:{self.function_name}:{self.aws_request_id}"


class Direct:
    """Sends requests to the functions of operations."""

    def __init__(self, cloud: LocalCloud, scheduler: Scheduler, journal: Journal, functions: Functions) -> None:
        self._cloud, self._scheduler, self._journal, self._functions = cloud, scheduler, journal, functions
        self._given_up: list[str] = []
        self._too_late: list[str] = []
        self._ends_at: dict[str, float] = {}
        """By invocation: until when it has its time."""
        self._nonces: dict[int, str] = {}
        """By task: what the owner that it made last has for a name of its own."""

    def clear(self) -> None:
        self._given_up.clear()
        self._too_late.clear()
        self._ends_at.clear()
        self._nonces.clear()

    def send(self, requests: Batch, name: str) -> Task:
        """A sender, and what it does until its requests are taken, which are those of one operation."""
        return self._scheduler.spawn(lambda: self._until_taken(requests, name), "sender")

    def faults(self) -> Iterator[Fault]:
        """P5: whoever sends again is heard in the end. P1: a lease is for all the time that its owner has.

        P2: nothing begins when it is over.
        """
        for each in self._given_up:
            yield Fault("P5", "stuck", f"{each} was sent for a day, and never taken")
        for each in self._too_late:
            yield Fault("P2", "twice", f"{each} began business logic when its lease was over")
        for write in self._journal.writes:
            if write.actor is not None and write.actor.kind == DIRECT and is_new_lock(write):
                assert write.new is not None
                if write.new["leaseExpiresAt"] < self._ends_at[write.actor.owner.rpartition(":")[0]]:
                    yield Fault("P1", "twice", f"{write.actor.owner} may live longer than its lease")

    def _until_taken(self, left: Batch, name: str) -> None:
        pause, until, number = FIRST_PAUSE, self._scheduler.now() + PATIENCE, 0
        while left := self._left_of(left, f"{name}-{number}"):
            if self._scheduler.now() > until:
                self._given_up += map(id_of, left)
                return
            self._scheduler.sleep(pause)
            pause, number = min(2 * pause, LONGEST_PAUSE), number + 1

    def _left_of(self, batch: Batch, name: str) -> Batch:
        """Those of which an invocation does not say in time what came of them."""
        function = f"{PREFIX}{batch[0]['operation']}"
        context = _Context(function, name, self._scheduler.now(), self._scheduler)
        self._ends_at[context.name] = context.ends_at
        told: list[Execution] = []
        lived = False
        with suppress(TimeoutError):
            actor = Actor("function", context.name)
            lived = self._functions.run(function, actor, lambda: self._handle(batch, context, told), LIVES)
        if not lived:  # nobody hears of any of them
            return batch
        taken = [each.status == "SUCCEEDED" or each.error in DECIDED for each in told]
        return tuple(request for request, is_taken in zip(batch, taken, strict=True) if not is_taken)

    def _handle(self, batch: Batch, context: _Context, told: list[Execution]) -> None:
        """What a function does with an event, one after the other; one that raises does not hold up those after it."""
        operation = self._functions.handler(context.function_name)
        assert isinstance(operation, Operation), "only the library has a direct lane"
        operation.name = batch[0]["operation"]

        @operation.entry
        def handler(_event: object, _context: object) -> None:
            told.extend(self._told(operation, request, context) for request in batch)

        handler(batch, context)

    def _told(self, operation: Operation, request: Mapping[str, Any], context: _Context) -> Execution:
        """A call of `once`, which the journal is told of, too, even if it dies in it."""
        number = self._scheduler.current.number
        self._nonces[number] = "none"
        status, output, error = "ABORTED", None, ""
        try:
            status, output, error = _asked(operation, request)
        finally:
            owner, at = f"{context.name}:{self._nonces[number]}", _iso(context.began)
            call = Execution(owner, owner, status, request, output, error or None, None, (), 0, [{"timestamp": at}])
            self._journal.invoked.append(call)
        return call

    # ---- a sandbox for each invocation ----

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Functions tell virtual time, know where Once is, and are seen to begin business logic."""
        from once import direct

        outputs, days = self._cloud.once.outputs, self._cloud.parameters["RetentionDays"]
        place = {
            "ONCE_TABLE": outputs["TableName"],
            "ONCE_BUCKET": outputs["ResponseBucketName"],
            "ONCE_RETENTION_DAYS": str(days),
        }
        now, sleep = self._scheduler.now, self._scheduler.sleep
        with (
            patch.dict("os.environ", place),
            replaced(
                (direct, "time", SimpleNamespace(time=now, monotonic=now, sleep=sleep)),
                (direct, "random", SimpleNamespace(uniform=lambda _low, high: high)),
                (direct, "uuid", SimpleNamespace(uuid4=self._nonce)),
                (direct, "_invocations", _OfSandbox(self._scheduler)),
                (Operation, "__call__", self._seen(Operation.__call__)),
            ),
        ):
            yield

    def _nonce(self) -> uuid.UUID:
        drawn = uuid.uuid4()
        self._nonces[self._scheduler.current.number] = drawn.hex
        return drawn

    def _seen(self, run: Any) -> Any:
        def seen(operation: Operation, event: Any, context: object = None) -> Any:
            lock = lock_of(event)
            if not lock or not is_direct(str(lock["owner"])):
                return run(operation, event, context)
            self._journal.started(event)
            if lock["leaseExpiresAt"] <= self._scheduler.now():
                self._too_late.append(str(lock["owner"]))
            actor = Actor("function", str(lock["owner"]), fence=int(lock["fence"]))
            with self._functions.acting(actor):
                return run(operation, event, context)

        return seen


class _OfSandbox(list[Any]):
    """A list of which each task has its own: a sandbox is a process, and has one invocation at a time."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._of: dict[int, list[Any]] = {}

    @property
    def _mine(self) -> list[Any]:
        return self._of.setdefault(self._scheduler.current.number, [])

    def append(self, each: Any) -> None:
        self._mine.append(each)

    def pop(self, *_: Any) -> Any:
        return self._mine.pop()

    def __bool__(self) -> bool:
        return bool(self._mine)

    def __getitem__(self, number: Any) -> Any:
        return self._mine[number]


def _asked(operation: Operation, request: Mapping[str, Any]) -> tuple[str, Any, str]:
    """The status of a call of `once`, what it returned, and what it raised."""
    try:
        outcome = operation.once(
            request["payload"],
            key=request["idempotencyKey"],
            tenant=request.get("tenant", "default"),
            wait=WAITS if request.get("onConflict") == "wait" else 0,
            on_crash=request.get("onCrash", "retry"),
            on_failed=request.get("onFailed", "replay"),
        )
    except Refused as refused:
        return "FAILED", None, refused.name
    except Exception as error:  # once() raises nothing else
        return "FAILED", None, type(error).__name__
    if outcome.error is not None:
        return "SUCCEEDED", None, outcome.error.name
    told: dict[str, Any] = {"id": outcome.id, "disposition": outcome.disposition}
    if outcome.disposition != "IN_PROGRESS":
        told |= {"resultRef": outcome.ref} if outcome.ref is not None else {"result": outcome.text}
    return "SUCCEEDED", told, ""


def _iso(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat()
