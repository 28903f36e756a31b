"""announce_end: puts an event on a bus for each operation that has come to an end, by the stream of the table."""

import json
from collections.abc import Iterator, Mapping, Sequence
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
    # What is put on a bus that is not there, EventBridge accepts and forgets.
    _events().describe_event_bus(Name=settings().bus)
    for first in range(0, len(records), MOST_ENTRIES):
        some = list(_announcements(records[first : first + MOST_ENTRIES]))
        if not some:
            continue
        answers = _events().put_events(Entries=[entry for _, entry in some])["Entries"]
        for (number, entry), answer in zip(some, answers, strict=True):
            if "ErrorCode" in answer:
                print(json.dumps({"message": "not announced", **json.loads(entry["Detail"]), "because": answer}))
                failed.append({"itemIdentifier": number})
    return {"batchItemFailures": failed}


def _announcements(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with its number in the stream. A record that is none comes out the same however often it is read, and would
    hold the others back for half a day: it is left out, and in the log."""
    for each in records:
        image, number = each["dynamodb"]["NewImage"], each["dynamodb"]["SequenceNumber"]
        try:
            yield number, announcement_of(image, settings())
        except (KeyError, ValueError, TypeError) as error:
            print(json.dumps({"message": "no record", "id": image.get("id", {}).get("S"), "because": repr(error)}))


@cache
def _events() -> Any:
    return boto3.client("events")
