"""`once release`: a lock is freed, or refused requests are deleted, after the operator was asked."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from oncekit.cli.deployed import decisions
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.rejected.options import Error, print_table, what_next
from oncekit.cli.deployed.rejected.requests import Which, handle
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, OptionalId, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import Entry, ask, tell

RISK = (
    "Releasing forgets that business logic was started: the next request with this id runs it again, "
    "and an effect that has happened happens twice. If you know how it ended, use `once resolve`."
)
LOST = "Refused requests that are deleted are lost: first start those that can succeed, with `once retry --rejected`."


def release(
    id: OptionalId = None,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Delete refused requests instead: of the id, or all with --error.")
    ] = False,
    error: Error = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Free a lock, so that the next request starts afresh.

    An effect that has happened may then happen twice.

    With --rejected, refused requests are deleted for good: those of the id, or all with an error, as `once ls
    --rejected` shows them.

    JSON: {id, status, fence}; of refused requests {requests: [...]}, as `once retry` has them.
    """
    place = Place(stack, profile, region)
    if rejected:
        if (id is None) == (error is None):
            raise Problem("--rejected: say which requests to delete for good: give an id, or --error NAME")
        raise typer.Exit(_delete(place, Which(error) if id is None else Which.of(id), id or str(error), yes, as_json))
    if id is None or error is not None:
        raise Problem("give the id of a record, or --rejected --error NAME for refused requests")
    raise typer.Exit(_release(place, id, yes, as_json))


def _release(place: Place, id: str, yes: bool, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        shown, status = decisions.may_be_released(stack, id)
        told = f"{id}: {shown['status']}, fence {shown['fence']}, its owner is {status}."
        if not yes and not _is_sure(id, "released", (told, RISK), "Release it?"):
            return 1
        answer = decisions.release(stack, shown)
        told = f"{id}: released; the next request with this id runs business logic."
        return answered(answer, as_json, Entry("✓ ", told))

    return on_stack(place, id, work)


def _delete(place: Place, which: Which, about: str, yes: bool, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        if not yes and not _is_sure(about, "deleted", (LOST,), "Delete them?"):
            return 1
        deleted = handle(stack, "delete", which)
        if not as_json:
            print_table(deleted, stack.now())
        return answered({"requests": deleted}, as_json, *what_next(deleted))

    return on_stack(place, about, work)


def _is_sure(about: str, done: str, told: tuple[str, ...], question: str) -> bool:
    """Whether the operator confirms it. Raises Problem where nobody can be asked."""
    tell(*told)
    if not sys.stdin.isatty():
        raise Problem(f"{about}: not {done}: there is no terminal to confirm it; a script uses --yes")
    if ask(question):
        return True
    tell(f"{about}: not {done}")
    return False
