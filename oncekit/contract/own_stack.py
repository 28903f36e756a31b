"""Which stack is Once's own: the one that was named, or one inside of it.

An application may give its outputs, parameters and resources any names, those of Once, too. So Once is found by where
it is: where `once init` puts it, or else where its outputs name its resources in the same stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Self, TypeVar

ONCE, MACHINE = "Once", "Machine"
"""Logical ids of what `once init` makes: in the application the stack of operations.yaml, and in it Once's own."""
MADE = {
    "StateMachineArn": "OperationStateMachine",
    "TableName": "IdempotencyTable",
    "ResponseBucketName": "ResponseBucket",
}
"""Outputs that Once has always, each with the resource that it names."""
DEEPEST = 3
"""How many stacks deep it is looked for."""


class Nested(Protocol):
    """A stack, in the local cloud or on AWS."""

    @property
    def outputs(self) -> Mapping[str, str]: ...

    @property
    def inside(self) -> Mapping[str, Self]:
        """The stacks that it has as resources, by logical id."""

    def ref(self, logical_id: str) -> str | None:
        """The value of Ref of a resource of its own; None where it has none."""


_Stack = TypeVar("_Stack", bound=Nested)


def own_stack(stack: _Stack, depth: int = DEEPEST) -> _Stack | None:
    """The stack itself or the one inside of it that is Once's own; None where there is none."""
    inside = stack.inside if depth else {}
    where_it_is_put = [inside[each] for each in (ONCE, MACHINE) if each in inside]
    for each in where_it_is_put:
        if (found := own_stack(each, depth - 1)) is not None:
            return found
    if all(name is not None and stack.outputs.get(output) == name for output, name in _made_in(stack).items()):
        return stack
    others = (each for logical_id, each in inside.items() if logical_id not in (ONCE, MACHINE))
    return next((found for each in others if (found := own_stack(each, depth - 1)) is not None), None)


def _made_in(stack: Nested) -> Mapping[str, str | None]:
    return {output: stack.ref(logical_id) for output, logical_id in MADE.items()}
