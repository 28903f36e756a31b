"""Its effect happens once. But its second attempt changes the record of its lock, as no function may."""

import os
from typing import Any

import boto3

Event = dict[str, Any]
MARK = {"M": {"meddled": {"S": "yes"}}}


def handler(event: Event, _context: object) -> None:
    boto3.client("dynamodb").put_item(TableName=os.environ["NOTES_TABLE"], Item={"note": {"S": "one"}})
    if event["attempt"] == 2 and write(event, steps=MARK).get("steps") != MARK:
        write_and_take_back(event, leaseExpiresAt={"N": "1"})
        write_and_take_back(event, fingerprint={"S": "of another payload"})
        write_and_take_back(event, request={"S": "{}"})
        write_and_take_back(event, status={"S": "COMPLETED"})
        # The next owner gets the same fence again.
        write(event, fence={"N": "1"}, attempts={"N": "1"}, owner={"S": f"{event['lock']['owner']}-gone"})


def write_and_take_back(event: Event, **attributes: Any) -> None:
    before = write(event, **attributes)
    write(event, **{name: before[name] for name in attributes})


def write(event: Event, **attributes: Any) -> dict[str, Any]:
    """The record before."""
    return boto3.client("dynamodb").update_item(
        TableName=event["lock"]["table"],
        Key={"id": {"S": event["lock"]["id"]}},
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in attributes),
        ExpressionAttributeNames={f"#{name}": name for name in attributes},
        ExpressionAttributeValues={f":{name}": value for name, value in attributes.items()},
        ReturnValues="ALL_OLD",
    )["Attributes"]
