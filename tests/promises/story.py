"""The words in which examples of the promises are told: records, changes of them, starts, executions, and a judge.

Every change is made at NOW, and every lease is over then, unless an example says otherwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oncekit.local import Execution
from oncekit.promises.checker import faults_in
from oncekit.promises.evidence import Evidence
from oncekit.promises.journal import Actor, Fault, Item, Start, Write
from oncekit.stack.decisions import FORGOTTEN

Happened = Write | Start | Execution | Mapping[str, Any]
"""A mapping is what is kept of a refused request."""

ID = "acme#charge-payment#key-1"
REQUEST = {"operation": "charge-payment", "tenant": "acme", "idempotencyKey": "key-1", "payload": {"amount": 1}}
OTHER = {**REQUEST, "payload": {"amount": 2}}
NOW = 1000.0


def full(name: str) -> str:
    return f"arn:aws:states:us-east-1:123456789012:execution:Operation:{name}"


def fast(name: str) -> str:
    """The ARN of an execution in the fast lane; an owner has `:NONCE` besides."""
    return f"arn:aws:states:us-east-1:123456789012:express:Fast:{name}:run"


FIRST, SECOND, FAST = full("first"), full("second"), f"{fast('first')}:nonce"
RUN_AGAIN = f"{fast('first')}:other"
"""The same execution, which AWS has run once more."""
DIRECT, NEXT_CALL = "direct:pay:request:nonce", "direct:pay:request:other"
"""An invocation of a function, which has asked twice, as for two messages of a batch."""
TICKET = f"ticket:{'a' * 32}"
"""The owner of what a ticket has ended."""
OF_THIS_TRY = f"then f {ID}"
"""The ticket of every lock here."""
SENT, BEFORE, LATER = (f"1970-01-01T00:16:{second}.000Z" for second in (40, 39, 41))
"""NOW, a second before it, and one after it."""
FOLDER = f"requests/acme/charge-payment/{hashlib.sha256(ID.encode()).hexdigest()}"
OBJECTS = {f"{FOLDER}/mine": json.dumps(REQUEST), f"{FOLDER}/other": json.dumps(OTHER), "results/one": "[1]"}


# ---- records ----


def _shard(status: str) -> str:
    return f"{status}#{hashlib.sha256(ID.encode()).hexdigest()[0]}"


def lock(owner: str = FIRST, fence: int = 1, **more: Any) -> Item:
    kept = {"request": json.dumps(REQUEST)}
    common = {"id": ID, "fingerprint": "f", "owner": owner, "fence": fence, "attempts": fence, "onCrash": "retry"}
    held = {"status": "IN_PROGRESS", "leaseExpiresAt": 900, "openShard": _shard("IN_PROGRESS"), "acquiredAt": "then"}
    return {**common, **held, **kept, **more}


def _finished(owner: str, fence: int, **more: Any) -> Item:
    open_only = {"leaseExpiresAt", "openShard", "request"}
    kept = {name: value for name, value in lock(owner, fence).items() if name not in open_only}
    return {**kept, "finishedAt": BEFORE, "expiresAt": 5000, **more}


def done(owner: str = FIRST, fence: int = 1, **more: Any) -> Item:
    answer = {} if "resultRef" in more else {"result": "1"}
    return _finished(owner, fence, status="COMPLETED", **{**answer, **more})


def failed(owner: str = FIRST, fence: int = 1, **more: Any) -> Item:
    return _finished(owner, fence, status="FAILED", **{"error": error("PermanentError"), **more})


def forgotten(owner: str = "operator-1", fence: int = 2, **more: Any) -> Item:
    """As `once release --forget` leaves a record."""
    return failed(owner, fence, **{"error": {"name": "ReleasedByOperator", "message": FORGOTTEN}, **more})


def quarantined(owner: str = FIRST, fence: int = 1, why: str = "AttemptsUsedUp", **more: Any) -> Item:
    said = {"status": "QUARANTINED", "openShard": _shard("QUARANTINED"), "error": error(why), "finishedAt": BEFORE}
    return {**lock(owner, fence), **said, **more}


def error(name: str) -> Item:
    return {"name": name, "message": ""}


def ref(key: str, **more: Any) -> Item:
    body = OBJECTS.get(key, "").encode()
    return {"bucket": "b", "key": key, "sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body), **more}


def large(record: Item, key: str = f"{FOLDER}/mine") -> Item:
    """The same, its request in the bucket."""
    return {**without(record, "request"), "requestRef": ref(key)}


def without(record: Item, *names: str) -> Item:
    return {name: value for name, value in record.items() if name not in names}


# ---- what happens ----


def change(
    old: Item | None,
    new: Item | None,
    by: str = "",
    state: str = "",
    *,
    kind: str = "execution",
    fence: int = 0,
    owner_is: str = "ABORTED",
) -> Write:
    """By the record's owner if nothing is said; `owner_is` is the status of the owner before, `fence` a function's."""
    return Write(NOW, Actor(kind, by or (new or old or {})["owner"], state, fence), ID, old, new, owner_is)


def by_nobody(old: Item | None, new: Item | None, **more: Any) -> Write:
    """A change of which is not known who made it."""
    return replace(change(old, new, **more), actor=None)


def by_operator(old: Item | None, new: Item | None) -> Write:
    return replace(change(old, new), actor=Actor("operator"))


def by_direct(old: Item | None, new: Item | None, by: str = DIRECT, **more: Any) -> Write:
    """A change by a function of the direct lane."""
    return change(old, new, by, kind="direct", **more)


def by_ticket(old: Item | None, new: Item | None, ticket: str = OF_THIS_TRY) -> Write:
    """A change by work elsewhere."""
    return replace(change(old, new), actor=Actor("ticket", ticket))


def start(fence: int = 1, owner: str = FIRST) -> Start:
    return Start(ID, owner, fence)


def ran(
    owner: str = FIRST,
    *calls: tuple[int, str | Item | None],
    given: Any = REQUEST,
    at: str = SENT,
    saw: Any = (),
    **more: Any,
) -> Execution:
    """An execution that began at a time, and each of its calls of business logic: fence, and its error's name or "".

    None is an error without a name, a number the status of an answer as for API Gateway, an object the answer itself.
    Before those calls it `saw`: states that ended, each with the status that was read, or the name of what was started.
    """
    arn = owner if owner.startswith("direct:") else owner.removesuffix(":nonce").removesuffix(":other")
    ended = {"status": "SUCCEEDED", "output": None, "error": None, "states": ("ExecuteBusinessLogic",), **more}
    happened = [event for state, status in saw for event in _read(state, status)]
    happened += [event for fence, name in calls for event in _called(owner, fence, name)]
    events = [{"timestamp": at, **event} for event in ({}, *happened)]
    return Execution(
        arn.split(":")[7 if ":express:" in arn else -1],
        arn,
        ended["status"],
        given,
        ended["output"],
        ended["error"],
        None,
        ended["states"],
        0,
        events,
    )


def _read(state: str, status: str) -> list[dict[str, Any]]:
    told = {"ExecutionArn": full(status)} if state == "HandOver" else {"Item": {"status": {"S": status}}}
    output = json.dumps(told if status else {})
    return [_entered(state), {"taskStartedEventDetails": {}}, {"taskSucceededEventDetails": {"output": output}}]


def _called(owner: str, fence: int, told: str | Item | None) -> list[dict[str, Any]]:
    lock = {"id": ID, "owner": owner, "fence": fence}
    event = {"Payload": {"lock": lock, "replyToken": "token"} if owner else {"amount": 1}}
    answer = {"output": json.dumps({"Payload": told})} if isinstance(told, Mapping) else {}
    error = {"error": told or ""} if told or told is None else {}
    is_error = told is None or (error and not answer)
    end = {"taskFailedEventDetails": error} if is_error else {"taskSucceededEventDetails": answer}
    sent = {"taskScheduledEventDetails": {"parameters": json.dumps(event)}}
    begun, over = {"taskStartedEventDetails": {}}, {"taskSucceededEventDetails": {}}
    return [_entered("ExecuteBusinessLogic"), sent, begun, end, _entered("CacheResponse"), sent, over]


def _entered(state: str) -> dict[str, Any]:
    return {"stateEnteredEventDetails": {"name": state}}


def answered(
    name: str, given: Any = REQUEST, states: tuple[str, ...] = ("ReadRecord",), at: str = SENT, **answer: Any
) -> Execution:
    """A duplicate that got an answer."""
    output = {"id": ID, "disposition": "REPLAYED", **answer}
    return ran(full(name), given=given, output=output, states=states, at=at)


def judged(*happened: Happened, at_rest: bool = True) -> list[Fault]:
    """The broken promises; what is left is what was written last."""
    writes = [each for each in happened if isinstance(each, Write)]
    records = {each.id: each.new for each in writes}
    seen = Evidence(
        writes,
        [each for each in happened if isinstance(each, Start)],
        [each for each in happened if isinstance(each, Execution)],
        [each["executionArn"] for each in happened if isinstance(each, Mapping) and "byHttp" in each],
        {id: record for id, record in records.items() if record},
        [each for each in happened if isinstance(each, Mapping) and "byHttp" not in each],
        lambda ref: OBJECTS[ref["key"]].encode() if ref["key"] in OBJECTS else None,
        NOW,
    )
    return faults_in(seen, at_rest=at_rest)


@dataclass(frozen=True)
class Rule:
    told: str
    """Promise, kind, and a part of what is said of the first example; nothing is said of the second."""
    red: Happened | Sequence[Happened]
    green: Happened | Sequence[Happened]

    def check(self, *, at_rest: bool = True) -> None:
        red, green = (judged(*_all(each), at_rest=at_rest) for each in (self.red, self.green))
        broken, _, told = self.told.partition(": ")
        assert any(f"{each.promise} {each.kind}" == broken and told in each.what for each in red), red
        assert not green, green


def _all(happened: Happened | Sequence[Happened]) -> Sequence[Happened]:
    return happened if isinstance(happened, list) else [happened]
