"""The end of work elsewhere: it ends the operation with its ticket, and a result of as many bytes as are asked for."""

from typing import Any

from once import complete


def handler(event: dict[str, Any], _context: object) -> str:
    return complete(event["ticket"], {"text": "x" * (event["bytes"] - len('{"text":""}'))}).status
