"""Ways through the operation machine that a run on the local cloud takes, by what happens to it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from http_client import Client
from scenario import A_LEASE, BUSINESS, charge, dies, id_of

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Interceptor
from oncekit.local.faults import answer_lost, answers, before, fails

FUNCTIONS = Path(__file__).parents[1] / "functions"
ASKING = Path(__file__).parent / "functions" / "asking"
ELSEWHERE = "ConditionalCheckFailedException"
"""What a write is told whose record somebody else has changed."""
DENIED = "AccessDeniedException"
LARGE = {"operation": "build-report", "tenant": "acme", "idempotencyKey": "r", "payload": {"bytes": 9000}}
DECLINED = {**charge(), "payload": {**charge()["payload"], "card": "declined"}}


def _twice(cloud: LocalCloud, request: dict[str, Any], *struck: Interceptor, **more: Any) -> Execution:
    """A duplicate of what has ended; the faults strike it, and not the first one."""
    cloud.run(request)
    with cloud.intercept(*struck):
        return cloud.run(request | more)


def _with(
    cloud: LocalCloud, *struck: Interceptor, request: dict[str, Any] | None = None, lane: Any = "full"
) -> Execution:
    with cloud.intercept(*struck):
        return cloud.run(charge() if request is None else request, lane=lane)


def _met(
    cloud: LocalCloud, state: str, *struck: Interceptor, later: float = A_LEASE, lane: Any = "full", **more: Any
) -> Execution:
    """A duplicate of an owner that was stopped in a state, as long after its death."""
    request = charge(onCrash=more.pop("onCrash", "retry"))
    with cloud.intercept(dies(cloud, state)):
        cloud.run(request)
    cloud.clock.advance(later)  # type: ignore[attr-defined]  # the shared cloud's time is virtual
    with cloud.intercept(*struck):
        return cloud.run(request | more, lane=lane)


def _gone(cloud: LocalCloud, request: dict[str, Any]) -> Callable[[], None]:
    """Somebody deletes the record."""

    def forget() -> None:
        table = cloud.outputs["TableName"]
        cloud.client("dynamodb").delete_item(TableName=table, Key={"id": {"S": id_of(request)}})

    return forget


def _crashed(nth: int | range = 1) -> Interceptor:
    return fails("Lambda.Unknown", state=BUSINESS, nth=nth)


def _raises(error: str) -> Interceptor:
    body = io.BytesIO(json.dumps({"errorType": error, "errorMessage": "so"}).encode())
    return answers({"StatusCode": 200, "FunctionError": "Unhandled", "Payload": body}, state=BUSINESS)


def _by_http(cloud: LocalCloud) -> Execution:
    headers = {"Idempotency_Key": "k", "Content_Type": "application/json"}
    Client(cloud).send("POST", "/operations/charge-payment", "{}", **headers)
    return cloud.describe(cloud.http_calls.kept[-1].execution)


def _asks_for_somebody(cloud: LocalCloud, times: int = 1) -> Execution:
    cloud.add_function("ask-somebody", ASKING)
    ended = [cloud.run(charge() | {"operation": "ask-somebody"}) for _ in range(times)]
    return ended[-1]


def _in_flight(cloud: LocalCloud, *struck: Interceptor) -> Execution:
    """A request that does not fit beside its lock, in the fast lane."""
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    payload = {"bytes": 10, "text": "y" * 5000}
    return _with(
        cloud, *struck, request={"operation": "plain-echo", "idempotencyKey": "e", "payload": payload}, lane="fast"
    )


ALIVE = answers({"status": "RUNNING"}, state="CheckOwner", nth=0)
PATHS: dict[str, Callable[[LocalCloud], Execution]] = {
    "executed": lambda cloud: cloud.run(charge()),
    "executed, large": lambda cloud: cloud.run(LARGE),
    "executed in the fast lane": lambda cloud: cloud.run(charge(), lane="fast"),
    "by HTTP, invalid": _by_http,
    "replayed": lambda cloud: _twice(cloud, charge()),
    "another payload": lambda cloud: _twice(cloud, charge(), payload={"orderId": "1", "amount": 1, "currency": "EUR"}),
    "invalid": lambda cloud: cloud.run({}),
    "no function": lambda cloud: cloud.run(charge() | {"operation": "ask-somebody"}),
    "no function, and the lock is another's": lambda cloud: _with(
        cloud, fails(ELSEWHERE, state="UndoLock"), request=charge() | {"operation": "ask-somebody"}
    ),
    "no function in the fast lane, and no queue takes it": lambda cloud: _with(
        cloud, fails(DENIED, state="KeepRefused", nth=0), request=charge() | {"operation": "ask-somebody"}, lane="fast"
    ),
    "no function in the fast lane, and the lock cannot be undone": lambda cloud: _with(
        cloud, fails(DENIED, state="UndoLock", nth=0), request=charge() | {"operation": "ask-somebody"}, lane="fast"
    ),
    "quarantined": _asks_for_somebody,
    "quarantined before": lambda cloud: _asks_for_somebody(cloud, 2),
    "quarantined elsewhere": lambda cloud: _met(
        cloud, BUSINESS, fails(ELSEWHERE, state="RecordQuarantine"), onCrash="quarantine"
    ),
    "failed for good": lambda cloud: cloud.run(DECLINED),
    "failed before": lambda cloud: _twice(cloud, DECLINED),
    "failed before, and tried again": lambda cloud: _twice(cloud, DECLINED, onFailed="retry"),
    "failed before, and tried again by another": lambda cloud: _twice(
        cloud, DECLINED, fails(ELSEWHERE, state="RetryFailed"), onFailed="retry"
    ),
    "failed, and the record is gone": lambda cloud: _with(
        cloud, before(_gone(cloud, DECLINED), state="RecordFailure"), request=DECLINED
    ),
    "crashed once": lambda cloud: _with(cloud, _crashed()),
    "crashed, and the lock is another's": lambda cloud: _with(cloud, _crashed(), fails(ELSEWHERE, state="RenewLock")),
    "crashed in the fast lane, whose lock cannot be renewed": lambda cloud: _with(
        cloud, _crashed(), fails(DENIED, state="RenewLock", nth=0), lane="fast"
    ),
    "the same, and released by another": lambda cloud: _with(
        cloud, _crashed(), fails(DENIED, state="RenewLock", nth=0), fails(ELSEWHERE, state="ReleaseLock"), lane="fast"
    ),
    "the same, and it cannot be released": lambda cloud: _with(
        cloud,
        _crashed(),
        fails(DENIED, state="RenewLock", nth=0),
        fails(DENIED, state="ReleaseLock", nth=0),
        lane="fast",
    ),
    "crashed, and may have had its effect": lambda cloud: _with(
        cloud, answer_lost(state=BUSINESS), request=charge(onCrash="quarantine")
    ),
    "was replaced": lambda cloud: _with(
        cloud, _raises("LockLostError"), before(_gone(cloud, charge()), state="ReadRecord")
    ),
    "finished too late": lambda cloud: _with(cloud, before(_gone(cloud, charge()), state="Finalize")),
    "throttled lock": lambda cloud: _with(cloud, fails("ThrottlingException", state="AcquireLock", nth=range(1, 3))),
    "a lock whose answers are lost": lambda cloud: _with(cloud, answer_lost(state="AcquireLock", nth=0)),
    "finalize denied": lambda cloud: _with(cloud, fails(DENIED, state="Finalize", nth=0)),
    "meets an owner": lambda cloud: _met(cloud, BUSINESS, later=0),
    "meets an owner, and rejects": lambda cloud: _met(cloud, BUSINESS, later=0, onConflict="reject"),
    "waits until the lease is over": lambda cloud: _met(cloud, BUSINESS, later=0, onConflict="wait"),
    "the owner lives": lambda cloud: _met(cloud, BUSINESS, ALIVE),
    "the owner lives, and rejects": lambda cloud: _met(cloud, BUSINESS, ALIVE, onConflict="reject"),
    "the owner lives, and is waited for": lambda cloud: _met(cloud, BUSINESS, ALIVE, onConflict="wait"),
    "taken over from the dead": lambda cloud: _met(cloud, BUSINESS),
    "taken over by another": lambda cloud: _met(cloud, BUSINESS, fails(ELSEWHERE, state="TakeOverLock")),
    "dead, and may have had its effect": lambda cloud: _met(cloud, BUSINESS, onCrash="quarantine"),
    "dead after its effect": lambda cloud: _met(cloud, "Finalize"),
    "redriven by another": lambda cloud: _met(cloud, "Finalize", fails(ELSEWHERE, state="ClaimRedrive")),
    "cannot be redriven": lambda cloud: _met(cloud, "Finalize", fails("ExecutionNotRedrivable", state="RedriveOwner")),
    "its history is denied": lambda cloud: _met(cloud, BUSINESS, fails(DENIED, state="ReadOwnerHistory", nth=0)),
    "its history goes on, and cannot be read further": lambda cloud: _met(
        cloud, BUSINESS, answers({"events": [], "nextToken": "next"}, state="ReadOwnerHistory")
    ),
    "kept in flight": _in_flight,
    "cannot be kept in flight": lambda cloud: _in_flight(cloud, fails(DENIED, state="KeepInFlight", nth=0)),
    "handed over": lambda cloud: _met(cloud, BUSINESS, lane="fast"),
    "handed over, and rejects": lambda cloud: _met(cloud, BUSINESS, lane="fast", onConflict="reject"),
    "handed over, and waits": lambda cloud: _met(cloud, BUSINESS, lane="fast", onConflict="wait"),
    "refused, but no queue takes it": lambda cloud: _with(
        cloud, fails(DENIED, state="RefuseRequest", nth=0), request={}, lane="fast"
    ),
}
