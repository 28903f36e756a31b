"""Which function each operation of a stack has: by its output Operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LIVE = "live"
"""The alias of a deployment: of the examples' functions, and of the state machines."""


@dataclass(frozen=True)
class Named:
    """A function, and the alias or version of it that is invoked; none is the newest code."""

    name: str
    qualifier: str | None


@dataclass(frozen=True)
class OperationFunctions:
    """The functions of a stack's operations, as its state machines find them."""

    named: Mapping[str, Named]
    """By operation."""

    @staticmethod
    def of(outputs: Mapping[str, str]) -> OperationFunctions:
        """By a stack's outputs."""
        return OperationFunctions(parsed(outputs.get("Operations", "")))

    def function_of(self, operation: str) -> Named | None:
        """None when the operation has no function."""
        return self.named.get(operation)

    def operations_of(self, function: str, event: Any = None) -> tuple[str, ...]:
        """Those of a function by its name, or the one of them that its event names: a payload alone names none."""
        found = tuple(operation for operation, named in self.named.items() if named.name == function)
        told = event.get("operation") if isinstance(event, dict) else None
        return (told,) if told in found else found


def parsed(operations: str) -> dict[str, Named]:
    """The parameter Operations: `charge=my-charge:live,refund=arn:aws:lambda:...`. The first entry of two counts."""
    found: dict[str, Named] = {}
    for entry in operations.split(","):
        operation, equals, function = entry.partition("=")
        name, _, qualifier = function.rpartition(":function:")[2].partition(":")
        if equals and operation not in found:
            found[operation] = Named(name, qualifier or None)
    return found
