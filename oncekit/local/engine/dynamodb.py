"""DynamoDB in moto: atomic between threads, and tokens of transactions.

One lock protects all calls, in this process and over HTTP.

A transaction that is sent again with its ClientRequestToken within ten minutes is not applied again; a different one
with the same token gets an IdempotentParameterMismatchException (API Reference, TransactWriteItems: "A client request
token is valid for 10 minutes after the first request that uses it is completed").
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.core.responses import ActionResult
from moto.dynamodb.exceptions import DynamodbException
from moto.dynamodb.responses import DynamoHandler

from oncekit.local.clock import Clock
from oncekit.local.engine import conditions
from oncekit.local.patching import replaced

DYNAMODB_LOCK = threading.RLock()
"""Held for every call of DynamoDB."""

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
    with _atomic(), conditions.patch(), _tokens(clock):
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
