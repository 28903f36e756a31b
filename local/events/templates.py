"""Inputs made of an event: Input, InputPath and InputTransformer of a target, InputTemplate of a pipe.

What comes out is the text that the target gets. A placeholder `<name>` outside quotes becomes the JSON of its value;
within quotes it becomes the text of it, escaped, and an object or array loses its quotes there. A path that leads
nowhere becomes an empty text (outside quotes `""`: not confirmed). What does not come out as JSON is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from local.engine.limits import text_of
from local.events.deliveries import Event, Refusal, iso
from local.events.paths import MISSING, PathError, find

_TOKEN = re.compile(r'\\.|"|<(?P<name>[^<>]+)>', re.DOTALL)


def filled(template: str, value_of: Callable[[str], Any]) -> str:
    """A template with its placeholders replaced. `value_of` gives their values; a KeyError leaves one as it is."""
    quoted = False

    def put_in(token: re.Match[str]) -> str:
        nonlocal quoted
        name = token["name"]
        if name is None:
            quoted ^= token[0] == '"'
            return token[0]
        try:
            value = value_of(name)
        except KeyError:
            return token[0]
        value = "" if value is MISSING else value
        return _inside_quotes(value) if quoted else text_of(value)

    return _TOKEN.sub(put_in, template)


def _inside_quotes(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)[1:-1]
    text = text_of(value)
    return text.replace('"', "") if isinstance(value, (dict, list)) else text


def check_json(text: str) -> str:
    """The text, if it is JSON. Raises Refusal."""
    try:
        json.loads(text)
    except ValueError as error:
        raise Refusal("INVALID_JSON", f"The input is not valid JSON: {error}") from error
    return text


def target_input(target: Mapping[str, Any], event: Event, rule_arn: str, rule_name: str) -> str:
    """What a target of a rule gets for an event. Raises Refusal."""
    if "Input" in target:
        return check_json(str(target["Input"]))
    if "InputPath" in target:
        found = find(target["InputPath"], event.body)
        return text_of({} if found is MISSING else found)
    if "InputTransformer" not in target:
        return text_of(event.body)
    paths = target["InputTransformer"].get("InputPathsMap") or {}
    own = {
        "aws.events.rule-arn": rule_arn,
        "aws.events.rule-name": rule_name,
        "aws.events.event.ingestion-time": iso(event.ingested_at, "milliseconds"),
        "aws.events.event": {name: value for name, value in event.body.items() if name != "detail"},
        "aws.events.event.json": event.body,
    }

    def value_of(name: str) -> Any:
        return own[name] if name in own else find(paths[name], event.body)

    return check_json(filled(target["InputTransformer"]["InputTemplate"], value_of))


def piped(template: str, record: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    """What a pipe makes of a record of its source; `own` are the variables `aws.pipes.*`. Raises Refusal."""

    def value_of(name: str) -> Any:
        return find(name, record) if name.startswith("$") else own[name]

    return json.loads(check_json(filled(template, value_of)))


def check_target(target: Mapping[str, Any]) -> None:
    """Raises PathError for a path that EventBridge would not take."""
    paths = [*(target.get("InputTransformer", {}).get("InputPathsMap") or {}).values(), target.get("InputPath", "$")]
    for path in paths:
        find(path, {})


__all__ = ["PathError", "check_json", "check_target", "filled", "piped", "target_input"]
