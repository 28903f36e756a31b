"""DynamoDB in moto: atomic between threads, tokens of transactions, and conditions on what is not there.

One lock protects all calls, in this process and over HTTP.

A transaction that is sent again with its ClientRequestToken within ten minutes is not applied again; a different one
with the same token gets an IdempotentParameterMismatchException (API Reference, TransactWriteItems: "A client request
token is valid for 10 minutes after the first request that uses it is completed").

A comparison with an attribute that does not exist is false, except `<>`, which is true; also if neither of two
attributes exists. A comparison of two types is false, and so is one with the size of a value that has no size.
(test/alternator of scylladb/scylladb holds Amazon DynamoDB to this: test_update_condition_eq_two_unset,
_comparison_two_unset, _lt, _size.)

A write with a value that none of its expressions uses is refused. moto does this for UpdateItem alone; that it is so in
a transaction, too, is unconfirmed.
"""

from __future__ import annotations

import base64
import json
import operator
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from oncekit.local.client_errors import client_error
from oncekit.local.clock import Clock
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service
from oncekit.local.patching import Change


class _Turns:
    """A lock that hundreds of executions may wait for: they wait in front of it, all but one, so that a thread which is
    `ahead` waits for one call and no more."""

    def __init__(self) -> None:
        self._front = threading.RLock()
        self._lock = threading.RLock()
        self._thread = threading.local()

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """This thread passes those in front. Not to be opened while it holds the lock."""
        before, self._thread.is_ahead = self._is_ahead, True
        try:
            yield
        finally:
            self._thread.is_ahead = before

    @property
    def _is_ahead(self) -> bool:
        return getattr(self._thread, "is_ahead", False)

    def __enter__(self) -> None:
        if not self._is_ahead:
            self._front.acquire()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if not self._is_ahead:
            self._front.release()


DYNAMODB_LOCK = _Turns()
"""Held for every call of DynamoDB."""

_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
TOKEN_SECONDS = 600
_done: dict[str, tuple[float, str]] = {}
"""When a transaction was made, and its items, by its token. moto's tables are one for the whole process, as this is."""


def forget_tokens() -> None:
    """As if no transaction had been made: tables that are made empty know of none."""
    _done.clear()


def answering(clock: Clock, written: Callable[[], None] = lambda: None) -> Service:
    """With moto's answers, but for what is told above. `written` is called after each that may have written."""
    forget_tokens()

    def answer(request: Request, proceed: Proceed) -> Answer:
        with DYNAMODB_LOCK:
            if request.target == "TransactWriteItems":
                answered = _transacted(clock, request.asked.parameters, proceed)
            else:
                if request.target in ("PutItem", "DeleteItem"):
                    _check_values(request.target, request.asked.parameters)
                answered = proceed()
            if request.target in _WRITES:
                written()
            return answered

    return answer


def _transacted(clock: Clock, body: Mapping[str, Any], proceed: Proceed) -> Answer:
    for each in body["TransactItems"]:
        for act in each.values():
            _check_values("TransactWriteItems", act)
    token = str(body.get("ClientRequestToken", ""))
    items = json.dumps(body["TransactItems"], sort_keys=True)
    since, before = _done.get(token, (float("-inf"), ""))
    if token and clock.now() - since <= TOKEN_SECONDS:
        if before != items:
            said = "Request token has already been used with different parameters"
            raise client_error("IdempotentParameterMismatchException", said, "TransactWriteItems")
        return 200, {"Content-Type": "application/x-amz-json-1.0"}, b"{}"
    answer = proceed()
    if token and answer[0] < HTTPStatus.BAD_REQUEST:
        _done[token] = (clock.now(), items)
    return answer


def changes() -> list[Change]:
    """In moto's evaluation of conditions, and what it keeps."""
    from moto.dynamodb import comparisons
    from moto.dynamodb.models.dynamo_type import Item

    size = comparisons.FuncSize.expr
    operators = {
        comparisons.OpEqual: operator.eq,
        comparisons.OpNotEqual: operator.ne,
        comparisons.OpLessThan: operator.lt,
        comparisons.OpLessThanOrEqual: operator.le,
        comparisons.OpGreaterThan: operator.gt,
        comparisons.OpGreaterThanOrEqual: operator.ge,
    }

    def is_between(self: Any, item: Any) -> bool:
        try:
            return bool(_value(self.start, item) <= _value(self.attr, item) <= _value(self.end, item))
        except TypeError:
            return False

    def begins_with(self: Any, item: Any) -> bool:
        """moto's compares texts alone."""
        kinds = {self.attr.get_type(item), self.substr.get_type(item)}
        return kinds in ({"S"}, {"B"}) and bool(_value(self.attr, item).startswith(_value(self.substr, item)))

    def size_of(self: Any, item: Any) -> int:
        value = _value(self.attr, item)
        return len(value) if isinstance(value, bytes) else int(size(self, item))

    return [
        (comparisons.FuncBetween, "expr", is_between),
        (comparisons.FuncBeginsWith, "expr", begins_with),
        (comparisons.FuncSize, "expr", size_of),
        *((kind, "expr", _comparison(compare)) for kind, compare in operators.items()),
        (Item, "instances_tracked", deque(maxlen=0)),  # where moto keeps each item that there ever was
    ]


def _check_values(operation: str, write: Mapping[str, Any]) -> None:
    """Raises the refusal of a write with a value that nobody uses."""
    expressions = f"{write.get('ConditionExpression', '')} {write.get('UpdateExpression', '')}"
    used = set(re.findall(r":\w+", expressions))
    if unused := [name for name in write.get("ExpressionAttributeValues") or () if name not in used]:
        names = ", ".join(unused)
        said = f"Value provided in ExpressionAttributeValues unused in expressions: keys: {{{names}}}"
        raise client_error("ValidationException", said, operation)


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def expr(self: Any, item: Any) -> bool:
        try:
            left, right = _value(self.lhs, item), _value(self.rhs, item)
            if (left is None and _is_missing(self.lhs, item)) or (right is None and _is_missing(self.rhs, item)):
                return compare is operator.ne
            return bool(compare(left, right))
        except (TypeError, ValueError):  # two types; the size of what has none
            return False

    return expr


def _value(operand: Any, item: Any) -> Any:
    """Of a binary operand its bytes: before 5.2, moto gives the text that stands for them."""
    value = operand.expr(item)
    return base64.b64decode(value) if isinstance(value, str) and operand.get_type(item) == "B" else value


def _is_missing(operand: Any, item: Any) -> bool:
    """Of a value that is None: an attribute that is not there, or one that is NULL."""
    return operand.get_type(item) is None
