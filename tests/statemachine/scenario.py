"""Requests, ids and stored answers as the scenarios write them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from commands import Sessions
from late_calls import answers

from oncekit.contract.lanes import FULL, Lane
from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.interceptors import fails, never_arrives
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.stack import decisions
from oncekit.stack.records import read
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, connect

A_LEASE = 3600
"""Seconds after which every lease is over, in either lane."""
LANES = pytest.mark.parametrize("lane", ["fast", "full"])
BUSINESS = "ExecuteBusinessLogic"

SESSIONS = Sessions()
_numbers = itertools.count(1)


def charge(key: str = "order-1", amount: int = 4200, **more: Any) -> dict[str, Any]:
    payload = {"orderId": "12345", "amount": amount, "currency": "EUR"}
    return {"operation": "charge-payment", "tenant": "acme", "idempotencyKey": key, "payload": payload, **more}


def scripted(*script: dict[str, Any], key: str | None = None, **more: Any) -> dict[str, Any]:
    """A request whose business logic does `script[attempt - 1]`; each gets a key of its own unless told."""
    key = key or f"scripted-{next(_numbers)}"
    return {"operation": "scripted", "idempotencyKey": key, "payload": {"script": list(script)}, **more}


def id_of(request: dict[str, Any]) -> str:
    return f"{request.get('tenant', 'default')}#{request['operation']}#{request['idempotencyKey']}"


def record_of(cloud: LocalCloud, request: dict[str, Any]) -> dict[str, Any]:
    record = cloud.record(id_of(request))
    assert record is not None, f"no record of {id_of(request)}"
    return record


def answer(cloud: LocalCloud, execution: Execution) -> bytes:
    """The bytes of the result, from the output or from the bucket."""
    assert execution.status == "SUCCEEDED", (execution.error, execution.cause)
    output = execution.output
    if "result" in output:
        text: str = output["result"]
        return text.encode()
    ref = output["resultRef"]
    body: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
    assert hashlib.sha256(body).hexdigest() == ref["sha256"]
    return body


def result(cloud: LocalCloud, execution: Execution) -> Any:
    return json.loads(answer(cloud, execution))


def cause(execution: Execution) -> dict[str, Any]:
    assert execution.status == "FAILED", execution.output
    parsed: dict[str, Any] = json.loads(execution.cause or "{}")
    return parsed


def rows(cloud: LocalCloud, table: str) -> int:
    count: int = cloud.client("dynamodb").scan(TableName=cloud.resources[table], Select="COUNT")["Count"]
    return count


def dies(cloud: LocalCloud, state: str, *, after: bool = False, only: int = 1) -> Interceptor:
    """The execution is stopped just before, or just after, its call in a state; the first `only` executions there."""
    struck: set[str] = set()

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != state or call.execution_arn in struck or len(struck) >= only:
            return proceed()
        struck.add(call.execution_arn)
        if after:
            proceed()
        cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
        raise ConnectionError

    return strike


def outage(cloud: LocalCloud, seconds: float, code: str, *states: str, status: int = 400) -> Interceptor:
    """From now on, for so many seconds, every call in these states is refused with this error."""
    over = cloud.clock.now() + seconds
    refuse = fails(code, status=status, nth=0)

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        return refuse(call, proceed) if call.state in states and cloud.clock.now() < over else proceed()

    return strike


def believed_dead(only: int = 1) -> Interceptor:
    """What is said of an owner is that it ended."""
    return answers({"status": "ABORTED"}, state="CheckOwner", nth=range(1, only + 1))


def put(cloud: LocalCloud, request: Any) -> None:
    """Request an operation by an event."""
    entry = {"Source": "shop", "DetailType": "OperationRequested", "Detail": json.dumps(request)}
    answer = cloud.client("events").put_events(Entries=[{**entry, "EventBusName": cloud.outputs["EventBusName"]}])
    assert answer["FailedEntryCount"] == 0


def operations(cloud: LocalCloud) -> list[Execution]:
    listed = cloud.client("stepfunctions").list_executions(stateMachineArn=cloud.outputs["StateMachineArn"])
    return [cloud.describe(each["executionArn"]) for each in listed["executions"]]


def run(cloud: LocalCloud, request: Any, lane: Lane = FULL) -> Execution:
    """One execution, at its end, and at the end of what it started in the full lane."""
    ended = cloud.wait(cloud.start(request, lane=lane))
    for each in operations(cloud):
        cloud.wait(each.arn)
    return ended


def by_recovery(cloud: LocalCloud) -> list[Execution]:
    return [each for each in operations(cloud) if each.name.startswith("recover-")]


def dead(cloud: LocalCloud, request: dict[str, Any], state: str, *, after: bool = False) -> Execution:
    with cloud.intercept(dies(cloud, state, after=after)):
        ended = cloud.run(request)
    assert ended.status == "ABORTED"
    return ended


def ends_in(cloud: LocalCloud, request: Any, state: str) -> Execution:
    """An owner in the fast lane that ends in a state, before its call arrives."""

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != state or ":express:" not in call.execution_arn:
            return proceed()
        cloud.executions.find(call.execution_arn).stop("Died", "the local cloud ends it: AWS has no call for this")
        raise ConnectionError

    with cloud.intercept(strike):
        ended = cloud.wait(cloud.start(request, lane="fast"))
    assert ended.status == "ABORTED"
    return ended


def fails_until_the_end(cloud: LocalCloud, request: Any, state: str) -> Execution:
    """An owner in the fast lane whose calls in a state fail until AWS ends it, after its 300 seconds."""
    with cloud.intercept(never_arrives(state=state, nth=0)):
        ended = cloud.wait(cloud.start(request, lane="fast"))
    assert ended.status == "TIMED_OUT"
    return ended


def died(cloud: LocalCloud, request: Any, lane: Lane) -> Execution:
    """An owner of either lane that ended before its business logic, with its lease over."""
    ended = ends_in(cloud, request, BUSINESS) if lane == "fast" else dead(cloud, request, BUSINESS)
    cloud.clock.advance(A_LEASE)  # type: ignore[attr-defined]  # the clock of tests is virtual
    return ended


def operators(cloud: LocalCloud) -> Stack:
    """The stack as an operator's command has it."""
    return replace(connect(Place("once"), open_session=SESSIONS.at), now=cloud.clock.now)


def released(cloud: LocalCloud, request: dict[str, Any]) -> None:
    """As `once release` does it, whatever has become of the owner."""
    stack = operators(cloud)
    decisions.release(stack, read(stack, id_of(request)))


def begun_again(cloud: LocalCloud, request: dict[str, Any]) -> None:
    """As `once retry` does it, but for the start, which is lost."""
    stack = operators(cloud)
    with suppress(ClientError):
        decisions.retry(replace(stack, outputs={**stack.outputs, "StateMachineAliasArn": "none"}), id_of(request))
