"""announce_end: puts an event on a bus for each operation that has come to an end, by the stream of the table."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import boto3
from announcement import announcement_of
from settings import settings

MOST_ENTRIES = 10
"""That one PutEvents takes."""


def handler(event: Mapping[str, Any], context: object) -> dict[str, list[dict[str, str]]]:
    """What was not put comes again: which record that is, its number in the stream tells."""
    records: Sequence[Mapping[str, Any]] = event["Records"]
    failed = []
    for first in range(0, len(records), MOST_ENTRIES):
        some = records[first : first + MOST_ENTRIES]
        entries = [announcement_of(each["dynamodb"]["NewImage"], settings()) for each in some]
        answers = _bus().put_events(Entries=entries)["Entries"]
        for record, entry, answer in zip(some, entries, answers, strict=True):
            if "ErrorCode" in answer:
                print(json.dumps({"message": "not announced", **json.loads(entry["Detail"]), "because": answer}))
                failed.append({"itemIdentifier": record["dynamodb"]["SequenceNumber"]})
    return {"batchItemFailures": failed}


@cache
def _bus() -> Any:
    """The client, once the bus is there: what is put on one that is not there, EventBridge accepts and forgets."""
    events = boto3.client("events")
    events.describe_event_bus(Name=settings().bus)
    return events
