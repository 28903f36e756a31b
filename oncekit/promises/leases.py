"""Where a definition sets a lease: the time until which an owner counts as alive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_LEASE = re.compile(r"\bleaseExpiresAt\s*=\s*(:\w+)")


def lease_texts(state: Mapping[str, Any]) -> Iterator[str]:
    """What a state sets as the end of a lease: a number or an expression, as it is written."""
    arguments = state.get("Arguments")
    if isinstance(arguments, Mapping) and str(state.get("Resource", "")).endswith(":dynamodb:updateItem"):
        update = str(arguments.get("UpdateExpression", "")).partition("SET ")[2]
        for value in _LEASE.findall(update):
            yield str(arguments.get("ExpressionAttributeValues", {}).get(value, {}).get("N", ""))
