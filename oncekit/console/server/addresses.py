"""Where the pages of the console are."""

from __future__ import annotations

from urllib.parse import quote


def run_address(arn: str) -> str:
    return f"/run/{quote(arn, safe=':', errors='replace')}"


def record_address(id: str) -> str:
    return f"/record/{quote(id, safe='', errors='replace')}"


def rows_address(id: str) -> str:
    """The requests of an id: the execution that did the work first."""
    return f"/?group=id&text={quote(id, safe='', errors='replace')}"


def beside_address(one: str, other: str) -> str:
    """Two runs next to each other."""
    return f"/beside?one={quote(one, safe=':', errors='replace')}&other={quote(other, safe=':', errors='replace')}"
