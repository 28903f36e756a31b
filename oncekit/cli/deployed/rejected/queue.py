"""The queue of refused requests: what is in it is listed, started again, or deleted; a message goes only after that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from oncekit.cli.deployed.executions.owners import input_of
from oncekit.cli.deployed.rejected.message import Rejected, UnreadableMessage, read
from oncekit.cli.deployed.rejected.prospects import why_refused_again
from oncekit.cli.deployed.stack import Stack
from oncekit.console.requests import id_in

HIDDEN_SECONDS = 120
"""How long a received message stays out of others' sight; one that stays in the queue is shown again at the end."""
MOST = 1000
"""Requests that are handled at once where nobody says how many."""
CAN_START, STARTED, DELETED = "CAN_START", "STARTED", "DELETED"
REFUSED_AGAIN, NO_INPUT, UNREADABLE = "REFUSED_AGAIN", "NO_INPUT", "UNREADABLE"
STUCK = (REFUSED_AGAIN, NO_INPUT, UNREADABLE)
"""Outcomes of messages that nobody can start: they stay in the queue until they are deleted."""
Doing = Literal["list", "start", "delete"]


@dataclass(frozen=True)
class Which:
    """Of which messages: with this error, about an id that is wanted."""

    error: str | None = None
    wanted: Callable[[str | None], bool] = lambda _: True

    @classmethod
    def of(cls, id: str) -> Which:
        return cls(None, lambda each: each == id)


def handle(stack: Stack, doing: Doing, which: Which = Which(), limit: int = MOST) -> list[dict[str, Any]]:
    """List refused requests, start those again that can succeed, or delete them: {messageId, id, error, message,
    refused, outcome, executionArn, reason} of each. `id` is None where the request has none, `refused` the execution
    that refused it.

    As many messages are looked at as were in the queue when this began, each once: what is refused again is newer.
    """
    queue, url = stack.client("sqs"), stack.outputs["RejectedQueueUrl"]
    left = _in_queue(queue, url)
    held: dict[str, str] = {}
    done: list[dict[str, Any]] = []
    try:
        while left > 0 and len(done) < limit:
            received = _receive(queue, url)
            fresh = [each for each in received if each["MessageId"] not in held]
            held |= {each["MessageId"]: each["ReceiptHandle"] for each in received}
            if not fresh:
                break
            for message in fresh[: min(left, limit - len(done))]:
                left -= 1
                if (told := _handle_one(stack, message, doing, which)) is None:
                    continue
                done.append(told)
                if told["outcome"] in (STARTED, DELETED):
                    queue.delete_message(QueueUrl=url, ReceiptHandle=held[message["MessageId"]])
                    del held[message["MessageId"]]  # only now: one that could not be deleted is shown again at the end
    finally:
        for receipt in held.values():
            queue.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
    return done


def _in_queue(queue: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(queue.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def _receive(queue: Any, url: str) -> list[dict[str, Any]]:
    answer = queue.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=HIDDEN_SECONDS
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def _handle_one(stack: Stack, message: dict[str, Any], doing: Doing, which: Which) -> dict[str, Any] | None:
    """What is told of a message; None when it is not asked for."""
    odd, text = "", None
    try:
        rejected = read(message["Body"])
    except UnreadableMessage as error:
        odd, rejected = str(error), Rejected(UNREADABLE, None, "", None, None, None)
    if which.error not in (None, rejected.error):
        return None
    if not odd:
        text = _text_of(stack, rejected)
    id = rejected.id or (text and id_in(text)) or None
    if not which.wanted(id):
        return None
    outcome, reason, started = (UNREADABLE, odd, None) if odd else _outcome(stack, rejected, text, doing)
    return {
        "messageId": message["MessageId"],
        "id": id,
        "error": rejected.error,
        "message": rejected.message,
        "refused": rejected.refused or None,
        "outcome": DELETED if doing == "delete" else outcome,
        "executionArn": started,
        "reason": reason,
    }


def _text_of(stack: Stack, rejected: Rejected) -> str | None:
    return input_of(stack, rejected.refused) if rejected.text is None else rejected.text


def prospect(stack: Stack, rejected: Rejected) -> tuple[bool, str]:
    """Whether nobody can start a request, and why; empty where there is no reason."""
    outcome, reason, _ = _outcome(stack, rejected, _text_of(stack, rejected), "list")
    return outcome in STUCK, reason or ""


def _outcome(stack: Stack, rejected: Rejected, text: str | None, doing: Doing) -> tuple[str, str | None, str | None]:
    """The outcome, its reason, and the execution that was started."""
    if doing == "delete":
        return DELETED, None, None
    if text is None:
        why = rejected.omitted or "ask its sender"
        return NO_INPUT, f"its request is neither in the message nor with {rejected.refused}: {why}", None
    if again := why_refused_again(stack, rejected, text):
        return REFUSED_AGAIN, again, None
    if doing == "list":
        return CAN_START, None, None
    return STARTED, None, _start(stack, rejected, text)


def _start(stack: Stack, rejected: Rejected, text: str) -> str:
    """The execution, named by what refused it and by the request: a copy of the message starts no more."""
    client = stack.client("stepfunctions")
    name = f"replay-{hashlib.sha256(f'{rejected.refused} {text}'.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
    try:
        return str(client.start_execution(stateMachineArn=stack.start_at, name=name, input=text)["executionArn"])
    except client.exceptions.ExecutionAlreadyExists:
        return stack.execution(name)
