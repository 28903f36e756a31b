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

import json
import operator
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from moto.core.responses import ActionResult
from moto.dynamodb import comparisons
from moto.dynamodb.exceptions import DynamodbException, MockValidationException
from moto.dynamodb.responses import DynamoHandler

from oncekit.local.clock import Clock
from oncekit.local.patching import Change

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


_OPERATORS: list[tuple[type, Callable[[Any, Any], bool]]] = [
    (comparisons.OpEqual, operator.eq),
    (comparisons.OpNotEqual, operator.ne),
    (comparisons.OpLessThan, operator.lt),
    (comparisons.OpLessThanOrEqual, operator.le),
    (comparisons.OpGreaterThan, operator.gt),
    (comparisons.OpGreaterThanOrEqual, operator.ge),
]


def changes(clock: Clock) -> list[Change]:
    transact, call_action, between = (
        DynamoHandler.transact_write_items,
        DynamoHandler.call_action,
        comparisons.FuncBetween.expr,
    )
    put, delete = DynamoHandler.put_item, DynamoHandler.delete_item
    forget_tokens()

    def one_at_a_time(self: Any) -> Any:
        with DYNAMODB_LOCK:
            return call_action(self)

    def transact_write_items(self: Any) -> Any:
        for each in self.body["TransactItems"]:
            for act in each.values():
                _check_values(act)
        token = self.body.get("ClientRequestToken")
        items = json.dumps(self.body["TransactItems"], sort_keys=True, default=repr)  # of bytes
        since, before = _done.get(token, (float("-inf"), ""))
        if token is not None and clock.now() - since <= TOKEN_SECONDS:
            if before != items:
                raise IdempotentParameterMismatch
            return ActionResult({})
        answer = transact(self)
        if token is not None:
            _done[token] = (clock.now(), items)
        return answer

    def put_item(self: Any) -> Any:
        _check_values(self.body)
        return put(self)

    def delete_item(self: Any) -> Any:
        _check_values(self.body)
        return delete(self)

    def is_between(self: Any, item: Any) -> bool:
        try:
            return bool(between(self, item))
        except TypeError:
            return False

    def begins_with(self: Any, item: Any) -> bool:
        """moto's compares texts alone."""
        kinds = {self.attr.get_type(item), self.substr.get_type(item)}
        return kinds in ({"S"}, {"B"}) and bool(self.attr.expr(item).startswith(self.substr.expr(item)))

    return [
        (DynamoHandler, "call_action", one_at_a_time),
        (DynamoHandler, "transact_write_items", transact_write_items),
        (DynamoHandler, "put_item", put_item),
        (DynamoHandler, "delete_item", delete_item),
        (comparisons.FuncBetween, "expr", is_between),
        (comparisons.FuncBeginsWith, "expr", begins_with),
        *((kind, "expr", _comparison(compare)) for kind, compare in _OPERATORS),
    ]


def _check_values(write: Mapping[str, Any]) -> None:
    """Raises the refusal of a write with a value that nobody uses."""
    expressions = f"{write.get('ConditionExpression', '')} {write.get('UpdateExpression', '')}"
    used = set(re.findall(r":\w+", expressions))
    if unused := [name for name in write.get("ExpressionAttributeValues") or () if name not in used]:
        names = ", ".join(unused)
        raise MockValidationException(
            f"Value provided in ExpressionAttributeValues unused in expressions: keys: {{{names}}}"
        )


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def expr(self: Any, item: Any) -> bool:
        try:
            left, right = self.lhs.expr(item), self.rhs.expr(item)
            if (left is None and _is_missing(self.lhs, item)) or (right is None and _is_missing(self.rhs, item)):
                return compare is operator.ne
            return bool(compare(left, right))
        except (TypeError, ValueError):  # two types; the size of what has none
            return False

    return expr


def _is_missing(operand: Any, item: Any) -> bool:
    """Of a value that is None: an attribute that is not there, or one that is NULL."""
    return operand.get_type(item) is None
