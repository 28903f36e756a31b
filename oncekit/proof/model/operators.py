"""What operators do: `once retry`, `once resolve` and `once release` themselves, on the record of the model.

`once release --forget` is three moves: it holds the record, deletes what is in the bucket, and lets the record go.
"""

from __future__ import annotations

import datetime
import functools
import io
import re
from collections.abc import Callable
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.proof.model.machine import NOW
from oncekit.proof.model.record import Table, as_json, parsed
from oncekit.stack import decisions
from oncekit.stack.records import find
from oncekit.stack.stack import Stack

RESULT = '"by hand"'
_ARN = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:once-OperationStateMachine"
Decision = Callable[[Stack, str], object]


class _Client:
    """DynamoDB with the record; S3 with the kept request; Step Functions, where the owner has ended."""

    class exceptions:  # noqa: N801  as boto3 calls it
        ExecutionAlreadyExists = ExecutionDoesNotExist = NoSuchKey = KeyError

    def __init__(self, table: Table, record: str, kept: str) -> None:
        self._table, self.record, self._kept = table, record, kept

    def get_item(self, **_: Any) -> dict[str, Any]:
        return {"Item": parsed(self.record)}

    def update_item(self, **arguments: Any) -> None:
        after = self._table.update(self.record, as_json(arguments))
        assert after is not None
        # Every operator is the same one, and no condition asks who decided what.
        item = {name: value for name, value in parsed(after).items() if name != "decisions"}
        self.record = re.sub(r"operator-[0-9a-f]{12}", "operator-0", as_json(item))

    def get_object(self, **_: Any) -> dict[str, Any]:
        modified = datetime.datetime.fromtimestamp(NOW, datetime.UTC)
        return {"Body": io.BytesIO(self._kept.encode()), "LastModified": modified}

    def describe_execution(self, **_: Any) -> dict[str, Any]:
        return {"status": "ABORTED"}

    def start_execution(self, **_: Any) -> None:
        """The sweep's start, made at once; as it is the sweep's, the sweep makes it here."""


@functools.cache
def done(table: Table, record: str, kept: str, decide: Decision) -> str:
    """The record after an operator's decision; `kept` is the text of a large request, as it is in the bucket."""
    client = _Client(table, record, kept)
    item = parsed(record)
    bucket = item["requestRef"]["M"]["bucket"]["S"] if "requestRef" in item else ""
    outputs = {"TableName": table.name, "ResponseBucketName": bucket, "StateMachineArn": _ARN}
    outputs |= {"StateMachineAliasArn": f"{_ARN}:live"}
    parameters = {"RetentionDays": "30"}
    clients = dict.fromkeys(("dynamodb", "s3", "stepfunctions"), client)
    here = Stack("once", outputs, parameters, None, now=lambda: float(NOW), id="once/local", clients=clients)
    decide(here, item["id"]["S"])
    return client.record


def complete(stack: Stack, id: str) -> None:
    decisions.resolve(stack, id, RESULT, None)


def fail(stack: Stack, id: str) -> None:
    decisions.resolve(stack, id, None, "by hand")


def release(stack: Stack, id: str) -> None:
    decisions.release(stack, decisions.may_be_released(stack, id)[0])


def hold(stack: Stack, id: str) -> None:
    decisions.hold(stack, find(stack, id))


def let_go(stack: Stack, id: str) -> None:
    decisions.let_go(stack, find(stack, id))


def is_held(record: str | None) -> bool:
    """By an operator who forgets it."""
    item = parsed(record) if record else {}
    is_forgotten = "error" in item and item["error"]["M"]["message"]["S"] == decisions.FORGOTTEN
    return is_forgotten and int(item["expiresAt"]["N"]) > NOW
