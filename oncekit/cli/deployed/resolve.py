"""`once resolve`: an operator says how a quarantined or pending operation ended."""

from __future__ import annotations

from typing import Annotated

import typer

from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.options import Because, Id, Json, Profile, Region, StackName
from oncekit.cli.terminal import Entry
from oncekit.cli.user_files import read_result
from oncekit.problem import Problem
from oncekit.stack import decisions
from oncekit.stack.session import Place

WAS_PENDING = (
    "It was pending: work elsewhere that has begun may go on, and is told this end when it comes with its ticket. If "
    "it must not go on, stop it there."
)
Result = Annotated[
    str | None,
    typer.Option(
        "--result", metavar="FILE", help="The operation completed; FILE has its result (JSON), - reads standard input."
    ),
]
Failed = Annotated[
    str | None, typer.Option("--failed", metavar="MESSAGE", help="The operation failed; MESSAGE says why.")
]


def resolve(
    id: Id,
    result: Result = None,
    failed: Failed = None,
    because: Because = None,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> int:
    """Record how a quarantined or pending operation ended. Every duplicate gets that answer.

    Of a pending operation this is what its ticket does: work elsewhere is not stopped, and when it still comes to an
    end, it is told this one.

    JSON: {id, status, fence, wasPending}; also true of a quarantined one that was pending until its time was up.
    """
    if failed is not None and not failed.strip():
        raise Problem(f"{id}: --failed: every duplicate gets this message; say what happened")
    if (result is None) == (failed is None):
        raise Problem(f"{id}: give either --result FILE or --failed MESSAGE")
    text = None if result is None else read_result(result)
    with on_stack(Place(stack, profile, region), id) as there:
        answer = decisions.resolve(there, id, text, failed, because)
        told = f"{id}: {answer['status']}; every duplicate gets this answer from now on."
        pending = [Entry("  ", WAS_PENDING)] if answer["wasPending"] else []
        return answered(answer, as_json, Entry("✓ ", told), *pending)
