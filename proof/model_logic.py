"""Business logic in the model: real code, run again from its start with the answers that its calls have had so far.

So every call is a move of its own, and between any two calls of it the rest of the world may move.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

LOST = '"lost"'


@dataclass(frozen=True, slots=True)
class Calls:
    """The function waits for the answer to a call."""

    action: str
    call: str


@dataclass(frozen=True, slots=True)
class Returns:
    payload: str


@dataclass(frozen=True, slots=True)
class Raises:
    name: str
    message: str


Stage = Calls | Returns | Raises


class _Pause(BaseException):
    """Raised through the business logic by the call that has no answer yet."""

    def __init__(self, stage: Calls) -> None:
        self.stage = stage


class _Exceptions:
    """botocore's exceptions by code, as a client has them."""

    @functools.cache  # noqa: B019  one object for the whole process
    def __getattr__(self, code: str) -> type[ClientError]:
        return type(code, (ClientError,), {})


class ReplayedClient:
    """A client whose first calls have the answers given; the next one pauses the function."""

    exceptions: Any = _Exceptions()

    def __init__(self, answers: tuple[str, ...]) -> None:
        self._answers = list(answers)

    def __getattr__(self, action: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            if not self._answers:
                raise _Pause(Calls(action, json.dumps(parameters, sort_keys=True)))
            answer = json.loads(self._answers.pop(0))
            if answer == "lost":
                raise ConnectionClosedError(endpoint_url="dynamodb")
            if "Error" in answer:
                raise getattr(self.exceptions, answer["Error"]["Code"])(answer, action)
            return answer

        return call


@functools.cache
def stage_of(event: str, answers: tuple[str, ...]) -> Stage:
    """Where a function that was invoked with `event` is after these answers."""
    try:
        payload = charge(json.loads(event), ReplayedClient(answers))
    except _Pause as pause:
        return pause.stage
    except Exception as error:
        return Raises(type(error).__name__, str(error))
    return Returns(json.dumps(payload))


class LockLostError(Exception):
    pass


def charge(event: dict[str, Any], client: Any) -> dict[str, Any]:
    lock = event["lock"]
    result = json.dumps(f"charged under fence {lock['fence']}")
    while True:
        try:
            client.transact_write_items(
                TransactItems=[
                    {
                        "Update": {
                            "TableName": "ledger",
                            "Key": {"id": {"S": "effect"}},
                            "UpdateExpression": "ADD n :one",
                            "ExpressionAttributeValues": {":one": {"N": "1"}},
                        }
                    },
                    {
                        "Update": {
                            "TableName": lock["table"],
                            "Key": {"id": {"S": lock["id"]}},
                            "UpdateExpression": "SET #steps = :steps",
                            "ConditionExpression": "#owner = :me AND fence = :fence AND #status = :s AND attribute_not_exists(#steps)",
                            "ExpressionAttributeNames": {"#steps": "steps", "#owner": "owner", "#status": "status"},
                            "ExpressionAttributeValues": {
                                ":steps": {"M": {"charge": {"S": result}}},
                                ":me": {"S": lock["owner"]},
                                ":fence": {"N": str(lock["fence"])},
                                ":s": {"S": "IN_PROGRESS"},
                            },
                        }
                    },
                ]
            )
            return {"onceResult": result}
        except client.exceptions.TransactionCanceledException:
            pass
        except ConnectionClosedError:
            pass
        item = client.get_item(TableName=lock["table"], Key={"id": {"S": lock["id"]}}, ConsistentRead=True).get(
            "Item", {}
        )
        if (
            item.get("owner", {}).get("S") != lock["owner"]
            or item["fence"]["N"] != str(lock["fence"])
            or item["status"]["S"] != "IN_PROGRESS"
        ):
            raise LockLostError("lost")
        if "steps" in item:
            return {"onceResult": item["steps"]["M"]["charge"]["S"]}
