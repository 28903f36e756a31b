"""What code takes from Powertools, and what that says of its event.

Only what is used counts: an exception of the event handler in a module that is imported says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping

PACKAGE = "aws_lambda_powertools"
BATCH = (
    *("process_partial_response", "async_process_partial_response"),
    *("batch_processor", "async_batch_processor", "sqs_batch_processor"),
)
LOCKS = ("idempotent", "idempotent_function")
_OF_EVENTS = ("event_source", "event_parser", "validator")
"""Decorators of a handler, which say what its event is."""
_OF_DETAIL = ("EventBridgeEvent", "S3EventBridgeNotificationEvent", "EVENTBRIDGE", "CLOUDWATCH_EVENTS_SCHEDULED")
"""They look at no more than what is in `detail`; the models of the parser want all members of an event."""


def names(tree: ast.AST) -> Mapping[str, str]:
    """What a module has from Powertools, in full, by the name that it has there; what its classes extend, by theirs."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str() as module, level=0) if _is_of(module):
                found |= {each.asname or each.name: f"{module}.{each.name}" for each in node.names}
            case ast.Import():
                ours = [each for each in node.names if _is_of(each.name)]
                found |= {each.asname or PACKAGE: each.name if each.asname else PACKAGE for each in ours}
            case ast.ClassDef(name, bases):
                found[name] = next(filter(None, (in_full(each, found) for each in bases)), "")
    return found


def _is_of(module: str) -> bool:
    return f"{module}.".startswith(f"{PACKAGE}.")


def in_full(node: ast.AST | None, known: Mapping[str, str]) -> str:
    """The full name of what is written; empty where it is not from Powertools."""
    match node:
        case ast.Name(name):
            return known.get(name, "")
        case ast.Attribute(value, name) if whole := in_full(value, known):
            return f"{whole}.{name}"
    return ""


def is_resolver(node: ast.AST, known: Mapping[str, str]) -> bool:
    """Whether an event handler of an API is made."""
    whole = in_full(node.func, known) if isinstance(node, ast.Call) else ""
    return ".event_handler." in whole and whole.endswith("Resolver")


def event_classes(node: ast.AST, known: Mapping[str, str], events: Container[str]) -> list[str]:
    """The classes and envelopes as which an event is taken here: by a decorator, a call with it, or its annotation."""
    said: list[ast.AST | None] = []
    match node:
        case ast.arg(arg=name, annotation=annotation) if name in events:
            said = [annotation]
        case ast.Call(func, arguments, keywords):
            values = [*arguments, *(each.value for each in keywords)]
            if in_full(func, known).rpartition(".")[2] in _OF_EVENTS or any(
                isinstance(each, ast.Name) and each.id in events for each in values
            ):
                said = [func, *values]
    return [whole for each in said if _is_of_event(whole := in_full(each, known))]


def looks_at_detail(event_class: str) -> bool:
    """Whether an event of EventBridge will do that has no more than the members that last."""
    return event_class.rpartition(".")[2] in _OF_DETAIL


def _is_of_event(whole: str) -> bool:
    module, _, name = whole.rpartition(".")
    if ".data_classes" in module:
        return name.endswith(("Event", "EventV2"))
    return ".envelopes" in module or (".parser.models" in module and name.endswith("Model") and "Record" not in name)
