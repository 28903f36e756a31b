"""Event source mappings from the stream of a DynamoDB table to a function, as Lambda makes them.

- A table's stream has one shard here, and its batches come one after the other, each of BatchSize records at most. One
  that fails is tried again, and nothing behind it comes meanwhile: "Lambda retries the entire batch of records until
  processing succeeds or the data expires", after 24 hours (Developer Guide, *Using AWS Lambda with Amazon DynamoDB*).
- MaximumRetryAttempts and MaximumRecordAgeInSeconds end that earlier; then a record of the batch goes to the
  destination OnFailure, without what was in it. With BisectBatchOnFunctionError, a batch of several is split in two
  first, which "doesn't count against the retry quota".
- With ReportBatchItemFailures, "Lambda uses the lowest sequence number as the checkpoint. Lambda then retries all
  records starting from that checkpoint" (*Configuring partial batch response with DynamoDB and Lambda*). That retries
  are counted anew behind a checkpoint is unconfirmed (V113).
- The waits between attempts double, from one second to a minute (unconfirmed, V113). Virtual time does not move because
  of them, which might take a day: a test moves it.
- A write that changes nothing makes no record (Amazon DynamoDB Developer Guide, *Change data capture for DynamoDB
  Streams*), as far as the images of the record tell.
- It acts under the function's role, which needs dynamodb:DescribeStream, GetRecords and GetShardIterator.
"""

from __future__ import annotations

import base64
import datetime
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from oncekit.asl.sizes import text_of
from oncekit.local.account import ACCOUNT, REGION, function_arn, name_and_qualifier
from oncekit.local.clock import Clock
from oncekit.local.events.deliveries import Delivery, Invoke, Refusal
from oncekit.local.events.delivery_queue import DeliveryQueue
from oncekit.local.events.invocations import LATEST, Send
from oncekit.local.events.mappings import Arrivals, EventSource, failed_of, source_of
from oncekit.local.permissions import Caller, Permissions

KEPT_SECONDS = 86_400.0
"""How long a stream keeps a record."""
USUAL_SIZE = 100
_LONGEST_PAUSE = 60.0
_DOUBLED = 6
"""Attempts that failed, up to which the pause is doubled."""
_SHARD = "shardId-00000001541626099285-f35f62ef"


@dataclass(frozen=True)
class Stream:
    """A mapping as deployed."""

    source: EventSource
    from_the_start: bool
    retries: int
    """-1: as long as the records are there."""
    age: float
    """Seconds."""
    bisects: bool
    on_failure: str | None
    """ARN."""

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def table(self) -> str:
        return self.source.source.split("/")[1]


def stream_of(name: str, role: str | None, properties: Mapping[str, Any]) -> Stream:
    age = float(properties.get("MaximumRecordAgeInSeconds", -1))
    return Stream(
        source_of(name, role, properties, USUAL_SIZE),
        properties.get("StartingPosition") == "TRIM_HORIZON",
        int(properties.get("MaximumRetryAttempts", -1)),
        KEPT_SECONDS if age < 0 else min(age, KEPT_SECONDS),
        str(properties.get("BisectBatchOnFunctionError", False)).lower() == "true",
        ((properties.get("DestinationConfig") or {}).get("OnFailure") or {}).get("Destination"),
    )


@dataclass
class _Part:
    """Records that are tried together."""

    count: int
    attempts: int = 0
    """That failed."""


@dataclass
class _Reader:
    """How far a mapping is."""

    position: int
    """Of the first record that is not done with."""
    parts: list[_Part] = field(default_factory=list)
    """What begins there, of a batch that failed."""
    is_at_work: bool = False
    waits: bool = False
    """For its next attempt, or for more records."""
    window_ends: float | None = None


class StreamMappings:
    """Reads the streams. Everything but the invocations happens on the delivery queue's thread."""

    def __init__(
        self,
        clock: Clock,
        delivery_queue: DeliveryQueue,
        invoke: Invoke,
        arrivals: Arrivals,
        send: Send,
        guard: Permissions,
    ) -> None:
        self._clock = clock
        self._delivery_queue = delivery_queue
        self._invoke = invoke
        self._arrivals = arrivals
        self._send = send
        self._guard = guard
        self._running: list[Stream] = []
        self._readers: dict[str, _Reader] = {}
        self._arrived: dict[str, list[float]] = {}
        """By table: when each record of its stream came."""

    def run(self, streams: list[Stream]) -> None:
        """From now on these and no others. What came while one did not run is never delivered."""
        before = self._running
        for stream in streams:
            if stream in before:
                continue
            is_new = stream.name not in self._readers
            start = 0 if is_new and stream.from_the_start else len(_records_of(stream.table))
            self._readers[stream.name] = _Reader(start)
        self._running = streams
        self.written()

    def restart(self) -> None:
        """Start all over; call it when the delivery queue has forgotten them."""
        for stream in self._running:
            _records_of(stream.table).clear()
            self._readers[stream.name] = _Reader(0)
        self._arrived.clear()

    def written(self) -> None:
        """A table may have been written to."""
        for stream in self._running:
            records, arrived = _records_of(stream.table), self._arrived.setdefault(stream.table, [])
            del arrived[len(records) :]  # those of a transaction that failed, and of a table that was made again
            arrived.extend(self._clock.now() for _ in range(len(records) - len(arrived)))
            if len(records) != self._readers[stream.name].position:
                self._look_soon(stream)

    def _look_soon(self, stream: Stream) -> None:
        self._delivery_queue.soon(lambda: self._look(stream))

    def _look(self, stream: Stream) -> None:
        """Begin with a batch, unless one is at work or waits."""
        reader = self._readers[stream.name]
        if stream not in self._running or reader.is_at_work or reader.waits:
            return
        there = len(self._arrived.get(stream.table, ()))  # those that `written` has seen
        if there < reader.position:  # the table was made again
            self._readers[stream.name] = reader = _Reader(0)
        left = there - reader.position
        if not left or (not reader.parts and self._waits_for_more(stream, reader, left)) or not self._may(stream):
            return
        if not reader.parts:
            reader.parts = [_Part(min(left, stream.source.batch_size))]
        self._begin(stream, reader)

    def _waits_for_more(self, stream: Stream, reader: _Reader, left: int) -> bool:
        now, window = self._clock.now(), stream.source.window
        if not window or left >= stream.source.batch_size:
            reader.window_ends = None
            return False
        if reader.window_ends is None:
            reader.window_ends = now + window
            self._delivery_queue.later(window, lambda: self._look(stream))
        if now < reader.window_ends:
            return True
        reader.window_ends = None
        return False

    def _begin(self, stream: Stream, reader: _Reader) -> None:
        count = reader.parts[0].count
        records = [self._record(stream, at) for at in range(reader.position, reader.position + count)]
        wanted = [each for each in records if _changes(each) and stream.source.takes(each)]
        if not wanted:
            self._done(stream, reader, count)
            return
        text = text_of({"Records": wanted})
        delivery = Delivery("mapping", stream.name, stream.source.function, text, self._clock.now())
        try:
            arrivals = self._arrivals(delivery)
        except Refusal:
            arrivals = []
        reader.is_at_work = True
        numbers = [each["dynamodb"]["SequenceNumber"] for each in records]

        def go() -> None:
            self._delivery_queue.aside(lambda: self._go(stream, reader, text, numbers, len(arrivals)))

        # What is behind it waits, as on AWS: so nothing overtakes the last time that it comes.
        self._delivery_queue.later(max(arrivals, default=0.0), go)

    def _record(self, stream: Stream, at: int) -> dict[str, Any]:
        """As the function gets it."""
        record = _records_of(stream.table)[at].to_json()
        name, about = record["eventName"], record["dynamodb"]
        absent = {"INSERT": "OldImage", "REMOVE": "NewImage"}.get(name)
        arrived = self._arrived[stream.table][at]
        told = {key: _written(value) for key, value in about.items() if key != absent}
        return {
            **record,
            "dynamodb": {**told, "ApproximateCreationDateTime": int(arrived)},
            "eventSourceARN": stream.source.source,
        }

    def _go(self, stream: Stream, reader: _Reader, text: str, numbers: list[str], times: int) -> None:
        """As often as it arrives; if it is lost, it is tried again."""
        answer, failed = {"StatusCode": 0}, set(numbers)
        for _ in range(times):
            try:
                answer = self._invoke(FunctionName=stream.source.function, Payload=text)
                failed = failed_of(stream.source, answer, numbers)
            except ClientError as error:  # it is throttled, or not there
                answer, failed = {"StatusCode": error.response["ResponseMetadata"]["HTTPStatusCode"]}, set(numbers)
        first = min(map(numbers.index, failed), default=len(numbers))
        told = {key: value for key, value in answer.items() if key != "Payload"}
        self._delivery_queue.soon(lambda: self._ended(stream, reader, first, told))

    def _ended(self, stream: Stream, reader: _Reader, succeeded: int, answer: Mapping[str, Any]) -> None:
        reader.is_at_work = False
        part = reader.parts[0]
        if succeeded == part.count:
            self._done(stream, reader, part.count)
            return
        if succeeded:
            reader.position += succeeded
            reader.parts[0] = part = _Part(part.count - succeeded)
        elif stream.bisects and part.count > 1:
            half = part.count // 2
            reader.parts[:1] = [_Part(half, part.attempts), _Part(part.count - half, part.attempts)]
        else:
            part.attempts += 1
            if (why := self._given_up(stream, reader, part)) is not None:
                self._tell(stream, reader, part, why, answer)
                self._done(stream, reader, part.count)
                return
        reader.waits = True
        pause = _LONGEST_PAUSE if part.attempts > _DOUBLED else 2.0 ** max(0, part.attempts - 1)
        self._delivery_queue.at(self._clock.now() + pause, lambda: self._again(stream, reader))

    def _again(self, stream: Stream, reader: _Reader) -> None:
        reader.waits = False
        if self._readers.get(stream.name) is reader:
            self._look(stream)

    def _given_up(self, stream: Stream, reader: _Reader, part: _Part) -> str | None:
        if 0 <= stream.retries < part.attempts:
            return "RetryAttemptsExhausted"
        arrived = self._arrived[stream.table][reader.position]
        return "RecordAgeExceeded" if self._clock.now() - arrived > stream.age else None

    def _done(self, stream: Stream, reader: _Reader, count: int) -> None:
        reader.position += count
        del reader.parts[:1]
        self._look_soon(stream)

    def _tell(self, stream: Stream, reader: _Reader, part: _Part, why: str, answer: Mapping[str, Any]) -> None:
        """Developer Guide, *Retaining discarded records for a DynamoDB event source in Lambda*."""
        if stream.on_failure is None:
            return
        first, last = reader.position, reader.position + part.count - 1
        records, arrived = _records_of(stream.table), self._arrived[stream.table]
        name, qualifier = name_and_qualifier(stream.source.function)
        record = {
            "requestContext": {
                "requestId": str(uuid.uuid4()),
                "functionArn": function_arn(name, qualifier or LATEST),
                "condition": why,
                "approximateInvokeCount": part.attempts,
            },
            "responseContext": {
                "statusCode": answer["StatusCode"],
                "executedVersion": answer.get("ExecutedVersion", LATEST),
                **({"functionError": answer["FunctionError"]} if "FunctionError" in answer else {}),
            },
            "version": "1.0",
            "timestamp": _iso(self._clock.now()),
            "DDBStreamBatchInfo": {
                "shardId": _SHARD,
                "startSequenceNumber": records[first].to_json()["dynamodb"]["SequenceNumber"],
                "endSequenceNumber": records[last].to_json()["dynamodb"]["SequenceNumber"],
                "approximateArrivalOfFirstRecord": _iso(arrived[first]),
                "approximateArrivalOfLastRecord": _iso(arrived[last]),
                "batchSize": part.count,
                "streamArn": stream.source.source,
            },
        }
        try:
            self._send(stream.on_failure, json.dumps(record), Caller(stream.source.role, name), {})
        except ClientError:  # the guard has noted why
            return

    def _may(self, stream: Stream) -> bool:
        """Whether the function's role allows to read the stream. If not, records stay; the guard has noted it."""
        caller = Caller(stream.source.role, stream.name)
        try:
            for operation in ("DescribeStream", "GetShardIterator", "GetRecords"):
                self._guard.check(caller, "dynamodb", operation, {"StreamArn": stream.source.source})
        except ClientError:
            return False
        return True


def _records_of(table: str) -> list[Any]:
    """What moto's stream of a table holds; nothing where the table is not there."""
    from moto.dynamodb.models import dynamodb_backends

    there = dynamodb_backends[ACCOUNT][REGION].tables.get(table)
    return [] if there is None or there.stream_shard is None else there.stream_shard.items


def _changes(record: Mapping[str, Any]) -> bool:
    about = record["dynamodb"]
    return "OldImage" not in about or "NewImage" not in about or about["OldImage"] != about["NewImage"]


def _written(value: Any) -> Any:
    """In JSON, with what is binary as base64; before 5.2, moto has it so."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _written(member) for key, member in value.items()}
    return [_written(member) for member in value] if isinstance(value, list) else value


def _iso(seconds: float) -> str:
    instant = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
