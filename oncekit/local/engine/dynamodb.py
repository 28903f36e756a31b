"""DynamoDB in moto: atomic between threads, tokens of transactions, and UPDATED_NEW with every attribute that was set.

One lock protects all calls, in this process and over HTTP.

A transaction that is sent again with its ClientRequestToken within ten minutes is not applied again; a different one
with the same token gets an IdempotentParameterMismatchException (API Reference, TransactWriteItems: "A client request
token is valid for 10 minutes after the first request that uses it is completed").
"""

from __future__ import annotations

import copy
import functools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.responses import ActionResult
from moto.dynamodb.exceptions import DynamodbException
from moto.dynamodb.parsing.ast_nodes import (
    ExpressionAttribute,
    ExpressionAttributeName,
    UpdateExpressionAddAction,
    UpdateExpressionDeleteAction,
    UpdateExpressionRemoveAction,
    UpdateExpressionSetAction,
)
from moto.dynamodb.parsing.expressions import UpdateExpressionParser
from moto.dynamodb.responses import DynamoHandler

from oncekit.local.clock import Clock
from oncekit.local.engine import conditions
from oncekit.local.engine.patching import replaced

DYNAMODB_LOCK = threading.RLock()
"""Held for every call of DynamoDB."""
_ACTIONS = [
    UpdateExpressionSetAction,
    UpdateExpressionAddAction,
    UpdateExpressionDeleteAction,
    UpdateExpressionRemoveAction,
]


TOKEN_SECONDS = 600
_done: dict[str, tuple[float, str]] = {}
"""When a transaction was made, and its items, by its token. moto's tables are one for the whole process, as this is."""


def forget_tokens() -> None:
    """As if no transaction had been made: tables that are made empty know of none."""
    _done.clear()


class IdempotentParameterMismatch(DynamodbException):
    def __init__(self) -> None:
        super().__init__(
            "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException",
            "Request token has already been used with different parameters",
        )


@contextmanager
def patch(clock: Clock) -> Iterator[None]:
    with _atomic(), _updated_attributes(), conditions.patch(), _tokens(clock):
        yield


@contextmanager
def _tokens(clock: Clock) -> Iterator[None]:
    transact = DynamoHandler.transact_write_items
    forget_tokens()

    def transact_write_items(self: Any) -> Any:
        token, items = self.body.get("ClientRequestToken"), json.dumps(self.body["TransactItems"], sort_keys=True)
        since, before = _done.get(token, (float("-inf"), ""))
        if token is not None and clock.now() - since <= TOKEN_SECONDS:
            if before != items:
                raise IdempotentParameterMismatch
            return ActionResult({})
        answer = transact(self)
        if token is not None:
            _done[token] = (clock.now(), items)
        return answer

    with replaced((DynamoHandler, "transact_write_items", transact_write_items)):
        yield


@contextmanager
def _atomic() -> Iterator[None]:
    call_action = DynamoHandler.call_action

    def one_at_a_time(self: Any) -> Any:
        with DYNAMODB_LOCK:
            return call_action(self)

    with replaced((DynamoHandler, "call_action", one_at_a_time)):
        yield


@contextmanager
def _updated_attributes() -> Iterator[None]:
    update_item = DynamoHandler.update_item

    def update(self: Any) -> Any:
        wanted = self.body.get("ReturnValues")
        if wanted not in ("UPDATED_NEW", "UPDATED_OLD") or not self.body.get("UpdateExpression"):
            return update_item(self)
        before = _attributes(self)
        answer = update_item(self)
        now = _attributes(self) if wanted == "UPDATED_NEW" else before
        touched = {name: now[name] for name in _touched(self.body) if name in now}
        answered = {k: v for k, v in answer.result.get("Attributes", {}).items() if k not in self.body["Key"]}
        answer.result.pop("Attributes", None)
        if touched or answered:
            answer.result["Attributes"] = {**touched, **answered}
        return answer

    with replaced((DynamoHandler, "update_item", update)):
        yield


def _attributes(handler: Any) -> dict[str, Any]:
    item = handler.dynamodb_backend.get_item(handler.body["TableName"], handler.body["Key"])
    return {} if item is None else {name: copy.deepcopy(value.to_regular_json()) for name, value in item.attrs.items()}


def _touched(body: dict[str, Any]) -> list[str]:
    """The attributes that an update names as a whole. Of a nested path moto answers with what changed in it."""
    names = body.get("ExpressionAttributeNames", {})
    return [names.get(name, name) for name in _whole(body["UpdateExpression"].strip())]


@functools.lru_cache(maxsize=256)
def _whole(expression: str) -> list[str]:
    found = []
    for action in UpdateExpressionParser.make(expression).find_clauses(_ACTIONS):
        path = action.children[0].children
        if len(path) == 1 and isinstance(path[0], ExpressionAttributeName | ExpressionAttribute):
            found.append(path[0].children[0])
    return found
