"""Writes of one item that are harmless to repeat. Not fenced: an attempt that lost the lock may still make them.

`put_once` writes the request's id into `createdByRequest` of the new item; `apply_once` adds the id to the item's
string set `processedEvents`. Business logic may read both. The set grows with every request that changes the item.
DynamoDB bills a write by the item's size, and allows 400 KB, which is some thousand ids. If more requests change an
item, use a step, which leaves nothing in the item.

DynamoDB may apply a send late whose answer was lost, and without a lock nothing here can prevent that. If an answer was
lost within a call, a refusal of the call may be wrong, so it is reported as WriteInDoubtError. Sends of an earlier
attempt may still be applied late.
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
"""Attributes of a new item: a condition in DynamoDB has at most 4 KB, and this one names every attribute."""
ADD_CLAUSE: Final = re.compile(r"(?<![#:.\w-])ADD(?![\w.-])", re.IGNORECASE)
"""The keyword. It cannot be an attribute: the word is reserved, so an attribute of this name needs a placeholder."""


def put_once(dynamodb: "DynamoDBClient", request_id: str, table: str, item: Item) -> bool:
    """See Request.put_once."""
    if CREATOR in item:
        raise InvalidWriteError(f"put_once sets {CREATOR} itself; leave it out of the item for {table}")
    if len(item) > ATTRIBUTES_LIMIT:
        raise InvalidWriteError(f"put_once takes items of at most {ATTRIBUTES_LIMIT} attributes; this has {len(item)}")
    # An existing item has the same key attributes as this one. Only the table knows which attributes those are; a
    # condition that none of this item's attributes exists says the same.
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
            f"{what} was refused, but an earlier call of it, whose answer was lost, may still be applied: try again"
        ) from error


def _item_there(error: ClientError) -> dict[str, Any]:
    return from_dynamodb(cast("dict[str, Any]", error.response.get("Item", {})))


def _with_event(update: str) -> str:
    """The update expression, with the event added: an expression has at most one ADD clause."""
    joined, found = ADD_CLAUSE.subn("ADD #once :onceSet,", update, count=1)
    return joined if found else f"{update} ADD #once :onceSet"
