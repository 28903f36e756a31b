"""Which function an operation has: by the parameter Operations, or else by the prefix of the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LIVE = "live"
"""The alias of a deployment: of every function that is found by its name, and of the state machines."""


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
    prefix: str | None
    """What stands before an operation in a function's name, hyphen included; None: only `named` have functions."""

    @staticmethod
    def of(parameters: Mapping[str, str], outputs: Mapping[str, str]) -> OperationFunctions:
        """By a stack's parameters and outputs; without such parameters, by their defaults."""
        prefix = None if parameters.get("FunctionsByPrefix") == "false" else outputs.get("FunctionPrefix")
        return OperationFunctions(parsed(parameters.get("Operations", "")), None if prefix is None else f"{prefix}-")

    def function_of(self, operation: str) -> Named | None:
        """None when the operation has no function."""
        by_prefix = None if self.prefix is None else Named(self.prefix + operation, LIVE)
        return self.named.get(operation, by_prefix)

    def operation_of(self, function: str) -> str | None:
        """The operation of a function by its name; None when it is not an operation's."""
        for operation, named in self.named.items():
            if named.name == function:
                return operation
        if self.prefix is None or not function.startswith(self.prefix):
            return None
        return function.removeprefix(self.prefix)


def parsed(operations: str) -> dict[str, Named]:
    """The parameter Operations: `charge=my-charge:live, refund=arn:aws:lambda:...`. The first entry of two counts."""
    found: dict[str, Named] = {}
    for entry in operations.replace(" ", "").split(","):
        operation, equals, function = entry.partition("=")
        name, _, qualifier = function.rpartition(":function:")[2].partition(":")
        if equals and operation not in found:
            found[operation] = Named(name, qualifier or None)
    return found
