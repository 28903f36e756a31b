"""`once replay-rejected`: refused requests are started again, or discarded; each message goes only after that."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from oncekit.cli.deployed.originals import input_of
from oncekit.cli.deployed.stack import Stack
from oncekit.console.requests import id_of

HIDDEN_SECONDS = 120
"""How long a received message stays out of others' sight; one that is not replayed is shown again at the end."""
UNREADABLE = "UNREADABLE"
LEFT = (UNREADABLE, "NO_INPUT", "NOT_STARTED")
"""Outcomes of messages that stay in the queue because they could not be replayed."""
REFUSED_AGAIN = {
    "InvalidRequest": "it will be refused again unless another version is deployed now: send a corrected one",
    "PayloadMismatch": "it will be refused again unless the record is gone: its key belongs to another payload",
}
"""What a dry run says of requests that are still what they were refused for."""
GOES = ("STARTED", "DISCARDED")


def replay(stack: Stack, error: str | None, dry_run: bool, limit: int, discard: bool = False) -> list[dict[str, Any]]:
    """Start refused requests again, or discard them: {messageId, id, error, message, refused, outcome, executionArn,
    reason} of each; `id` is None where the request has none, `refused` the execution that refused it.

    As many messages are looked at as were in the queue when this began, each once: what is refused again is newer.
    """
    queue, url = stack.client("sqs"), stack.outputs["RejectedQueueUrl"]
    left = _in_queue(queue, url)
    held: dict[str, str] = {}
    done: list[dict[str, Any]] = []
    try:
        while left > 0 and len(done) < limit:
            received = _receive(queue, url)
            fresh = [each for each in received if each["MessageId"] not in held and not _refused_again(each, done)]
            held |= {each["MessageId"]: each["ReceiptHandle"] for each in received}
            if not fresh:
                break
            for message in fresh[: min(left, limit - len(done))]:
                left -= 1
                if outcome := _replay_one(stack, message, error, dry_run, discard):
                    done.append(outcome)
                if outcome and outcome["outcome"] in GOES:
                    queue.delete_message(QueueUrl=url, ReceiptHandle=held[message["MessageId"]])
                    del held[message["MessageId"]]  # only now: one that could not be deleted is shown again at the end
    finally:
        for receipt in held.values():
            queue.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
    return done


def _in_queue(queue: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(queue.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def _refused_again(message: dict[str, Any], done: list[dict[str, Any]]) -> bool:
    """Whether an execution that was started just now put it there."""
    return any(each["executionArn"] and each["executionArn"] in message["Body"] for each in done)


def _receive(queue: Any, url: str) -> list[dict[str, Any]]:
    answer = queue.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=HIDDEN_SECONDS
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def _replay_one(
    stack: Stack, message: dict[str, Any], error: str | None, dry_run: bool, discard: bool
) -> dict[str, Any] | None:
    """What became of a message, or None when it is refused for another reason than the one asked for."""
    unknown = dict.fromkeys(("id", "error", "message", "refused", "executionArn", "reason"))
    about = {"messageId": message["MessageId"], **unknown, "outcome": ""}
    try:
        said, kept = _read(message["Body"])
    except _Unreadable as odd:
        if error not in (None, UNREADABLE):
            return None
        gone = "WOULD_DISCARD" if dry_run else "DISCARDED"
        return {**about, "outcome": gone if discard else UNREADABLE, "reason": str(odd)}
    about |= said
    if error not in (None, about["error"]):
        return None
    if discard:
        return {**about, "outcome": "WOULD_DISCARD" if dry_run else "DISCARDED"}
    source = about["refused"]
    text = input_of(stack, source) if kept is None else kept
    if text is None:
        gone = "was in the fast lane, which keeps none" if stack.fast_execution(source) else "is gone"
        reason = f"its request was too large to be kept, and {source} {gone}"
        return {**about, "outcome": "NO_INPUT", "reason": reason}
    if dry_run:
        return {**about, "outcome": "WOULD_START", "reason": REFUSED_AGAIN.get(about["error"])}
    return {**about, **_start(stack, message["MessageId"], text)}


class _Unreadable(Exception):
    """It is none of the messages that the state machine sends, or none that can be read."""


def _read(text: str) -> tuple[dict[str, Any], str | None]:
    """What a message says, and the request that it keeps, as text. A producer chose the request, down to its depth."""
    try:
        body = json.loads(text)
        if not isinstance(body, dict) or not all(isinstance(body.get(each), str) for each in ("error", "executionArn")):
            raise _Unreadable("it is no message of Once")
        if not isinstance(body.get("message"), str | None):
            raise _Unreadable("it is no message of Once")
        if "inputText" in body:  # what no queue takes as it is, a half of a character for one
            body["input"] = json.loads(body["inputText"])
        said = {"error": body["error"], "message": body.get("message"), "refused": body["executionArn"]}
        return {**said, "id": id_of(body.get("input"))}, _text(body["input"]) if "input" in body else None
    except RecursionError as error:
        raise _Unreadable("it is nested too deep to be read") from error
    except (ValueError, TypeError) as error:
        raise _Unreadable("it is no message of Once") from error


def _text(request: Any) -> str:
    """As UTF-8, for escapes could make it too large to be started with; half a surrogate pair has only its escape."""
    return json.dumps(request, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def _start(stack: Stack, message: str, text: str) -> dict[str, str | None]:
    """By the message's id: receiving it a second time, after a delete that was lost, starts nothing more."""
    client = stack.client("stepfunctions")
    name = f"replay-{hashlib.sha256(message.encode()).hexdigest()[:40]}"
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=text)["executionArn"]
    except client.exceptions.ExecutionAlreadyExists:
        started = stack.execution(name)
    except client.exceptions.InvalidExecutionInput as refused:
        return {"outcome": "NOT_STARTED", "reason": str(refused)}
    return {"outcome": "STARTED", "executionArn": started}
