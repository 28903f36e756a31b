"""Conditions of DynamoDB in moto: attributes that do not exist, and attributes of another type.

A comparison with an attribute that does not exist is false, except `<>`, which is true; also if neither of two
attributes exists. A comparison of two types is false, and so is one with the size of a value that has no size.
(test/alternator of scylladb/scylladb holds Amazon DynamoDB to this: test_update_condition_eq_two_unset,
_comparison_two_unset, _lt, _size.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from moto.dynamodb import comparisons

from oncekit.local.patching import replaced

_OPERATORS: list[tuple[type, Callable[[Any, Any], bool]]] = [
    (comparisons.OpEqual, operator.eq),
    (comparisons.OpNotEqual, operator.ne),
    (comparisons.OpLessThan, operator.lt),
    (comparisons.OpLessThanOrEqual, operator.le),
    (comparisons.OpGreaterThan, operator.gt),
    (comparisons.OpGreaterThanOrEqual, operator.ge),
]


@contextmanager
def patch() -> Iterator[None]:
    between = comparisons.FuncBetween.expr

    def is_between(self: Any, item: Any) -> bool:
        try:
            return bool(between(self, item))
        except TypeError:
            return False

    compared = [(kind, "expr", _comparison(compare)) for kind, compare in _OPERATORS]
    with replaced(*compared, (comparisons.FuncBetween, "expr", is_between)):
        yield


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
