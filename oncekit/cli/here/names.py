"""Names of executions as they are shown: the same short one wherever an execution is meant."""

from __future__ import annotations

SHOWN = 8
"""Characters of a hash, or of a name that was made at random."""
STARTERS = ("handover", "first", "again", "recover", "retry", "replay")
"""How names begin that say who started the execution: the fast lane, recovery, or an operator's command."""
NAME = 7
"""Of the parts of an ARN. What follows in that of an Express execution is the run."""


def shown_name(arn: str) -> str:
    """The beginning of a name; of one that says who started the execution, that, and the beginning of each part."""
    name = arn.split(":")[NAME]
    starter, *rest = name.split("-")
    return "-".join([starter, *(each[:SHOWN] for each in rest)]) if starter in STARTERS else name[:SHOWN]
