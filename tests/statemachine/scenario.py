"""Requests, ids and stored answers as the scenarios write them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

from oncekit.local import Execution, LocalCloud
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.local.faults import answers, fails

A_LEASE = 3600
"""Seconds after which every lease is over."""
BUSINESS = "ExecuteBusinessLogic"

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


def believed_dead(only: int = 1) -> tuple[Interceptor, Interceptor]:
    """What is said of an owner is that it ended in business logic, in its description and in its history."""
    events = [
        {"id": 9, "timestamp": 0, "type": "ExecutionAborted", "executionAbortedEventDetails": {}},
        {"id": 8, "timestamp": 0, "type": "TaskStateEntered", "stateEnteredEventDetails": {"name": BUSINESS}},
    ]
    struck = range(1, only + 1)
    return (
        answers({"status": "ABORTED"}, state="CheckOwner", nth=struck),
        answers({"events": events}, state="ReadOwnerHistory", nth=struck),
    )


def operations(cloud: LocalCloud) -> list[Execution]:
    listed = cloud.client("stepfunctions").list_executions(stateMachineArn=cloud.outputs["StateMachineArn"])
    return [cloud.describe(each["executionArn"]) for each in listed["executions"]]


def by_recovery(cloud: LocalCloud) -> list[Execution]:
    return [each for each in operations(cloud) if each.name.startswith(("recover-", "again-"))]


def dead(cloud: LocalCloud, request: dict[str, Any], state: str, *, after: bool = False) -> Execution:
    with cloud.intercept(dies(cloud, state, after=after)):
        ended = cloud.run(request)
    assert ended.status == "ABORTED"
    return ended
