"""The two lanes: two state machines over one table."""

from __future__ import annotations

import re
from typing import Literal

Lane = Literal["full", "fast"]
FULL: Lane = "full"
FAST: Lane = "fast"
MACHINES: dict[Lane, str] = {FULL: "StateMachineArn", FAST: "FastStateMachineArn"}
"""The output that names the state machine of each."""
_EXPRESS = re.compile(r"[^:]*:[^:]*:[^:]*:[^:]*:[^:]*:express:")


def lane_of(arn: str) -> Lane:
    """The lane that an execution, or an owner, is in, by its ARN; told apart as the state machine does."""
    return FAST if _EXPRESS.match(arn) else FULL
