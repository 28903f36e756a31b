"""What a page says of a run beside its visits: how it ended, and what of a long one is folded up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from oncekit.console.json_text import members_of
from oncekit.console.parts import Part
from oncekit.console.picture import SIGNS
from oncekit.console.run import RUNNING, Run, Visit
from oncekit.console.starts import WORK, attempts_of, how_it_failed

LONG = 16
"""States; of a longer run what is repeated is folded up."""


def kind_and_outcome(run: Run, part: Part) -> tuple[str, str]:
    """The class of an execution's colour and sign, and its end in the word that commands use, too.

    What a duplicate gets is an answer, also where that is the failure of another one.
    """
    if run.status == RUNNING:
        return "running", "RUNNING"
    if run.status != "SUCCEEDED":
        kind = "failed" if run.status == "FAILED" else "stopped"
        return ("replayed" if part.role == "duplicate" else kind), run.error or run.status
    disposition = str(members_of(run.output).get("disposition") or run.status)
    return ("succeeded" if disposition in ("EXECUTED", run.status) else "replayed"), disposition


def sign_of(kind: str) -> str:
    return _SIGNS[kind]


_SIGNS = {str(outcome): sign for outcome, sign in SIGNS.items()} | {"replayed": "↻"}


@dataclass(frozen=True)
class Stretch:
    """States that follow each other; with a title where they are folded up."""

    title: str
    visits: Sequence[Visit]


def stretches(run: Run) -> list[Stretch]:
    """The states of a run; of a long one, each attempt that failed is folded up with the wait after it."""
    rounds: list[list[Visit]] = []
    for visit in run.visits:
        before = rounds[-1][-1] if rounds else None
        is_read = before and before.state == "ExistingStatus"
        if not before or before.type == "Wait" or visit.state == "ReadRecord" or (visit.state == WORK and not is_read):
            rounds.append([])
        rounds[-1].append(visit)
    attempts = attempts_of(run)
    groups = groupby(rounds, lambda visits: _title(visits, attempts) if len(run.visits) > LONG else "")
    return [Stretch(title, list(chain.from_iterable(some))) for title, some in groups]


def _title(visits: Sequence[Visit], attempts: Mapping[int, int]) -> str:
    last = visits[-1]
    if last.type != "Wait" or last.exited_at is None:
        return ""
    # Of an attempt that is not the first, it is read before whether it is still to be made.
    for each in visits[:3]:
        if each.state == WORK and each.failures:
            how = "gave no answer" if how_it_failed(each.failures[-1]).end == "lost" else "failed"
            return f"Attempt {attempts[each.number]} {how} ({each.failures[-1].error})"
    return "Waited for the owner" if last.state == "WaitForOwner" else ""
