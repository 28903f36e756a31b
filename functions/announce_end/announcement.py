"""The event of an end, made of nothing but the record: whoever announces the same end again makes the same event."""

import datetime
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from settings import Settings

SOURCE = "once"
DETAIL_TYPES = {
    "COMPLETED": "Operation Completed",
    "FAILED": "Operation Failed",
    "QUARANTINED": "Operation Quarantined",
}


def announcement_of(record: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """An entry of PutEvents, of a record as a stream or a scan has it.

    Without result and message of an error, which may be anybody's data: a consumer asks the record for them.
    """
    id, status = record["id"]["S"], record["status"]["S"]
    acquired_at, fence = record["acquiredAt"]["S"], int(record["fence"]["N"])
    tenant, operation, key = id.split("#", 2)
    detail = {
        "key": hashlib.sha256(f"{id}#{acquired_at}#{fence}#{status}".encode()).hexdigest(),
        "table": settings.table,
        "id": id,
        "tenant": tenant,
        "operation": operation,
        "idempotencyKey": key,
        "status": status,
        "acquiredAt": acquired_at,
        "fence": fence,
    }
    if "error" in record and status != "COMPLETED" and "name" in record["error"]["M"]:
        detail["error"] = record["error"]["M"]["name"]["S"]
    return {
        "EventBusName": settings.bus,
        "Source": SOURCE,
        "DetailType": DETAIL_TYPES[status],
        # In the event and not in its detail: an owner that says its end once more moves it.
        "Time": datetime.datetime.fromisoformat(record["finishedAt"]["S"]),
        "Detail": json.dumps(detail),
    }
