"""Messages: what may lie on the queue or the bus. Each is started, refused and kept, or ends in a dead-letter queue."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local import Execution
from oncekit.proof.fuzz.cloud import OPERATION, Lane
from oncekit.proof.fuzz.records import NAMED
from oncekit.proof.fuzz.requests import REFUSED, drawn, has_lambda, opened, sent, verdict
from oncekit.proof.fuzz.stage import DIED
from oncekit.proof.fuzz.values import JSON, Odd

RETRIES = 12
"""Turns of the clock until a message that cannot be started is in its dead-letter queue."""


def case(lane: Lane, dice: random.Random) -> Iterator[str]:
    odd = Odd(dice)
    lane.begin()
    body = _body(odd)
    send = dice.choice((_to_queue, _to_bus))
    with lane.cloud.delivering():
        if not send(lane, body):
            return
        lane.cloud.settle()
        for _ in range(RETRIES):
            if _executions(lane) or _dead(lane):
                break
            lane.clock.advance(3700)
            lane.cloud.settle()
    yield from _ends(lane, body, send is _to_queue)


def _body(odd: Odd) -> str:
    given = drawn(odd)
    if isinstance(given, dict) and odd.chance(0.7) and "operation" in given:
        given["operation"] = OPERATION
    text = sent(given)
    match odd.dice.randrange(9):
        case 0:
            return odd.plain(40) or " "
        case 1:
            return text[: odd.dice.randrange(len(text) + 1)] or " "
        case 2 if text.startswith("{") and len(text) > 2:  # names given twice
            twice = {"operation": OPERATION, "tenant": odd.plain(), "idempotencyKey": "twice"}
            return "{" + json.dumps(twice)[1:-1] + "," + text[1:]
        case 3:
            return " " * odd.dice.randrange(2000) + text
        case 4:
            deep = odd.dice.choice((50, 500, 1500))
            return (
                json.dumps({"operation": OPERATION, "idempotencyKey": ""})[:-1]
                + f', "payload": {"[" * deep}{"]" * deep}}}'
            )
    return text


def _to_queue(lane: Lane, body: str) -> bool:
    try:
        lane.cloud.client("sqs").send_message(QueueUrl=lane.cloud.outputs["RequestQueueUrl"], MessageBody=body)
    except ClientError:
        return False
    return True


def _to_bus(lane: Lane, body: str) -> bool:
    entry = {
        "Source": "fuzz",
        "DetailType": "OperationRequested",
        "EventBusName": lane.cloud.outputs["EventBusName"],
        "Detail": body,
    }
    try:
        answer = lane.cloud.client("events").put_events(Entries=[entry])
    except ClientError:
        return False
    return not answer["FailedEntryCount"]


def _executions(lane: Lane) -> list[Execution]:
    client, machine = lane.cloud.client("stepfunctions"), lane.cloud.outputs["StateMachineArn"]
    arns = [each["executionArn"] for each in client.list_executions(stateMachineArn=machine)["executions"]]
    return [lane.cloud.describe(arn) for arn in arns]


def _dead(lane: Lane) -> int:
    """Messages in the dead-letter queues of queue and bus."""
    client = lane.cloud.client("sqs")
    wanted = ("RequestDeadLetterQueue", "EventDeadLetterQueue")
    names = ["ApproximateNumberOfMessages"]
    urls = [lane.cloud.resources[each] for each in wanted if each in lane.cloud.resources]
    told = [client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"] for url in urls]
    return sum(int(each[names[0]]) for each in told)


def _ends(lane: Lane, body: str, by_queue: bool) -> Iterator[str]:
    way, executions = "queue" if by_queue else "bus", _executions(lane)
    if not executions and not _dead(lane):
        yield f"a message of the {way} is lost: {body[:200]!a}"
    for execution in executions:
        if execution.status == "RUNNING":
            yield f"an execution does not end: {execution.states[-1]}"
        elif execution.error not in {None, *NAMED} and not (execution.error == DIED and _has_lambda(execution)):
            yield f"an execution dies of {execution.error}: {(execution.cause or '')[:200]} for {body[:200]!a}"
        elif execution.error in ("InvalidRequest", "PayloadMismatch", "Unavailable") and not lane.cloud.rejected():
            yield f"a refused request is kept nowhere: {body[:200]!a}"
    yield from _taken(lane, body, executions)
    yield from (f"a role was refused: {denial}" for denial in lane.cloud.denials())


def _taken(lane: Lane, body: str, executions: list[Execution]) -> Iterator[str]:
    """No message of bytes that say something else started business logic."""
    given = _read(body)
    if verdict(given) == REFUSED and lane.cloud.invocations() and '"twice"' not in body:
        yield f"started business logic: {body[:200]!a}"
    for invocation in lane.cloud.invocations():
        request: Any = opened(given)
        if isinstance(request, dict) and invocation.event["idempotencyKey"] != request.get("idempotencyKey"):
            yield f"started business logic for another key: {body[:200]!a}"


def _read(body: str) -> JSON:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _has_lambda(execution: Execution) -> bool:
    given = execution.input
    return has_lambda(json.loads(given) if isinstance(given, str) else given)
