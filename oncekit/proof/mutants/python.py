"""Mutants of Python code: one place of a module's tree is changed; no file is.

A member of a list, set, tuple or mapping is dropped, of tuples that are compared on both sides; a clause of a condition
is dropped or turned, a comparison turned or moved by its boundary; of two operands one stays.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

Change = tuple[str, Callable[[Any], ast.AST]]
"""What it is, and what makes of a copy of the node another one."""

OTHERS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
TYPES = ("annotation", "returns", "slice")
"""Fields of nodes that are not run, or name types."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: str
    name: str
    """`writes:42: without 'error' in ...`."""
    tree: ast.Module


def mutants_of(module: str, path: Path) -> Iterator[Mutant]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(_nodes(tree))
    for number, node in enumerate(nodes):
        node.number = number  # type: ignore[attr-defined]  # by which it is found in a copy
    for number, node in enumerate(nodes):
        for what, change in _changes(node):
            line = f"{module.rpartition('.')[2]}:{getattr(node, 'lineno', '')}"
            text = " ".join(ast.unparse(node).split())
            yield Mutant(module, f"{line}: {what} in {text:.120}", _changed(tree, number, change))


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for field, value in ast.iter_fields(node):
        if field not in TYPES:
            for member in value if isinstance(value, list) else [value]:
                if isinstance(member, ast.AST):
                    yield from _nodes(member)


def _changed(tree: ast.Module, number: int, change: Callable[[Any], ast.AST]) -> ast.Module:
    class At(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return change(node) if getattr(node, "number", None) == number else self.generic_visit(node)

    return cast(ast.Module, ast.fix_missing_locations(At().visit(copy.deepcopy(tree))))


# ---- what is changed ----


def _changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.List() | ast.Set() | ast.Tuple():
            if not isinstance(getattr(node, "ctx", None), ast.Store):
                yield from (_without("elts", number, each) for number, each in enumerate(node.elts))
        case ast.Dict():
            for number, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
                yield f"without {_text(key or value)}", partial(_drop, number, "keys", "values")
        case ast.BoolOp():
            for number, each in enumerate(node.values):
                neutral = ast.Constant(isinstance(node.op, ast.And))
                yield f"without {_text(each)}", partial(_put, "values", number, neutral)
                yield _turned("values", number, each)
        case ast.comprehension():
            for number, each in enumerate(node.ifs):
                yield _without("ifs", number, each)
                yield _turned("ifs", number, each)
        case ast.If() | ast.IfExp() | ast.While():
            yield f"not {_text(node.test)}", _turn_test
        case ast.Compare():
            yield from _of_comparison(node)
        case ast.BinOp():
            yield f"without {_text(node.right)}", lambda made: made.left
            yield f"without {_text(node.left)}", lambda made: made.right


def _of_comparison(node: ast.Compare) -> Iterator[Change]:
    for number, each in enumerate(node.ops):
        for other in OTHERS[type(each)]:
            yield f"{other.__name__} for {type(each).__name__}", partial(_put, "ops", number, other())
    match node:
        case ast.Compare(left=ast.Tuple(elts=members), comparators=[ast.Tuple()]):
            for number, member in enumerate(members):
                yield f"without {_text(member)} on both sides", partial(_drop_on_both_sides, number)


def _without(field: str, number: int, each: ast.AST) -> Change:
    return f"without {_text(each)}", partial(_drop, number, field)


def _turned(field: str, number: int, each: ast.expr) -> Change:
    return f"not {_text(each)}", partial(_put, field, number, _negated(each))


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


# ---- what is made of a copy of the node, which comes last ----


def _drop(number: int, *fields_and_node: Any) -> ast.AST:
    *fields, node = fields_and_node
    for field in fields:
        del getattr(node, field)[number]
    return cast(ast.AST, node)


def _drop_on_both_sides(number: int, node: Any) -> ast.AST:
    for each in (node.left, *node.comparators):
        _drop(number, "elts", each)
    return cast(ast.AST, node)


def _put(field: str, number: int, new: ast.AST, node: ast.AST) -> ast.AST:
    getattr(node, field)[number] = new
    return node


def _turn_test(node: Any) -> ast.AST:
    node.test = _negated(node.test)
    return cast(ast.AST, node)


def _negated(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), node)
