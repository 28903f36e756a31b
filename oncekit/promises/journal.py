"""The journal: every write to the record as old and new item, and every start of business logic, each in order.

Writes are taken where all calls of DynamoDB are answered, so that those of the state machines, of functions in this
process and of functions that come over HTTP are all here. Who writes is known for whoever says so with `acting`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from oncekit.contract.lanes import DIRECT, is_direct
from oncekit.local import Execution, LocalCloud
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service
from oncekit.local.engine.dynamodb import DYNAMODB_LOCK
from oncekit.local.engine.service_calls import Call
from oncekit.promises import owners

Item = Mapping[str, Any]
READS = re.compile("(Batch|Transact)?Get|Query|Scan|Describe|List")
"""How the names of the operations begin that change nothing: nobody has to look at the table for them."""


@dataclass(frozen=True)
class Actor:
    """Who makes a call: an execution in a state, business logic, an operator, work elsewhere.

    Or a function of the direct lane, which has no states: see `is_in`.
    """

    kind: str
    """`execution`, `function`, `operator`, `ticket` or `direct`."""
    owner: str = ""
    """ARN of the execution; in the fast lane with the nonce of its run. Of work elsewhere its ticket."""
    state: str = ""
    fence: int = 0
    """Of business logic."""

    def is_in(self, state: str) -> bool:
        """Whether it may write what an execution writes in this state alone."""
        return self.kind == DIRECT or self.state == state


@dataclass(frozen=True)
class Write:
    """A change of a record. `owner_status` is that of the old owner's execution at this moment."""

    at: float
    actor: Actor | None
    id: str
    old: Item | None
    new: Item | None
    owner_status: str


@dataclass(frozen=True)
class Start:
    """A start of business logic that reached the function."""

    id: str
    owner: str
    fence: int


@dataclass(frozen=True)
class Fault:
    """A broken promise. `kind` is what it amounts to: `stuck`, `lost`, `twice`, or `broken` for any other."""

    promise: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.promise} ({self.kind}): {self.what}"


@dataclass
class Journal:
    """What happened since it was emptied."""

    cloud: LocalCloud
    writes: list[Write] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    invoked: list[Execution] = field(default_factory=list)
    """Calls of `once` in the direct lane, of which whoever invokes may tell, each in the shape of an execution.

    Its ARN is the owner, its input is the request; its output, what `once` returned; its error, what it raised, or why
    there is no result.
    """
    before: Mapping[str, Item] = field(default_factory=dict)
    """The records that were there when it was opened or emptied, by id."""
    _acting: threading.local = field(default_factory=threading.local)

    def clear(self) -> None:
        self.writes.clear()
        self.starts.clear()
        self.invoked.clear()
        self.before = all_records(self.cloud)

    def started(self, event: Mapping[str, Any]) -> None:
        if lock := owners.lock_of(event):  # none for an operation in PayloadOnlyOperations
            self.starts.append(Start(lock["id"], lock["owner"], int(lock["fence"])))

    @contextmanager
    def acting(self, actor: Actor) -> Iterator[None]:
        """This thread's writes are the actor's while the context is open."""
        before = getattr(self._acting, "actor", None)
        self._acting.actor = actor
        try:
            yield
        finally:
            self._acting.actor = before

    def interceptor(self, call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Says which execution makes a call."""
        with self.acting(Actor("execution", _caller(call), call.state)):
            return proceed()

    @contextmanager
    def open(self) -> Iterator[Journal]:
        """Writes are taken down while the context is open."""
        self.before = all_records(self.cloud)
        with self.cloud.services.behind("dynamodb", self._taking_down):
            yield self

    def _taking_down(self, dynamodb: Service) -> Service:
        def taken_down(request: Request, proceed: Proceed) -> Answer:
            if READS.match(request.target):
                return dynamodb(request, proceed)
            with DYNAMODB_LOCK, self._in_direct_lane(_me(request.asked.parameters)):
                name = self.cloud.once.outputs["TableName"]
                written = request.asked.parameters.get("Key") or request.asked.parameters.get("Item")
                before = _items(_table(name), written)
                try:
                    return dynamodb(request, proceed)
                finally:
                    # Another table: that of before, where a transaction is taken back.
                    self._compare(before, _items(_table(name), written))

        return taken_down

    def _in_direct_lane(self, me: str) -> AbstractContextManager[None]:
        """A function that names itself so writes as the owner of a lock; what its business logic writes has no name."""
        actor = getattr(self._acting, "actor", None)
        is_its_own = is_direct(me) and (actor is None or actor.kind == "function")
        return self.acting(Actor(DIRECT, me)) if is_its_own else nullcontext()

    def _compare(self, before: Mapping[str, Item], after: Mapping[str, Item]) -> None:
        actor = getattr(self._acting, "actor", None)
        for id in {**before, **after}:
            old, new = before.get(id), after.get(id)
            if old != new:
                at = self.cloud.clock.now()
                status = owners.status_of(self.cloud, plain(old)["owner"]) if old else ""
                self.writes.append(Write(at, actor, id, plain(old), plain(new), status))


def unseen_faults(journal: Journal, records: Mapping[str, Item]) -> Iterator[Fault]:
    """P4: no record, of those that are left, has changed but by the writes that were taken down."""
    known: dict[str, Item | None] = dict(journal.before)
    for write in journal.writes:
        if known.get(write.id) != write.old:
            yield Fault("P4", "broken", f"{write.id}: changed before a write of {write.actor}, and nobody saw by whom")
        known[write.id] = write.new
    for id in sorted({*known, *records}):
        if known.get(id) != records.get(id):
            yield Fault("P4", "broken", f"{id}: changed at last, and nobody saw by whom")


def _caller(call: Call) -> str:
    """The ARN of the execution, with the nonce of its run where the call names it."""
    me = _me(call.parameters)
    return me if me.startswith(f"{call.execution_arn}:") else call.execution_arn


def _me(parameters: Mapping[str, Any]) -> str:
    """As who a call changes an item, if it says so."""
    return str(parameters.get("ExpressionAttributeValues", {}).get(":me", {}).get("S", ""))


def _items(table: Any, written: Mapping[str, Any] | None) -> dict[str, Item]:
    """The items by id: the one with the key of what is written, or all, where a call names several."""
    from moto.dynamodb.models.dynamo_type import DynamoType

    key = (written or {}).get(table.hash_key_attr)
    found = table.items.items() if key is None else ((each := DynamoType(key), table.items.get(each)),)
    return {id.value: item.to_json()["Attributes"] for id, item in found if item}


def all_records(cloud: LocalCloud) -> dict[str, Item]:
    """Every record by its id."""
    return {item["id"]: item for item in rows_of(cloud, cloud.once.outputs["TableName"])}


def rows_of(cloud: LocalCloud, table: str) -> list[Item]:
    """All items of a table by its logical id or name, without a call: there are ten thousands of looks in a proof."""
    items = _table(cloud.resources.get(table, table)).all_items()
    return [plain(item.to_json()["Attributes"]) for item in items]


def _table(name: str) -> Any:
    from moto.dynamodb.models import dynamodb_backends

    return dynamodb_backends[ACCOUNT][REGION].get_table(name)


def plain(item: Any) -> Any:
    decode = TypeDeserializer().deserialize
    return None if item is None else {name: decode(value) for name, value in item.items()}
