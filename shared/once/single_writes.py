"""Writes of one item that are harmless to repeat. They are not fenced: an attempt that comes late may still make them.

`put_once` marks what it creates with the request's id, at `createdByRequest`; `apply_once` adds the id to the item's
string set `processedEvents`. Business logic may read both. The set grows with every request that changes the item, and
DynamoDB bills a write by the item's size and ends it at 400 KB: some thousand ids. An item that more requests change
than that wants a step, which leaves nothing behind in it.

A send whose answer was lost may be made late, and there is no lock here to close it out. When that happened within the
call, a refusal is in doubt and is not reported. What an earlier attempt has sent may come late all the same.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError

from once.errors import ConditionFailed, InvalidWriteError, Refusal, WriteInDoubtError
from once.step import Item, add_condition
from once.step_answers import was_sent_again
from once.values import from_dynamodb, to_dynamodb

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from once.conditions import ConditionBase

CREATOR: Final = "createdByRequest"
PROCESSED: Final = "processedEvents"
ATTRIBUTES_LIMIT: Final = 100
"""Attributes of an item to be created: DynamoDB takes 4 KB of condition, and every attribute is in it."""
ADD_CLAUSE: Final = re.compile(r"(?<![#:.\w-])ADD(?![\w.-])", re.IGNORECASE)
"""The keyword: an attribute that is called so needs a placeholder, for the word is reserved."""


def put_once(dynamodb: "DynamoDBClient", request_id: str, table: str, item: Item) -> bool:
    """See Request.put_once."""
    if CREATOR in item:
        raise InvalidWriteError(f"put_once sets {CREATOR} itself; leave it out of the item for {table}")
    if len(item) > ATTRIBUTES_LIMIT:
        raise InvalidWriteError(f"put_once takes items of at most {ATTRIBUTES_LIMIT} attributes; this has {len(item)}")
    # An item that is there has its key, and so does this one. Which attributes those are only the table knows; that
    # none of this one's are there says the same.
    names = {f"#a{place}": name for place, name in enumerate(item)}
    try:
        dynamodb.put_item(
            TableName=table,
            Item=to_dynamodb({**item, CREATOR: request_id}, f"put_once into {table}"),
            ConditionExpression=" AND ".join(f"attribute_not_exists({name})" for name in names),
            ExpressionAttributeNames=names,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except dynamodb.exceptions.ConditionalCheckFailedException as error:
        if _item_there(error).get(CREATOR) == request_id:
            return True
        _refuse_doubt(error, f"put_once into {table}")
        return False
    return True


def apply_once(
    dynamodb: "DynamoDBClient",
    event: str,
    table: str,
    key: Item,
    update: str,
    values: Item | None,
    names: Mapping[str, str] | None,
    condition: "ConditionBase | None",
) -> bool:
    """See Request.apply_once. `event` is what is added to the set."""
    what = f"apply_once to {table}"
    parameters: dict[str, Any] = {
        "ExpressionAttributeNames": {**(names or {}), "#once": PROCESSED},
        "ExpressionAttributeValues": {
            **to_dynamodb(values or {}, what),
            ":onceSet": {"SS": [event]},
            ":onceEvent": {"S": event},
        },
    }
    readable = add_condition(parameters, condition, what)
    new = "(attribute_not_exists(#once) OR NOT contains(#once, :onceEvent))"
    if condition is not None:
        new = f"{new} AND ({parameters['ConditionExpression']})"
    try:
        dynamodb.update_item(
            **parameters
            | {
                "TableName": table,
                "Key": to_dynamodb(key, what),
                "UpdateExpression": _with_event(update),
                "ConditionExpression": new,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )
    except dynamodb.exceptions.ConditionalCheckFailedException as error:
        there = _item_there(error)
        if event in there.get(PROCESSED, ()):
            return False
        _refuse_doubt(error, what)
        raise ConditionFailed(what, [Refusal(1, "Update", table, key, readable, there or None)]) from error
    return True


def _refuse_doubt(error: ClientError, what: str) -> None:
    if was_sent_again(error):
        raise WriteInDoubtError(
            f"{what} was refused, but an earlier send of it, whose answer was lost, may still be made: try again"
        ) from error


def _item_there(error: ClientError) -> dict[str, Any]:
    return from_dynamodb(cast("dict[str, Any]", error.response.get("Item", {})))


def _with_event(update: str) -> str:
    """The update expression, with the event added: an expression has at most one ADD clause."""
    joined, found = ADD_CLAUSE.subn("ADD #once :onceSet,", update, count=1)
    return joined if found else f"{update} ADD #once :onceSet"
