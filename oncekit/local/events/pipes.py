"""Pipes from a queue to a state machine, as EventBridge Pipes does it.

- The target gets an array, also for one message. With an InputTemplate, the template makes each element.
- If a body is JSON text, templates can use its members. A template that is only one path breaks such a body
  (templates.py): `{"body": <$.body>}` keeps it.
- FIRE_AND_FORGET, the one type of invocation that is supported: the messages are deleted once the execution has
  started. Otherwise they stay, hidden until their visibility timeout is over, and are tried again then, until the
  queue's redrive policy moves them to the dead-letter queue. A pipe has no retries or dead-letter queue of its own for
  a queue.
- If a body is not JSON, placeholders that use its members are empty. As a value it is put between quotes, but not
  escaped: with a quote, a backslash or a line break in it, the input is not JSON. A message whose input is not JSON, or
  is too large for an execution, stays, and ends in the queue's dead-letter queue.
- A pipe with a filter is left out, and told.

Messages are delivered one after the other; AWS polls several at a time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from oncekit.asl.sizes import text_of
from oncekit.local.account import REGION
from oncekit.local.clock import Clock
from oncekit.local.events import queues
from oncekit.local.events.attempts import RetryPolicy, Shipment
from oncekit.local.events.deliveries import Delivery, Refusal
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.events.templates import PathError, check_template, piped
from oncekit.local.permissions import Caller, Permissions

Ship = Callable[[Shipment], None]
ONE_ATTEMPT = RetryPolicy(attempts=0)


@dataclass(frozen=True)
class Pipe:
    """A pipe as deployed."""

    name: str
    source: str
    """ARN of the queue."""
    target: str
    """ARN of the state machine."""
    batch_size: int
    template: str | None
    role: str | None
    """ARN."""

    @property
    def queue(self) -> str:
        return self.source.split(":")[5]

    def input_of(self, records: list[dict[str, Any]]) -> str:
        """What the target gets. Raises Refusal."""
        if self.template is None:
            return text_of(records)
        return text_of([piped(self.template, {**each, "body": looked_into(each["body"])}) for each in records])


def looked_into(body: str) -> Any:
    """A body that is the text of a JSON object or array as that, any other as it is."""
    try:
        value = json.loads(body)
    except ValueError:
        return body
    return value if isinstance(value, (dict, list)) else body


def is_supported(properties: Mapping[str, Any]) -> bool:
    """Whether it is from a queue to a state machine, and the local cloud has all that it needs."""
    way = properties.get("TargetParameters", {}).get("StepFunctionStateMachineParameters", {}).get("InvocationType")
    services = [str(properties[end]).split(":")[2] for end in ("Source", "Target")]
    if "FilterCriteria" in properties.get("SourceParameters", {}) or "Enrichment" in properties:
        return False
    try:
        check_template(properties.get("TargetParameters", {}).get("InputTemplate", ""))
    except PathError:
        return False
    return services == ["sqs", "states"] and way == "FIRE_AND_FORGET"


def pipe_of(name: str, properties: Mapping[str, Any]) -> Pipe:
    """A pipe that is supported, from its properties."""
    size = properties.get("SourceParameters", {}).get("SqsQueueParameters", {}).get("BatchSize", 10)
    return Pipe(
        name,
        str(properties["Source"]),
        str(properties["Target"]),
        int(size),
        properties.get("TargetParameters", {}).get("InputTemplate"),
        properties.get("RoleArn"),
    )


def record_of(message: Any, queue: Any) -> dict[str, Any]:
    """A message as a pipe sees it."""
    of_fifo = {
        "SequenceNumber": message.sequence_number,
        "MessageGroupId": message.group_id,
        "MessageDeduplicationId": message.deduplication_id,
    }
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt_handle,
        "body": message.body,
        "attributes": {
            "ApproximateReceiveCount": str(message.approximate_receive_count),
            "SentTimestamp": str(message.sent_timestamp),
            "SenderId": message.sender_id,
            "ApproximateFirstReceiveTimestamp": str(message.approximate_first_receive_timestamp),
            **{name: value for name, value in of_fifo.items() if queue.fifo_queue and value is not None},
        },
        "messageAttributes": {
            name: {key[:1].lower() + key[1:]: value for key, value in attribute.items()}
            for name, attribute in message.message_attributes.items()
        },
        "md5OfBody": hashlib.md5(message.body.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue.queue_arn,
        "awsRegion": REGION,
    }


class Pipes:
    """Runs pipes: they look into their queues when a message comes, or is visible again."""

    def __init__(self, clock: Clock, delivery_queue: DeliveryQueue, ship: Ship, guard: Permissions) -> None:
        self._clock = clock
        self._guard = guard
        self._delivery_queue = delivery_queue
        self._ship = ship
        self._running: list[Pipe] = []
        self._looks: dict[str, Callable[[], None]] = {}

    def run(self, pipes: list[Pipe]) -> None:
        """From now on these and no others."""
        self._running = pipes
        for pipe in pipes:
            self._look_soon(pipe)

    def changed(self, queue: Any) -> None:
        """A queue has a message to offer, or may have."""
        for pipe in self._running:
            if pipe.source == queue.queue_arn:
                self._look_soon(pipe)

    def _look_soon(self, pipe: Pipe) -> None:
        self._delivery_queue.soon(lambda: self._look(pipe))

    def _look(self, pipe: Pipe) -> None:
        """Deliver what is there, and look again when more can be received."""
        backend = queues.backend()
        if pipe not in self._running or pipe.queue not in backend.queues:
            return
        if not self._may(pipe, "ReceiveMessage", "GetQueueAttributes"):
            return
        queue = backend.queues[pipe.queue]
        hidden = max(1, queue.visibility_timeout)  # with none at all, what fails would be received for ever
        while messages := backend.receive_message(pipe.queue, pipe.batch_size, 0, hidden, ["All"]):
            self._deliver(pipe, [record_of(message, queue) for message in messages])
        if (take_back := self._looks.pop(pipe.name, None)) is not None:
            take_back()
        if (when := queues.next_offer(queue, self._clock.now())) is not None:
            self._looks[pipe.name] = self._delivery_queue.at(when, lambda: self._look(pipe))

    def _deliver(self, pipe: Pipe, records: list[dict[str, Any]]) -> None:
        text, refusal = "", None
        try:
            text = pipe.input_of(records)
        except Refusal as error:
            refusal = error
        delivery = Delivery("pipe", pipe.name, pipe.target, text, self._clock.now())
        target = {"Arn": pipe.target, "RoleArn": pipe.role}
        self._ship(
            Shipment(delivery, target, ONE_ATTEMPT, refusal=refusal, delivered=lambda: self._delete(pipe, records))
        )

    def _delete(self, pipe: Pipe, records: list[dict[str, Any]]) -> None:
        """Delete messages; without the permission to they are received again."""
        backend = queues.backend()
        if records and pipe.queue in backend.queues and self._may(pipe, "DeleteMessage"):
            for record in records:
                backend.delete_message(pipe.queue, record["receiptHandle"])

    def _may(self, pipe: Pipe, *operations: str) -> bool:
        """Whether the pipe's role allows operations on its queue. If not, messages stay; the guard has noted why."""
        try:
            for operation in operations:
                self._guard.check(
                    Caller(pipe.role, pipe.name), "sqs", operation, {"QueueUrl": pipe.source.replace(":", "/")}
                )
        except ClientError:
            return False
        return True
