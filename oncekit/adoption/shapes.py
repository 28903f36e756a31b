"""What a function expects of its event, and gives back, as its code says: the shapes that AWS's own triggers have."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

from oncekit.adoption.powertools import (
    BATCH,
    LOCKS,
    event_classes,
    in_full,
    is_resolver,
    looks_at_detail,
    names,
)

RECORDS, BODY, DETAIL, STATUS_CODE = "Records", "body", "detail", "statusCode"
Node = tuple[Path, ast.AST]
OF_HTTP = (
    *("pathParameters", "queryStringParameters", "multiValueQueryStringParameters", "requestContext", "headers"),
    *("multiValueHeaders", "stageVariables", "httpMethod", "rawPath", "rawQueryString"),
)
"""What API Gateway and function URLs put beside a body, under names that hardly any payload has."""
READ = (RECORDS, BODY, DETAIL, *OF_HTTP)
RESOLVER, EVENT_CLASS, LOCK, KEY = "a resolver", "an event's class", "another lock", "a key"
"""What is not a member: an event handler, an event that is taken as a class of Powertools, its idempotency; a key of
`once()` that AWS makes anew each time."""
_MADE_ANEW = ("messageId", "MessageId", "message_id", "aws_request_id")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def shapes(modules: Sequence[Node], handler: str) -> Mapping[str, tuple[Path, int]]:
    """The members of an event that are read, and `statusCode` where an answer has it: the first file and line of each.

    Only in functions that the handler may reach by a name. Its event is `event`, or its first parameter.
    """
    found: dict[str, tuple[Path, int]] = {}
    handlers = [each for _, each in _defined(modules).get(handler, []) if isinstance(each, _FUNCTIONS)]
    events = {"event", *(each.args.args[0].arg for each in handlers if each.args.args)}
    known = {path: names(tree) for path, tree in modules}
    resolvers = _resolvers(modules, known)
    for path, node in _reached(modules, handler):
        for each in ast.walk(node):
            place = (path, getattr(each, "lineno", 0))
            for member in (_shape(each, events), *_of_powertools(each, known[path], events)):
                if member is not None:
                    found[member] = min(found.get(member, place), place)
            if isinstance(node, (*_FUNCTIONS, ast.Module)) and (name := _name(each)) in resolvers:
                found[RESOLVER] = resolvers[name]
    if found.keys() & {RECORDS, RESOLVER}:
        found.pop(EVENT_CLASS, None)  # the same, seen twice
    return found


def _shape(node: ast.AST, events: set[str]) -> str | None:
    match node:
        case ast.Subscript(ast.Name(event), ast.Constant(str() as member)) if event in events and member in READ:
            return member
        case ast.Call(ast.Attribute(ast.Name(event), "get"), [ast.Constant(str() as member), *_]) if event in events:
            return member if member in READ else None
        case ast.Attribute(ast.Name(event), "records") if event in events:
            return RECORDS
        case ast.Dict(keys) if any(isinstance(each, ast.Constant) and each.value == STATUS_CODE for each in keys):
            return STATUS_CODE
        case ast.Call(ast.Attribute(attr="once"), _, keywords):
            of_key = (part for keyword in keywords if keyword.arg == "key" for part in ast.walk(keyword.value))
            return KEY if any(_is_made_anew(each) for each in of_key) else None
    return None


def _is_made_anew(node: ast.AST) -> bool:
    return (node.value if isinstance(node, ast.Constant) else _name(node)) in _MADE_ANEW


def _of_powertools(node: ast.AST, known: Mapping[str, str], events: Container[str]) -> Iterator[str]:
    name = in_full(node, known).rpartition(".")[2]
    if name in BATCH:
        yield RECORDS
    if name in LOCKS:
        yield LOCK
    for each in event_classes(node, known, events):
        yield DETAIL if looks_at_detail(each) else EVENT_CLASS


def _resolvers(modules: Sequence[Node], known: Mapping[Path, Mapping[str, str]]) -> Mapping[str, tuple[Path, int]]:
    """The names of event handlers, each with where it is made."""
    found: dict[str, tuple[Path, int]] = {}
    for path, tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and is_resolver(node.value, known[path]):
                found |= {name: (path, node.lineno) for each in node.targets if (name := _name(each))}
    return found


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


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
            waiting += defined.pop(_name(each), [])


def _defined(modules: Sequence[Node]) -> dict[str, list[Node]]:
    """The functions, and the methods of classes, by their names."""
    found: dict[str, list[Node]] = {}
    for path, tree in modules:
        for each in ast.walk(tree):
            if isinstance(each, _FUNCTIONS):
                found.setdefault(each.name, []).append((path, each))
    return found
