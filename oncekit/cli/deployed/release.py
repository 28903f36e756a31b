"""`once release`: a lock is freed, a request forgotten, or refused ones are deleted, after the operator was asked."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from oncekit.cli.deployed import decisions, erasure
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
FORGETS = (
    "Forgetting deletes its request and its answer for good, and the next request with this id, a late duplicate too, "
    "runs business logic again: an effect that has happened may happen twice."
)
LOST = "Refused requests that are deleted are lost: first start those that can succeed, with `once retry --rejected`."


def release(
    id: OptionalId = None,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Delete refused requests instead: of the id, or all with --error.")
    ] = False,
    error: Error = None,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Delete what is kept of the id's request, and its answer, whatever its status."),
    ] = False,
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

    With --forget, nothing is kept of a request any more: not in its record, and in the bucket neither itself, if it was
    kept there or refused, nor its answer. It works for each id that no owner is at work on, also when its record is
    gone; the answer says what AWS still keeps, for how long, and which commands delete that. Example: once release
    'acme#pay#order-1' --forget

    JSON: {id, status, fence}; of refused requests {requests: [...]}, as `once retry` has them; with --forget {id,
    status, fence, removed: {requests, responses, rejected}, withoutId, left: [{what, days, where, commands}]}.
    """
    place = Place(stack, profile, region)
    if forget:
        if id is None or rejected or error is not None:
            raise Problem("--forget: give one id, and neither --rejected nor --error: its refused requests go, too")
        raise typer.Exit(_forget(place, id, yes, as_json))
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


def _forget(place: Place, id: str, yes: bool, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        record = erasure.shown(stack, id)
        told = f"{record['status']}, fence {record['fence']}" if record else "it has no record"
        if not yes and not _is_sure(id, "forgotten", (f"{id}: {told}.", FORGETS), "Forget it?"):
            return 1
        forgotten = erasure.forget(stack, id, record)
        return answered(forgotten, as_json, *erasure.lines(forgotten))

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
