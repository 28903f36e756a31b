"""The queue of refused requests: what is in it is listed, started again, or deleted; a message goes only after that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

from oncekit.cli.deployed.rejected.message import Rejected, UnreadableMessage, read
from oncekit.cli.deployed.rejected.prospects import no_input, why_refused_again
from oncekit.cli.deployed.requests.original import input_of
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
NOTHING = {**dict.fromkeys(("id", "error", "message", "refused", "executionArn", "reason")), "outcome": "", "copies": 0}
"""What is known of a message before it is looked at."""


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
    refused, outcome, executionArn, reason, copies} of each. `id` is None where the request has none, `refused` the
    execution that refused it.

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
            fresh = [each for each in received if each["MessageId"] not in held and not _is_newer(each, done)]
            held |= {each["MessageId"]: each["ReceiptHandle"] for each in received}
            if not fresh:
                break
            for message in fresh[:left]:
                left -= 1
                if _handle_one(stack, message, done, doing, which, limit) in (STARTED, DELETED):
                    queue.delete_message(QueueUrl=url, ReceiptHandle=held[message["MessageId"]])
                    del held[message["MessageId"]]  # only now: one that could not be deleted is shown again at the end
    finally:
        for receipt in held.values():
            queue.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
    return list(done.values())


def _in_queue(queue: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(queue.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def _is_newer(message: dict[str, Any], done: dict[Hashable, dict[str, Any]]) -> bool:
    """Whether an execution that was started just now put it there."""
    return any(each["executionArn"] and each["executionArn"] in message["Body"] for each in done.values())


def _receive(queue: Any, url: str) -> list[dict[str, Any]]:
    answer = queue.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=HIDDEN_SECONDS
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def _handle_one(
    stack: Stack, message: dict[str, Any], done: dict[Hashable, dict[str, Any]], doing: Doing, which: Which, limit: int
) -> str | None:
    """The outcome of a message, which `done` gets, or None when it is not asked for."""
    about = {"messageId": message["MessageId"], **NOTHING}
    try:
        rejected = read(message["Body"])
    except UnreadableMessage as odd:
        if which.error not in (None, UNREADABLE) or len(done) >= limit or not which.wanted(None):
            return None
        outcome = DELETED if doing == "delete" else UNREADABLE
        done[message["MessageId"]] = {**about, "error": UNREADABLE, "outcome": outcome, "reason": str(odd)}
        return outcome
    if which.error not in (None, rejected.error):
        return None
    if rejected in done:
        done[rejected]["copies"] += 1
        return str(done[rejected]["outcome"])
    text = input_of(stack, rejected.refused) if rejected.text is None else rejected.text
    id = rejected.id or (text and id_in(text)) or None
    if len(done) >= limit or not which.wanted(id):
        return None
    said = {"id": id, "error": rejected.error, "message": rejected.message, "refused": rejected.refused}
    done[rejected] = {**about, **said, **_outcome(stack, rejected, text, doing)}
    return str(done[rejected]["outcome"])


def prospect(stack: Stack, rejected: Rejected) -> tuple[bool, str]:
    """Whether nobody can start a request, and why; empty where there is no reason."""
    text = input_of(stack, rejected.refused) if rejected.text is None else rejected.text
    found = _outcome(stack, rejected, text, "list")
    return found["outcome"] in STUCK, found.get("reason") or ""


def _outcome(stack: Stack, rejected: Rejected, text: str | None, doing: Doing) -> dict[str, str | None]:
    if doing == "delete":
        return {"outcome": DELETED}
    if text is None:
        return {"outcome": NO_INPUT, "reason": no_input(stack, rejected)}
    if again := why_refused_again(stack, rejected, text):
        return {"outcome": REFUSED_AGAIN, "reason": again}
    return _start(stack, rejected, text) if doing == "start" else {"outcome": CAN_START}


def _start(stack: Stack, rejected: Rejected, text: str) -> dict[str, str | None]:
    """Named by what refused it and by the request: a copy of its message, or one that came back, starts no more."""
    client = stack.client("stepfunctions")
    name = f"replay-{hashlib.sha256(f'{rejected.refused} {text}'.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=text)["executionArn"]
    except client.exceptions.ExecutionAlreadyExists:
        started = stack.execution(name)
    except client.exceptions.InvalidExecutionInput as refused:
        return {"outcome": REFUSED_AGAIN, "reason": str(refused)}
    return {"outcome": STARTED, "executionArn": started}
