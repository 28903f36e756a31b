"""How an execution ended, by colour, sign and word."""

from __future__ import annotations

from oncekit.console.json_text import members_of
from oncekit.console.parts import Part
from oncekit.console.picture import SIGNS
from oncekit.console.run import RUNNING, Run


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
