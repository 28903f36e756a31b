"""`once replay-rejected`: refused requests are started again, or discarded; each message goes only after that."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from oncekit.cli.deployed.originals import input_of
from oncekit.cli.deployed.prospects import REFUSED_AGAIN, no_input, why_deadly, why_refused_again
from oncekit.cli.deployed.rejected_message import Rejected, UnreadableMessage, read
from oncekit.cli.deployed.stack import Stack
from oncekit.console.requests import id_in

HIDDEN_SECONDS = 120
"""How long a received message stays out of others' sight; one that is not replayed is shown again at the end."""
UNREADABLE, NO_INPUT, NOT_STARTED = "UNREADABLE", "NO_INPUT", "NOT_STARTED"
LEFT = (UNREADABLE, NO_INPUT, NOT_STARTED)
"""Outcomes of messages that stay in the queue because they could not be replayed."""
WOULD_START = "WOULD_START"
DISCARDED, WOULD_DISCARD = "DISCARDED", "WOULD_DISCARD"
GOES = ("STARTED", DISCARDED)
NOTHING = {**dict.fromkeys(("id", "error", "message", "refused", "executionArn", "reason")), "outcome": "", "copies": 0}
"""What is known of a message before it is looked at."""


def replay(stack: Stack, error: str | None, dry_run: bool, limit: int, discard: bool = False) -> list[dict[str, Any]]:
    """Start refused requests again, or discard them: {messageId, id, error, message, refused, outcome, executionArn,
    reason, copies} of each; `id` is None where the request has none, `refused` the execution that refused it.
    A message without the request can have its names in the same fields.

    As many messages are looked at as were in the queue when this began, each once: what is refused again is newer.
    Recovery may have kept the request of one dead execution several times: it is started once, and `copies` says how
    many messages more there were of it, which go where it goes.
    """
    queue, url = stack.client("sqs"), stack.outputs["RejectedQueueUrl"]
    left = _in_queue(queue, url)
    held: dict[str, str] = {}
    done: dict[Hashable, dict[str, Any]] = {}
    try:
        while left > 0 and len(done) < limit:
            received = _receive(queue, url)
            fresh = [each for each in received if each["MessageId"] not in held and not _refused_again(each, done)]
            held |= {each["MessageId"]: each["ReceiptHandle"] for each in received}
            if not fresh:
                break
            for message in fresh[:left]:
                left -= 1
                outcome = _replay_one(stack, message, done, _Asked(error, dry_run, discard), limit)
                if outcome in GOES:
                    queue.delete_message(QueueUrl=url, ReceiptHandle=held[message["MessageId"]])
                    del held[message["MessageId"]]  # only now: one that could not be deleted is shown again at the end
    finally:
        for receipt in held.values():
            queue.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
    return list(done.values())


def _in_queue(queue: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(queue.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def _refused_again(message: dict[str, Any], done: dict[Hashable, dict[str, Any]]) -> bool:
    """Whether an execution that was started just now put it there."""
    return any(each["executionArn"] and each["executionArn"] in message["Body"] for each in done.values())


def _receive(queue: Any, url: str) -> list[dict[str, Any]]:
    answer = queue.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=HIDDEN_SECONDS
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


@dataclass(frozen=True)
class _Asked:
    """Which messages, and what to do with them."""

    error: str | None
    dry_run: bool
    discard: bool


def _replay_one(
    stack: Stack, message: dict[str, Any], done: dict[Hashable, dict[str, Any]], asked: _Asked, limit: int
) -> str | None:
    """The outcome of a message, which `done` gets, or None when it is refused for another reason than asked for."""
    about = {"messageId": message["MessageId"], **NOTHING}
    try:
        rejected = read(message["Body"])
    except UnreadableMessage as odd:
        if asked.error not in (None, UNREADABLE) or len(done) >= limit:
            return None
        outcome = (WOULD_DISCARD if asked.dry_run else DISCARDED) if asked.discard else UNREADABLE
        done[message["MessageId"]] = {**about, "outcome": outcome, "reason": str(odd)}
        return outcome
    if asked.error not in (None, rejected.error):
        return None
    if rejected in done:
        done[rejected]["copies"] += 1
        return str(done[rejected]["outcome"])
    if len(done) >= limit:
        return None
    said = {"id": rejected.id, "error": rejected.error, "message": rejected.message, "refused": rejected.refused}
    done[rejected] = {**about, **said, **_outcome(stack, rejected, asked)}
    return str(done[rejected]["outcome"])


def prospect(stack: Stack, rejected: Rejected) -> tuple[str, str]:
    """What a dry run says of a request: the outcome, and the reason; empty where there is none."""
    found = _outcome(stack, rejected, _Asked(None, True, False))
    return str(found["outcome"]), found.get("reason") or ""


def _outcome(stack: Stack, rejected: Rejected, asked: _Asked) -> dict[str, str | None]:
    if asked.discard:
        return {"outcome": WOULD_DISCARD if asked.dry_run else DISCARDED}
    text = input_of(stack, rejected.refused) if rejected.text is None else rejected.text
    if text is None:
        return {"outcome": NO_INPUT, "reason": no_input(stack, rejected)}
    about = {"id": rejected.id or id_in(text)}
    if deadly := why_deadly(rejected, text):
        return {**about, "outcome": NOT_STARTED, "reason": deadly}
    if not asked.dry_run:
        return {**about, **_start(stack, rejected, text)}
    if again := why_refused_again(stack, rejected, text):
        return {**about, "outcome": "WOULD_BE_REFUSED", "reason": again}
    return {**about, "outcome": WOULD_START, "reason": REFUSED_AGAIN.get(rejected.error)}


def _start(stack: Stack, rejected: Rejected, text: str) -> dict[str, str | None]:
    """Named by what refused it and by the request: a copy of its message, or one that came back, starts no more."""
    client = stack.client("stepfunctions")
    name = f"replay-{hashlib.sha256(f'{rejected.refused} {text}'.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=text)["executionArn"]
    except client.exceptions.ExecutionAlreadyExists:
        started = stack.execution(name)
    except client.exceptions.InvalidExecutionInput as refused:
        return {"outcome": NOT_STARTED, "reason": str(refused)}
    return {"outcome": "STARTED", "executionArn": started}
