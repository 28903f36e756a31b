"""What came of an execution, read from its description and history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Execution:
    """An execution as it is now. `states` are the names in the order entered, `transitions` their number."""

    name: str
    arn: str
    status: str
    input: Any
    output: Any
    error: str | None
    cause: str | None
    states: tuple[str, ...]
    transitions: int
    events: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, described: dict[str, Any], events: Sequence[dict[str, Any]]) -> Execution:
        """From the answers of DescribeExecution and GetExecutionHistory."""
        states = tuple(e["stateEnteredEventDetails"]["name"] for e in events if "stateEnteredEventDetails" in e)
        return cls(
            name=described["name"],
            arn=described["executionArn"],
            status=described["status"],
            input=json.loads(described["input"]),
            output=json.loads(described["output"]) if described.get("output") else None,
            error=described.get("error") or None,
            cause=described.get("cause") or None,
            states=states,
            transitions=len(states),
            events=tuple(events),
        )
