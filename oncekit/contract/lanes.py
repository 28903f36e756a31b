"""The lanes: two state machines over one table, and functions that take the lock on it themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

Lane = Literal["full", "fast"]
"""Of a state machine."""
FULL: Lane = "full"
FAST: Lane = "fast"
MACHINES: dict[Lane, str] = {FULL: "StateMachineArn", FAST: "FastStateMachineArn"}
"""The output that names the state machine of each."""
DIRECT: Literal["direct"] = "direct"
"""The lane of an owner that is no execution, but an invocation of a function by an event of its own."""
OwnersLane = Lane | Literal["direct"]
PLACES = frozenset({"ONCE_PARAMETER", "ONCE_TABLE"})
"""Variables that only a function of the direct lane has."""
_EXPRESS = re.compile(r"[^:]*:[^:]*:[^:]*:[^:]*:[^:]*:express:")
_INVOKED = re.compile(r"direct:([\w-]{1,140}):([\w-]{1,64}):\w{1,64}", re.ASCII)


def lane_of(arn: str) -> Lane:
    """The lane that an execution is in, by its ARN; told apart as the state machine does."""
    return FAST if _EXPRESS.match(arn) else FULL


def is_direct(owner: str) -> bool:
    """Whether an owner is in the direct lane. Nobody can be asked for it: it is over when its lease is."""
    return owner.startswith(f"{DIRECT}:")


@dataclass(frozen=True)
class Invoked:
    """An owner in the direct lane: `direct:<function>:<request id>:<nonce>`."""

    function: str
    request: str

    @classmethod
    def of(cls, owner: str) -> Self | None:
        """None for any other, and for one that the library did not write."""
        found = _INVOKED.fullmatch(owner)
        return found and cls(*found.groups())

    def __str__(self) -> str:
        return f"request {self.request} of {self.function}"


def name_of(owner: str) -> str:
    """How an owner is called in a sentence: by the name of its execution, or as an invocation."""
    names = owner.split(":")  # in the fast lane the execution's id and a nonce follow the name
    return str(Invoked.of(owner) or (names[7] if len(names) > 7 else owner))
