"""What work elsewhere does at its end: it ends the operation with the ticket that its function was given."""

from __future__ import annotations

import uuid
from typing import Any

from oncekit.local import LocalCloud


def end_by_ticket(cloud: LocalCloud, id: str, since: str = "", **end: Any) -> bool:
    """Whether the ticket of the try that began then, by default of this one, ends the operation in this way."""
    from boto3.dynamodb.types import TypeSerializer

    record = cloud.record(id) or {}
    finished = {"finishedAt": record["acquiredAt"], "expiresAt": int(cloud.clock.now()) + 86_400}
    sets = {"owner": f"ticket:{uuid.uuid4().hex}", "fence": record["fence"] + 1, **finished, **end}
    gone = ["leaseExpiresAt", "openShard", "request", "requestRef", "pendingSince"]
    read = {"since": since or record["acquiredAt"], "fence_read": record["fence"]}
    asked = {**read, "inProgress": "IN_PROGRESS", "quarantined": "QUARANTINED"}
    values = {f":{name}": TypeSerializer().serialize(value) for name, value in {**sets, **asked}.items()}
    client = cloud.client("dynamodb")
    try:
        client.update_item(
            TableName=cloud.outputs["TableName"],
            Key={"id": {"S": id}},
            ConditionExpression=(
                "#status IN (:inProgress, :quarantined) AND acquiredAt = :since AND #fence = :fence_read"
            ),
            UpdateExpression=f"SET {', '.join(f'#{name} = :{name}' for name in sets)} "
            f"REMOVE {', '.join(f'#{name}' for name in gone)}",
            ExpressionAttributeNames={f"#{name}": name for name in [*sets, *gone]},
            ExpressionAttributeValues=values,
        )
    except client.exceptions.ConditionalCheckFailedException:
        return False
    return True
