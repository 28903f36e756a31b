"""`once release`: a lock is freed, a request forgotten, or refused ones are deleted, after the operator was asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from oncekit.cli.deployed import rejected_lines
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.retry import NO_RECORD
from oncekit.cli.options import Because, Json, OptionalId, Profile, Refusal, Region, StackName
from oncekit.cli.terminal import Entry, ask, tell
from oncekit.problem import Problem
from oncekit.stack import decisions, forget
from oncekit.stack import rejected as refused
from oncekit.stack.records import is_pending
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack

RISK = (
    "Releasing forgets that business logic was started: the next request with this id, an event that is delivered "
    "again too, runs it again, and an effect that has happened happens twice. If you know how it ended, use "
    "`once resolve`."
)
PENDING = (
    "It is pending: work elsewhere may go on, and its effect may still happen, but its ticket ends nothing any more. "
    "Stop that work first."
)
FORGETS = (
    "Forgetting deletes its request and its answer for good, and the next request with this id, a late duplicate too, "
    "runs business logic again: an effect that has happened may happen twice."
)
LEFT = (
    "AWS keeps more of it for a while, which this command cannot remove: executions in the full lane, backups of the "
    "table, logs, messages in queues. Once's docs/retention.md says how long, and how to delete some."
)
LOST = "Refused requests that are deleted are lost: first start those that can succeed, with `once retry --rejected`."


def release(
    id: OptionalId = None,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Delete refused requests instead, those with the error of --error.")
    ] = False,
    error: Refusal = None,
    forgets: Annotated[
        bool,
        typer.Option("--forget", help="Delete what is kept of the id's request, and its answer, whatever its status."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    because: Because = None,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """Free a lock, so that the next request starts afresh.

    An effect that has happened may then happen twice. A pending operation need not have run out: nobody is at work on
    it here. Work elsewhere is not stopped; its ticket ends nothing any more.

    With --rejected, refused requests with an error are deleted for good, as `once ls --rejected` shows them.

    With --forget, nothing is kept of a request any more: not in its record, and in the bucket neither itself, if it was
    kept there or refused, nor its answer. It works for each id that no owner is at work on, also when its record is
    gone. What AWS still keeps, such as logs, it cannot remove. Example: once release 'acme#pay#order-1' --forget

    JSON: {id, status, fence}; of refused requests {requests: [...], isComplete}, as `once retry` has them; with
    --forget {id, status, fence, removed: {requests, responses, rejected}, withoutId}.
    """
    if rejected and (id is not None or error is None or forgets):
        raise Problem("--rejected: say which requests to delete for good, with --error NAME and without an id")
    if not rejected and (id is None or error is not None):
        raise Problem("give the id of a record, or --rejected --error NAME for refused requests")
    if because is not None and rejected:
        raise Problem(f"--because: {NO_RECORD}")
    with on_stack(Place(stack, profile, region), id or str(error)) as there:
        if rejected:
            return _delete(there, str(error), yes, as_json)
        return (_forget if forgets else _release)(there, str(id), yes, as_json, because)


def _release(stack: Stack, id: str, yes: bool, as_json: bool, because: str | None) -> int:
    shown, status = decisions.may_be_released(stack, id)
    told = f"{id}: {shown['status']}, fence {shown['fence']}, its owner is {status}."
    pending = [PENDING] if is_pending(shown) else []
    if yes:
        tell(*pending)
    elif not _is_sure(id, "released", (told, RISK, *pending), "Release it?"):
        return 1
    answer = decisions.release(stack, shown, because)
    return answered(answer, as_json, Entry("✓ ", f"{id}: released; the next request with this id runs business logic."))


def _forget(stack: Stack, id: str, yes: bool, as_json: bool, because: str | None) -> int:
    record = forget.shown(stack, id)
    told = f"{record['status']}, fence {record['fence']}" if record else "it has no record"
    pending = [PENDING] if record and is_pending(record) else []
    if yes:
        tell(*pending)
    elif not _is_sure(id, "forgotten", (f"{id}: {told}.", FORGETS, *pending), "Forget it?"):
        return 1
    forgotten = forget.forget(stack, id, record, because)
    return answered(forgotten, as_json, *_forgotten_lines(forgotten))


def _forgotten_lines(forgotten: dict[str, Any]) -> Iterator[Entry]:
    """What `forget` gave, for people."""
    removed = forgotten["removed"]
    yield Entry("✓ ", f"{forgotten['id']}: forgotten; the next request with this id starts afresh.")
    if forgotten["fence"] is None:
        yield Entry("  record      ", "there was none")
    else:
        kept = "DynamoDB deletes what is left, id, fence, times and who forgot it, by itself within a few days"
        yield Entry("  record      ", f"request, result, steps, error and fingerprint are removed; {kept}")
    for name in ("requests", "responses"):
        yield Entry(f"  {name:<12}", f"{len(removed[name])} deleted in the bucket")
    unread = forgotten["withoutId"]
    more = f"; of those that do not say whose they are, there are {unread}: `once ls --rejected`" if unread else ""
    yield Entry("  rejected    ", f"{len(removed['rejected'])} deleted in the bucket{more}")
    yield Entry(
        "",
        "If an attempt of it may still run (15 minutes at most), repeat this afterwards: it can change no record any "
        "more, but it may still store a large answer, to which nothing refers.",
    )
    yield Entry("", LEFT)


def _delete(stack: Stack, error: str, yes: bool, as_json: bool) -> int:
    if not yes and not _is_sure(error, "deleted", (LOST,), "Delete them?"):
        return 1
    rejected_lines.answer(stack, refused.handle(stack, "delete", error), as_json)
    return 0


def _is_sure(about: str, done: str, told: tuple[str, ...], question: str) -> bool:
    """Whether the operator confirms it. Raises Problem where nobody can be asked."""
    tell(*told)
    if not sys.stdin.isatty():
        raise Problem(f"{about}: not {done}: there is no terminal to confirm it; a script uses --yes")
    if ask(question):
        return True
    tell(f"{about}: not {done}")
    return False
