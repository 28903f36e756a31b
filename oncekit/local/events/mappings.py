"""Event source mappings from a queue to a function, as Lambda makes them.

- The function gets a batch of records, `{"Records": [...]}`, BatchSize at most. With MaximumBatchingWindowInSeconds a
  batch that is not full waits so long for more. "When your function successfully processes a batch, Lambda deletes its
  messages from the queue"; if it fails, they stay, hidden for the queue's visibility timeout, until the queue's redrive
  policy moves them to its dead-letter queue (Developer Guide, *Using Lambda with Amazon SQS*). A mapping has no retries
  of its own for a queue.
- With ReportBatchItemFailures, the messages that the answer names stay, and the others are deleted. Nothing failed if
  the answer is null, empty, or its list is; all failed if an itemIdentifier is empty, null, has a bad key name, or is
  of no message of the batch (Developer Guide, *Handling errors for an SQS event source*). An answer that is no object
  counts as failed, too (unconfirmed).
- Messages that no filter of FilterCriteria matches are deleted without an invocation. A body that is the text of a JSON
  object or array is one to filters.
- It acts under the function's role, which needs sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueAttributes.
- The batches of a mapping come one after the other, so that a run can be repeated, and so do those of one message group
  of a FIFO queue on AWS; of a standard queue, Lambda has several at a time there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from oncekit.asl.sizes import text_of
from oncekit.local.clock import Clock
from oncekit.local.events import patterns, queues
from oncekit.local.events.deliveries import Delivery, Invoke, Refusal
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.events.pipes import looked_into, record_of
from oncekit.local.permissions import Caller, Permissions

Arrivals = Callable[[Delivery], list[float]]
SOURCES = ("sqs", "dynamodb")
"""Services whose records functions get."""
PARTIAL = "ReportBatchItemFailures"


@dataclass(frozen=True)
class EventSource:
    """A mapping as deployed."""

    name: str
    source: str
    """ARN."""
    function: str
    """Its name, or the ARN of one of its aliases."""
    role: str | None
    """ARN of the function's."""
    batch_size: int
    window: float
    """Seconds that a batch waits for more."""
    is_partial: bool
    filters: tuple[str, ...]
    """Patterns, as JSON."""

    @property
    def queue(self) -> str:
        return self.source.rpartition(":")[2]

    def takes(self, record: Mapping[str, Any]) -> bool:
        return not self.filters or any(patterns.matches(json.loads(each), record) for each in self.filters)


def source_of(name: str, role: str | None, properties: Mapping[str, Any], usual_size: int) -> EventSource:
    return EventSource(
        name,
        str(properties["EventSourceArn"]),
        str(properties["FunctionName"]),
        role,
        int(properties.get("BatchSize", usual_size)),
        float(properties.get("MaximumBatchingWindowInSeconds", 0)),
        PARTIAL in properties.get("FunctionResponseTypes", ()),
        filters_of(properties),
    )


def filters_of(properties: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(each["Pattern"]) for each in (properties.get("FilterCriteria") or {}).get("Filters", ()))


def why_not(properties: Mapping[str, Any]) -> str | None:
    """Why a mapping is in name only; None for one that is run. Raises PatternError for a filter that AWS refuses."""
    service = (str(properties.get("EventSourceArn", "")).split(":")[2:3] or [""])[0]
    if service not in SOURCES:
        return f"functions get no events of {service} here" if service else "its source is not here"
    if service == "dynamodb" and "/" not in str(properties["EventSourceArn"]):
        return "its table is not here"
    if properties.get("TumblingWindowInSeconds"):
        return "no records are gathered in a tumbling window here"
    try:
        for each in filters_of(properties):
            patterns.check(json.loads(each))
    except patterns.NotJudged as reason:
        return f"one of its filters is not judged here: {reason}"
    except ValueError as error:
        raise patterns.PatternError(str(error)) from error
    return None


def failed_of(source: EventSource, answer: Mapping[str, Any], ids: Iterable[str]) -> set[str]:
    """Which records of a batch are to come again, by the answer of boto3's `invoke`."""
    every = set(ids)
    if "FunctionError" in answer:
        return every
    told = json.loads(answer["Payload"].read())
    if not source.is_partial or told is None:
        return set()
    if not isinstance(told, dict):
        return every
    failures = told.get("batchItemFailures") or []
    named = {str(each.get("itemIdentifier")) if isinstance(each, dict) else "" for each in failures}
    return named if named <= every else every


def message_of(message: Any, queue: Any) -> dict[str, Any]:
    """A message as the function gets it; what a pipe leaves out, an empty list for each list, is in its attributes."""
    record = record_of(message, queue)
    record["messageAttributes"] = {
        name: {
            **{key: _text(value) for key, value in each.items()},
            "stringListValues": [],
            "binaryListValues": [],
        }
        for name, each in record["messageAttributes"].items()
    }
    return record


def _text(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


USUAL_SIZE = 10


class QueueMappings:
    """Reads the queues: when a message comes, or is visible again. Everything but the invocations happens on the
    delivery queue's thread."""

    def __init__(
        self, clock: Clock, delivery_queue: DeliveryQueue, invoke: Invoke, arrivals: Arrivals, guard: Permissions
    ) -> None:
        self._clock = clock
        self._delivery_queue = delivery_queue
        self._invoke = invoke
        self._arrivals = arrivals
        self._guard = guard
        self._running: list[EventSource] = []
        self._looks: dict[str, Callable[[], None]] = {}
        self._at_work: dict[str, int] = {}
        """How many arrivals of its batch are to come."""
        self._windows: dict[str, float] = {}
        """When the batch that waits for more goes off."""

    def run(self, sources: list[EventSource]) -> None:
        """From now on these and no others."""
        self._running = sources
        for source in sources:
            self._look_soon(source)

    def restart(self) -> None:
        """Start all over; call it when the delivery queue has forgotten them."""
        self._looks.clear()
        self._at_work.clear()
        self._windows.clear()

    def changed(self, queue: Any) -> None:
        """A queue has a message to offer, or may have."""
        for source in self._running:
            if source.source == queue.queue_arn:
                self._look_soon(source)

    def _look_soon(self, source: EventSource) -> None:
        self._delivery_queue.soon(lambda: self._look(source))

    def _look(self, source: EventSource) -> None:
        """Begin with a batch, unless one is at work, and look again after it, or when more can be received."""
        if source not in self._running or source.queue not in queues.backend().queues or self._at_work.get(source.name):
            return
        queue = queues.backend().queues[source.queue]
        if self._waits_for_more(source, queue) or not self._may(source, "ReceiveMessage", "GetQueueAttributes"):
            return
        hidden = max(1, queue.visibility_timeout)  # with none at all, what fails would be received for ever
        if messages := queues.backend().receive_message(source.queue, source.batch_size, 0, hidden, ["All"]):
            self._begin(source, [message_of(message, queue) for message in messages])
            return
        if (take_back := self._looks.pop(source.name, None)) is not None:
            take_back()
        if (when := queues.next_offer(queue, self._clock.now())) is not None:
            self._looks[source.name] = self._delivery_queue.at(when, lambda: self._look(source))

    def _waits_for_more(self, source: EventSource, queue: Any) -> bool:
        there = len([each for each in queue.messages if each.visible])
        if not source.window or not 0 < there < source.batch_size:
            self._windows.pop(source.name, None)
            return False
        if source.name not in self._windows:
            self._windows[source.name] = self._clock.now() + source.window
            self._delivery_queue.later(source.window, lambda: self._look(source))
        if self._clock.now() < self._windows[source.name]:
            return True
        del self._windows[source.name]
        return False

    def _begin(self, source: EventSource, records: list[dict[str, Any]]) -> None:
        wanted = [each for each in records if source.takes({**each, "body": looked_into(each["body"])})]
        self._delete(source, [each for each in records if each not in wanted])
        text = text_of({"Records": wanted})
        delivery = Delivery("mapping", source.name, source.function, text, self._clock.now())
        try:
            arrivals = self._arrivals(delivery) if wanted else []
        except Refusal:
            arrivals = []  # the messages stay
        self._at_work[source.name] = len(arrivals)
        for delay in arrivals:
            if delay > 0:
                self._delivery_queue.later(delay, lambda: self._go(source, wanted, text))
            else:
                self._go(source, wanted, text)
        if not arrivals:
            self._look_soon(source)

    def _go(self, source: EventSource, records: list[dict[str, Any]], text: str) -> None:
        def work() -> None:
            ids = {each["messageId"] for each in records}
            try:
                failed = failed_of(source, self._invoke(FunctionName=source.function, Payload=text), ids)
            except ClientError:  # it is throttled, or not there
                failed = ids
            self._delivery_queue.soon(lambda: self._done(source, [x for x in records if x["messageId"] not in failed]))

        self._delivery_queue.aside(work)

    def _done(self, source: EventSource, succeeded: list[dict[str, Any]]) -> None:
        self._delete(source, succeeded)
        self._at_work[source.name] = max(0, self._at_work.get(source.name, 0) - 1)
        self._look(source)

    def _delete(self, source: EventSource, records: list[dict[str, Any]]) -> None:
        """Delete messages; without the permission to they are received again."""
        if records and source.queue in queues.backend().queues and self._may(source, "DeleteMessage"):
            for record in records:
                queues.backend().delete_message(source.queue, record["receiptHandle"])

    def _may(self, source: EventSource, *operations: str) -> bool:
        """Whether the function's role allows operations on the queue. If not, messages stay; the guard has noted it."""
        caller = Caller(source.role, source.name)
        try:
            for operation in operations:
                self._guard.check(caller, "sqs", operation, {"QueueUrl": source.source.replace(":", "/")})
        except ClientError:
            return False
        return True
