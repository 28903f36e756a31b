"""Makes update expressions faster: moto parses each one twice per call, and checks the type of every node many times.

The state machine sends the same few expressions again and again. So a parsed expression is cached, and each node knows
which types are below it, so that a traversal can skip it. The method for a type of node is looked up once. The meaning
of an expression is left to moto.
"""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from oncekit.local.engine.patching import replaced

_KEPT = 256


@contextmanager
def quick_update_expressions() -> Iterator[None]:
    """Open while moto's DynamoDB is used. Inside of another one it does nothing: a tree is noted once."""
    from moto.dynamodb.parsing import validators
    from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Expression, Node, UpdateExpressionFunction
    from moto.dynamodb.parsing.expressions import UpdateExpressionParser

    parse = UpdateExpressionParser.make
    if hasattr(parse, "cache_info"):
        yield
        return
    below = _Below(Node)

    @functools.lru_cache(maxsize=_KEPT)
    def make(text: str) -> Any:
        tree = parse(text)
        below.note(tree)
        tree.pickled = pickle.dumps(tree, pickle.HIGHEST_PROTOCOL)
        return tree

    with replaced(
        (UpdateExpressionParser, "make", staticmethod(make)),
        (validators, "deepcopy", _copy),
        (DepthFirstTraverser, "traverse_node_recursively", _traversal(Node, DepthFirstTraverser, below)),
        (Node, "find_clauses", _search((Expression, UpdateExpressionFunction))),
    ):
        yield


def _copy(tree: Any) -> Any:
    """A copy of a syntax tree that was made here, in a fraction of the time of `copy.deepcopy`."""
    return pickle.loads(tree.pickled) if hasattr(tree, "pickled") else copy.deepcopy(tree)  # noqa: S301 our own


def _kind_of(types: tuple[type, ...]) -> Callable[[type], bool]:
    """Whether a type is one of `types`; moto's are abstract classes, which take long to ask."""
    return functools.cache(lambda kind: issubclass(kind, types))


class _Below:
    """Notes which types of nodes a part of a tree holds, as a number. DynamoDB's one lock guards it."""

    def __init__(self, node_type: type) -> None:
        self._is_node = _kind_of((node_type,))
        self._numbers: dict[frozenset[type], int] = {}
        self._types: list[frozenset[type]] = []
        self._wanted: dict[tuple[type, int], bool] = {}

    def note(self, node: Any) -> frozenset[type]:
        """Note it at every node of a tree that was just parsed."""
        parts = [self.note(child) for child in node.children or () if self._is_node(type(child))]
        types = frozenset((type(node),)).union(*parts)
        node.below = self._number(types)
        return types

    def _number(self, types: frozenset[type]) -> int:
        if types not in self._numbers:
            self._types.append(types)
            self._numbers[types] = len(self._types) - 1
        return self._numbers[types]

    def replaced(self, node: Any, parent: Any) -> None:
        """A node has taken the place of another one; what was noted above may say too much, never too little."""
        types = self.note(node) if self._is_node(type(node)) else frozenset()
        while parent is not None and not types <= self._types[parent.below]:
            parent.below = self._number(types | self._types[parent.below])
            parent = parent.parent

    def has_work(self, traverser: Any, node: Any, of: Callable[[Any, type], type | None]) -> bool:
        key = (type(traverser), node.below)
        if key not in self._wanted:
            self._wanted[key] = any(of(traverser, kind) is not None for kind in self._types[node.below])
        return self._wanted[key]


def _traversal(node_type: type, traverser_type: Any, below: _Below) -> Callable[..., Any]:
    """moto's traversal: depth first, children first, and the first processor in the map that fits a node."""
    is_node = _kind_of((node_type,))
    no_hook = traverser_type.pre_processing_of_child
    processed_as: dict[tuple[type, type], type | None] = {}

    def processed(traverser: Any, kind: type) -> type | None:
        """The type in the map of a traverser's class under which it processes a type of node."""
        key = (type(traverser), kind)
        if key not in processed_as:
            processed_as[key] = next((of for of in traverser._processing_map() if issubclass(kind, of)), None)
        return processed_as[key]

    def traverse(self: Any, node: Any, child_id: int = -1) -> Any:
        hook = self.pre_processing_of_child if type(self).pre_processing_of_child is not no_hook else None
        processors = self._processing_map()

        def visit(node: Any, child_id: int) -> Any:
            kind = type(node)
            if not is_node(kind) or (hook is None and not below.has_work(self, node, processed)):
                return node
            parent = node.parent
            for number, child in enumerate(node.children or ()):
                if hook:
                    hook(node, number)
                visit(child, number)
            if (of := processed(self, kind)) is not None:
                before, node = node, processors[of](node)
                node.parent = parent
                if parent:
                    parent.children[child_id] = node
                if node is not before:
                    below.replaced(node, parent)
            return node

        return visit(node, child_id)

    return traverse


def _search(deeper: tuple[type, ...]) -> Callable[..., list[Any]]:
    """moto's search for clauses, in the order in which they are written."""
    goes_deeper = _kind_of(deeper)

    def find_clauses(self: Any, clause_types: Any) -> list[Any]:
        found = []
        for child in self.children or ():
            kind = type(child)
            if kind in clause_types:
                found.append(child)
            elif goes_deeper(kind):
                found.extend(find_clauses(child, clause_types))
        return found

    return find_clauses
