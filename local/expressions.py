"""Update expressions, quicker: moto parses each one twice per call, and asks every node a thousand times what it is.

The state machine sends the same few texts again and again, so a parsed text is kept; what is done with a type of node
is looked up once. What an expression means is left to moto.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from local.engine.patching import replaced

_KEPT = 256


@contextmanager
def quick_update_expressions() -> Iterator[None]:
    """Open while moto's DynamoDB is used; one at a time in a process."""
    from moto.dynamodb.parsing import validators
    from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Expression, Node, UpdateExpressionFunction
    from moto.dynamodb.parsing.expressions import UpdateExpressionParser

    make = UpdateExpressionParser.make
    with replaced(
        (UpdateExpressionParser, "make", staticmethod(functools.lru_cache(maxsize=_KEPT)(make))),
        (validators, "deepcopy", _copy),
        (DepthFirstTraverser, "traverse_node_recursively", _traversal(Node, DepthFirstTraverser)),
        (Node, "find_clauses", _search((Expression, UpdateExpressionFunction))),
    ):
        yield


def _copy(tree: Any) -> Any:
    """A copy of a syntax tree, or of a value in it, in a fraction of the time of `copy.deepcopy`."""
    return pickle.loads(pickle.dumps(tree, pickle.HIGHEST_PROTOCOL))  # noqa: S301 it was written in the same line


def _kind_of(types: tuple[type, ...]) -> Callable[[type], bool]:
    """Whether a type is one of `types`; moto's are abstract classes, which take long to ask."""
    return functools.cache(lambda kind: issubclass(kind, types))


def _traversal(node_type: type, traverser_type: Any) -> Callable[..., Any]:
    """moto's traversal: depth first, children first, and the first processor in the map that fits a node."""
    is_node = _kind_of((node_type,))
    no_hook = traverser_type.pre_processing_of_child

    def processors(traverser: Any) -> dict[type, Any]:
        known: dict[type, Any] = vars(traverser).setdefault("_processors_by_type", {})
        return known

    def processor_of(traverser: Any, kind: type) -> Any:
        pairs = traverser._processing_map().items()
        return next((process for of, process in pairs if issubclass(kind, of)), None)

    def traverse(self: Any, node: Any, child_id: int = -1) -> Any:
        hook = self.pre_processing_of_child if type(self).pre_processing_of_child is not no_hook else None
        known = processors(self)

        def visit(node: Any, child_id: int) -> Any:
            kind = type(node)
            if not is_node(kind):
                return node
            parent = node.parent
            for number, child in enumerate(node.children or ()):
                if hook:
                    hook(node, number)
                visit(child, number)
            if kind not in known:
                known[kind] = processor_of(self, kind)
            if process := known[kind]:
                node = process(node)
                node.parent = parent
                if parent:
                    parent.children[child_id] = node
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
