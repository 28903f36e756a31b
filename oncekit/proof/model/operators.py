"""What operators write, as `once retry`, `once resolve` and `once release` do."""

from __future__ import annotations

from oncekit.proof.model.machine import NOW, iso
from oncekit.proof.model.record import Table, as_json, number, parsed, text

RESULT = '"by hand"'
MAY_START = ", mayStartAgain = :true"


def _written(table: Table, record: str, update: str, values: dict[str, dict[str, object]]) -> str:
    item = parsed(record)
    common = {
        ":me": {"S": f"operator-{text(item, 'owner')}"[:200]},
        ":next": {"N": str(number(item, "fence") + 1)},
        ":theirs": item["owner"],
        ":fence": item["fence"],
    }
    names = {word: word[1:] for word in ("#status", "#owner", "#error", "#result", "#request") if word in update}
    call = {
        "Key": {"id": item["id"]},
        "ConditionExpression": "#owner = :theirs AND fence = :fence",
        "UpdateExpression": f"{update}",
        "ExpressionAttributeNames": names | {"#owner": "owner"},
        "ExpressionAttributeValues": common | values,
    }
    after = table.update(record, as_json(call))
    assert after is not None
    return after


def retried(table: Table, record: str) -> str:
    values: dict[str, dict[str, object]] = {
        ":status": {"S": "IN_PROGRESS"},
        ":zero": {"N": "0"},
        ":true": {"BOOL": True},
        ":shard": {"S": "IN_PROGRESS#" + text(parsed(record), "openShard")[-1]},
    }
    update = (
        "SET #status = :status, #owner = :me, fence = :next, attempts = :zero, leaseExpiresAt = :zero, "
        f"openShard = :shard{MAY_START} REMOVE #error, finishedAt"
    )
    return _written(table, record, update, values)


_GONE = "leaseExpiresAt, openShard, #request, requestRef, mayStartAgain"


def resolved(table: Table, record: str, failed: bool) -> str:
    values: dict[str, dict[str, object]] = {
        ":status": {"S": "FAILED" if failed else "COMPLETED"},
        ":at": {"S": iso(NOW)},
        ":expiresAt": {"N": str(NOW + 1000)},
        ":end": {"M": {"name": {"S": "ResolvedByOperator"}, "message": {"S": "m"}}} if failed else {"S": RESULT},
    }
    update = "SET #owner = :me, fence = :next, finishedAt = :at, expiresAt = :expiresAt, #status = :status, "
    update += f"#error = :end REMOVE {_GONE}" if failed else f"#result = :end REMOVE {_GONE}, #error, steps"
    return _written(table, record, update, values)


def released(table: Table, record: str) -> str:
    values: dict[str, dict[str, object]] = {
        ":status": {"S": "FAILED"},
        ":at": {"S": iso(NOW)},
        ":over": {"N": str(NOW - 3600)},
        ":error": {"M": {"name": {"S": "Released"}, "message": {"S": "m"}}},
    }
    update = (
        "SET #status = :status, #owner = :me, fence = :next, finishedAt = :at, expiresAt = :over, #error = :error "
        f"REMOVE {_GONE}"
    )
    return _written(table, record, update, values)
