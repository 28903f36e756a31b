"""Inputs made from an event: Input, InputPath and InputTransformer of a target, InputTemplate of a pipe.

The result is the text that the target gets. Outside quotes, a placeholder `<name>` becomes the JSON of an object or
array; a text becomes the text with quotes around it. Within quotes it becomes the text. A text is never escaped: its
quotes, backslashes and line breaks become those of the template. If the result is no JSON, nothing is delivered; but
`q", "a": "b` brings a member along, and `a\\/b` is read as `a/b`. A path that matches nothing becomes an empty text,
`""` outside quotes. An object or array within quotes loses its own quotes in a template that is a text; in a template
that is JSON the result is not JSON. If one path is the whole template of a pipe, an object or array loses its quotes,
too: the result is not JSON, and cannot start a state machine. Of a rule's predefined variables there is one,
`aws.events.event.json`, the whole event as JSON; it is not escaped, so that it is for the value of a member only.

Of paths there are, as far as EventBridge supports them, members by name and elements by index.

Sources: User Guide, *EventBridge Pipes input transformation*: "`{"key": "value"}` will become `"{key: value}"` when
delivered to the target", "this will cause delivery failure", "EventBridge doesn't escape values extracted by Input
Path", "EventBridge Pipes automatically adds quotes to string variable values". *Input transformation*, predefined
variables: "The full original event payload as JSON (with the detail field). Can only be used as a value for a JSON
field, as it's contents are not escaped."
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from oncekit.asl.sizes import text_of
from oncekit.local.events.deliveries import Event, Refusal

MISSING = object()
"""The value of a path that matches nothing."""
WHOLE_EVENT = "aws.events.event.json"

_STEP = re.compile(r"\.(?P<name>[^.\[\]*]+)|\[(?P<index>\d+)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")


class PathError(ValueError):
    """A path that EventBridge would refuse, or one with `*`."""


def find(path: str, value: Any) -> Any:
    """The value at a path, MISSING if there is none. Raises PathError."""
    if not path.startswith("$"):
        raise PathError(f"a path begins with $, not {path!r}")
    position = 1
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise PathError(f"{path!r} is not a path that is supported here, from {path[position:]!r} on")
        value = _taken(step, value)
        position = step.end()
    return value


def _taken(step: re.Match[str], value: Any) -> Any:
    if step["index"] is not None:
        index = int(step["index"])
        return value[index] if isinstance(value, list) and index < len(value) else MISSING
    name = step["name"] or step["quoted"]
    return value[name] if isinstance(value, dict) and name in value else MISSING


# ---- templates ----

_TOKEN = re.compile(r'\\.|"|<(?P<name>[^<>]+)>', re.DOTALL)


def filled(template: str, value_of: Callable[[str], Any]) -> str:
    """A template with its placeholders replaced. `value_of` gives their values."""
    is_text = template.lstrip().startswith('"')
    quoted = False

    def put_in(token: re.Match[str]) -> str:
        nonlocal quoted
        name = token["name"]
        if name is None:
            quoted ^= token[0] == '"'
            return token[0]
        value = value_of(name)
        value = "" if value is MISSING else value
        if isinstance(value, str):
            return value if quoted else f'"{value}"'
        return _without_quotes(value) if quoted and is_text else text_of(value)

    return _TOKEN.sub(put_in, template)


def placeholders(template: str) -> set[str]:
    return {token["name"] for token in _TOKEN.finditer(template) if token["name"] is not None}


def _without_quotes(value: Any) -> str:
    return text_of(value).replace('"', "")


def check_json(text: str) -> str:
    """The text, if it is JSON. Raises Refusal."""
    try:
        json.loads(text)
    except ValueError as error:
        raise Refusal("INVALID_JSON", f"The input is not valid JSON: {error}") from error
    return text


def target_input(target: Mapping[str, Any], event: Event) -> str:
    """What a target of a rule gets for an event. Raises Refusal."""
    if "Input" in target:
        return str(target["Input"])
    if "InputPath" in target:
        found = find(target["InputPath"], event.body)
        return text_of({} if found is MISSING else found)
    if "InputTransformer" not in target:
        return text_of(event.body)
    paths = target["InputTransformer"].get("InputPathsMap") or {}
    template = str(target["InputTransformer"]["InputTemplate"])
    text = filled(template, lambda name: event.body if name == WHOLE_EVENT else find(paths[name], event.body))
    return text if template.lstrip().startswith('"') else check_json(text)


def piped(template: str, record: Mapping[str, Any]) -> Any:
    """What a pipe makes of a record of its source. Raises Refusal."""
    if (alone := _TOKEN.fullmatch(template.strip())) is not None and alone["name"] is not None:
        value = find(alone["name"], record)
        if isinstance(value, dict | list):
            raise Refusal("INVALID_JSON", f"The input is not valid JSON: {_without_quotes(value)}")
    return json.loads(check_json(filled(template, lambda name: find(name, record))))


def check_target(target: Mapping[str, Any]) -> None:
    """Whether the local cloud finds the paths and placeholders of a target of a rule. Raises PathError."""
    transformer = target.get("InputTransformer") or {}
    paths = transformer.get("InputPathsMap") or {}
    for path in (*paths.values(), target.get("InputPath", "$")):
        find(path, {})
    if unknown := placeholders(transformer.get("InputTemplate", "")) - {*paths, WHOLE_EVENT}:
        raise PathError(f"the template contains the placeholder {min(unknown)}, which has no path")


def check_template(template: str) -> None:
    """The same for the template of a pipe."""
    for name in placeholders(template):
        find(name, {})
