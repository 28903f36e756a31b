"""A schema for the payload of an operation, from an example: a beginning that its author narrows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def schema_of(operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema for payloads like this one. Further members are allowed: events get new ones."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Payload of {operation}",
        **_of(payload),
    }


def _of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        required = {"required": sorted(value)} if value else {}
        return {"type": "object", **required, "properties": {name: _of(each) for name, each in value.items()}}
    if isinstance(value, list):
        return {"type": "array"}
    if value is None:
        return {}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds[type(value)]}
