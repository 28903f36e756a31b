"""CloudWatch's metric math, as much of it as alarms on rollouts use.

A metric has no point for a time in which nothing was counted. An expression that meets such a gap has no point either,
except inside of FILL. Here a gap is None.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


class UnknownMath(Exception):
    """The expression has something that is not known here."""


def evaluate(expression: str, points: Mapping[str, float | None]) -> float | None:
    """The expression's point where each metric has this one. Raises UnknownMath."""
    written = expression.replace(" AND ", " and ").replace(" OR ", " or ")
    try:
        return _value(ast.parse(written.strip(), mode="eval").body, points)
    except SyntaxError as error:
        raise UnknownMath(expression) from error


def _value(node: ast.expr, points: Mapping[str, float | None]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in points:
            return points[name]
        case ast.Call(func=ast.Name(id="FILL"), args=[series, other]):
            value = _value(series, points)
            return _value(other, points) if value is None else value
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, other]):
            holds = _value(condition, points)
            return None if holds is None else _value(then if holds else other, points)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _applied(_BINARY[type(op)], left, right, points)
        case ast.Compare(left=left, ops=[comparison], comparators=[right]) if type(comparison) in _COMPARISONS:
            return _applied(_COMPARISONS[type(comparison)], left, right, points)
        case ast.BoolOp(op=ast.And() | ast.Or() as op, values=parts):
            values = [_value(part, points) for part in parts]
            return None if None in values else float((all if isinstance(op, ast.And) else any)(values))
    raise UnknownMath(ast.unparse(node))


def _applied(
    function: Callable[[float, float], float], left: ast.expr, right: ast.expr, points: Mapping[str, float | None]
) -> float | None:
    one, other = _value(left, points), _value(right, points)
    return None if one is None or other is None else function(one, other)
