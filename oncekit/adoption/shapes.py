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

    Only in functions that the handler may reach by a name. Its event is its first parameter, what it gives that to, and
    each parameter that is called `event`.
    """
    found: dict[str, tuple[Path, int]] = {}
    known = {path: names(tree) for path, tree in modules}
    resolvers = _resolvers(modules, known)
    assigned = [each for each in _top(modules) if handler in _assigned(each[1])]
    reached = list(_reached(modules, handler, bool(assigned)))
    taken = _taken(modules, reached, handler, assigned)
    for path, node in reached:
        for each, events in _read(node, taken):
            place = (path, getattr(each, "lineno", 0))
            for member in (_shape(each, events), *_of_powertools(each, known[path], events)):
                if member is not None:
                    found[member] = min(found.get(member, place), place)
            is_called = isinstance(node, (*_FUNCTIONS, ast.Module)) or (path, node) in assigned
            if is_called and (name := _name(each)) in resolvers:
                found[RESOLVER] = resolvers[name]
    if found.keys() & {RECORDS, RESOLVER}:
        found.pop(EVENT_CLASS, None)  # the same, seen twice
    return found


def _taken(
    modules: Sequence[Node], reached: Sequence[Node], handler: str, assigned: Sequence[Node]
) -> Mapping[ast.AST, set[str]]:
    """By function: those of its parameters that an event is given to."""
    defined = _defined(modules)
    taken: dict[ast.AST, set[str]] = {
        node: {"event"} & set(_parameters(node)) for each in defined.values() for _, node in each
    }
    said = (node for _, each in assigned for node in ast.walk(each))
    handlers = [node for _, node in defined.get(handler, [])]
    for each in said:
        handlers += [each] if isinstance(each, ast.Lambda) else [node for _, node in defined.get(_name(each), [])]
    for each in handlers:
        taken.setdefault(each, set()).update(_parameters(each)[:1])
    waiting = [node for _, node in reached]
    while waiting:
        for each, events in _read(waiting.pop(), taken):
            if not isinstance(each, ast.Call):
                continue
            for _, called in defined.get(_name(each.func), []):
                if more := _given(each, called, events) - taken[called]:
                    taken[called] |= more
                    waiting.append(called)
    return taken


def _given(call: ast.Call, called: ast.AST, events: Container[str]) -> set[str]:
    """The parameters of a function to which a call gives an event."""
    parameters = _parameters(called)
    by_place = zip(parameters[parameters[:1] in (["self"], ["cls"]) :], call.args, strict=False)
    given = [*by_place, *((each.arg, each.value) for each in call.keywords if each.arg in parameters)]
    return {name for name, value in given if name and isinstance(value, ast.Name) and value.id in events}


def _read(root: ast.AST, taken: Mapping[ast.AST, set[str]]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Each part of the code, with the names that an event has there."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(root, frozenset())]
    while waiting:
        node, events = waiting.pop()
        yield node, events
        inside = events
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                inside = events - {*_parameters(node)} | taken.get(node, set())
            case ast.For() | ast.AsyncFor():
                inside = events - _names_in(node.target)
                waiting.append((node.iter, events))  # what is gone through has its names from around
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inside = events.difference(*(_names_in(each.target) for each in node.generators))
                waiting.append((node.generators[0].iter, events))
        waiting += [(each, inside) for each in ast.iter_child_nodes(node)]


def _names_in(target: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _parameters(function: ast.AST) -> list[str]:
    assert isinstance(function, (*_FUNCTIONS, ast.Lambda))
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _shape(node: ast.AST, events: Container[str]) -> str | None:
    match node:
        case ast.Subscript(ast.Name(event), ast.Constant(str() as member)) if event in events and member in READ:
            return member
        case ast.Call(ast.Attribute(ast.Name(event), "get" | "pop"), [ast.Constant(member), *_]) if event in events:
            return member if member in READ else None
        case ast.Compare(ast.Constant(member), [ast.In() | ast.NotIn()], [ast.Name(event)]) if event in events:
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
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and is_resolver(node.value, known[path]):
                found |= dict.fromkeys(_assigned(node), (path, node.lineno))
    return found


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _assigned(node: ast.AST) -> list[str]:
    """The names to which a statement gives a value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name for each in targets if (name := _name(each))]


def _top(modules: Sequence[Node]) -> Iterator[Node]:
    """The statements that run when a module is imported."""
    for path, tree in modules:
        for each in ast.iter_child_nodes(tree):
            if not isinstance(each, (*_FUNCTIONS, ast.ClassDef)):
                yield path, each


def _reached(modules: Sequence[Node], handler: str, is_assigned: bool) -> Iterator[Node]:
    """What runs when a module is imported, and each function that is named there or in one that is reached."""
    if handler not in (defined := _defined(modules)) and not is_assigned:
        yield from modules
        return
    waiting = [*_top(modules), *defined.pop(handler, [])]
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
