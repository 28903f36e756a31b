"""`once replay-rejected`: refused requests are started again; each message goes only after its start was accepted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cli.stack import Stack

HIDDEN_SECONDS = 120
"""How long a received message stays out of others' sight; one that is not replayed is shown again at once."""


def replay(stack: Stack, reason: str | None, dry_run: bool, limit: int) -> list[dict[str, Any]]:
    """Start refused requests again that were in the queue when this began. What is refused again is a newer message."""
    began = int(stack.now() * 1000)
    queue, url = stack.client("sqs"), stack.outputs["RejectedQueueUrl"]
    held: list[dict[str, Any]] = []
    seen: set[str] = set()
    done: list[dict[str, Any]] = []
    try:
        while len(done) < limit and (received := _receive(queue, url)):
            held += received
            fresh = [
                each
                for each in received
                if each["MessageId"] not in seen and int(each["Attributes"]["SentTimestamp"]) <= began
            ]
            if not fresh:
                break
            seen |= {each["MessageId"] for each in fresh}
            for message in fresh:
                if _refused_again(message, done):
                    continue
                outcome = _replay_one(stack, message, reason, dry_run) if len(done) < limit else None
                if outcome:
                    done.append(outcome)
                if outcome and outcome["outcome"] == "STARTED":
                    queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                    held.remove(message)
    finally:
        for message in held:
            queue.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    return done


def _refused_again(message: dict[str, Any], done: list[dict[str, Any]]) -> bool:
    """Whether an execution that was started just now put it there: exact, where two clocks may differ."""
    return any(each["executionArn"] and each["executionArn"] in message["Body"] for each in done)


def _receive(queue: Any, url: str) -> list[dict[str, Any]]:
    answer = queue.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        WaitTimeSeconds=1,
        VisibilityTimeout=HIDDEN_SECONDS,
        MessageSystemAttributeNames=["SentTimestamp"],
    )
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return messages


def _replay_one(stack: Stack, message: dict[str, Any], reason: str | None, dry_run: bool) -> dict[str, Any] | None:
    """What became of a message, or None when it is refused for another reason than the one asked for."""
    try:
        body = json.loads(message["Body"])
        error, source = body["error"], body["executionArn"]
    except (ValueError, KeyError, TypeError):
        return {"messageId": message["MessageId"], "outcome": "UNREADABLE", "error": None, "executionArn": None}
    if reason not in (None, error):
        return None
    about = {"messageId": message["MessageId"], "error": error, "executionArn": None}
    if dry_run:
        return {**about, "outcome": "WOULD_START"}
    client = stack.client("stepfunctions")
    text = json.dumps(body["input"]) if "input" in body else client.describe_execution(executionArn=source)["input"]
    # By the message: receiving it a second time, after a delete that was lost, starts nothing more.
    name = f"replay-{hashlib.sha256(message['MessageId'].encode()).hexdigest()[:40]}"
    try:
        started = client.start_execution(stateMachineArn=stack.start_at, name=name, input=text)["executionArn"]
    except client.exceptions.ExecutionAlreadyExists:
        started = stack.execution(name)
    return {**about, "outcome": "STARTED", "executionArn": started}
