"""What a function expects of its event, and gives back, as its code says: the shapes that AWS's own triggers have."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

RECORDS, BODY, DETAIL, STATUS_CODE = "Records", "body", "detail", "statusCode"
Node = tuple[Path, ast.AST]
OF_HTTP = (
    *("pathParameters", "queryStringParameters", "multiValueQueryStringParameters", "requestContext", "headers"),
    *("multiValueHeaders", "stageVariables", "httpMethod", "rawPath", "rawQueryString"),
)
"""What API Gateway and function URLs put beside a body, under names that hardly any payload has."""
_READ = (RECORDS, BODY, DETAIL, *OF_HTTP)
_POWERTOOLS = {"aws_lambda_powertools.utilities.batch": RECORDS, "aws_lambda_powertools.event_handler": BODY}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def shapes(modules: Sequence[Node], handler: str) -> Mapping[str, tuple[Path, int]]:
    """The members of an event that are read, and `statusCode` where an answer has it: the first file and line of each.

    Only in functions that the handler may reach by a name. Its event is `event`, or its first parameter.
    """
    found: dict[str, tuple[Path, int]] = {}
    handlers = [each for _, each in _defined(modules).get(handler, []) if isinstance(each, _FUNCTIONS)]
    events = {"event", *(each.args.args[0].arg for each in handlers if each.args.args)}
    for path, node in _reached(modules, handler):
        for each in ast.walk(node):
            if (member := _shape(each, events)) is not None:
                place = (path, getattr(each, "lineno", 0))
                found[member] = min(found.get(member, place), place)
    return found


def _shape(node: ast.AST, events: set[str]) -> str | None:
    match node:
        case ast.Subscript(ast.Name(event), ast.Constant(str() as member)) if event in events and member in _READ:
            return member
        case ast.Call(ast.Attribute(ast.Name(event), "get"), [ast.Constant(str() as member), *_]) if event in events:
            return member if member in _READ else None
        case ast.Dict(keys) if any(isinstance(each, ast.Constant) and each.value == STATUS_CODE for each in keys):
            return STATUS_CODE
        case ast.ImportFrom(module=str() as module) | ast.Import([ast.alias(name=module)]):
            return next((member for name, member in _POWERTOOLS.items() if f"{module}.".startswith(f"{name}.")), None)
    return None


def _reached(modules: Sequence[Node], handler: str) -> Iterator[Node]:
    """What runs when a module is imported, and each function that is named there or in one that is reached."""
    if handler not in (defined := _defined(modules)):
        yield from modules
        return
    top = ((path, each) for path, tree in modules for each in ast.iter_child_nodes(tree))
    waiting = [each for each in top if not isinstance(each[1], (*_FUNCTIONS, ast.ClassDef))] + defined.pop(handler)
    while waiting:
        path, node = waiting.pop()
        yield path, node
        for each in ast.walk(node):
            name = each.id if isinstance(each, ast.Name) else each.attr if isinstance(each, ast.Attribute) else ""
            waiting += defined.pop(name, [])


def _defined(modules: Sequence[Node]) -> dict[str, list[Node]]:
    """The functions, and the methods of classes, by their names."""
    found: dict[str, list[Node]] = {}
    for path, tree in modules:
        for each in ast.walk(tree):
            if isinstance(each, _FUNCTIONS):
                found.setdefault(each.name, []).append((path, each))
    return found
