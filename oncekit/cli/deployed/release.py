"""`once release`: a lock is freed, after the operator was asked."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from oncekit.cli.deployed import interventions
from oncekit.cli.deployed.on_stack import decided, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Id, Json, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import ask, tell

RISK = (
    "Releasing forgets that business logic was started: the next request with this id runs it again, "
    "and an effect that has happened happens twice. If you know how it ended, use `once resolve`."
)


def release(
    id: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Free a lock, so that the next request starts afresh. An effect that has happened may then happen twice."""
    raise typer.Exit(_release(Place(stack, profile, region), id, yes, as_json))


def _release(place: Place, id: str, yes: bool, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        shown, status = interventions.may_be_released(stack, id)
        if not yes:
            tell(f"{id}: {shown['status']}, fence {shown['fence']}, its owner is {status}.", RISK)
            if not sys.stdin.isatty():
                raise Problem(f"{id}: not released: there is no terminal to confirm it; a script uses --yes")
            if not ask("Release it?"):
                tell(f"{id}: not released")
                return 1
        answer = interventions.release(stack, shown)
        return decided(answer, as_json, f"✓ {id}: released; the next request with this id runs business logic.")

    return on_stack(place, id, work)
