"""`once redrive`: a dead owner goes on; redriving.py does it."""

from __future__ import annotations

import typer

from oncekit.cli.deployed import redriving
from oncekit.cli.deployed.on_stack import done, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Id, Json, Profile, Region, StackName


def redrive(
    id: Id, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Redrive a dead owner, so that it stores its outcome. Business logic is not started.

    JSON: {id, executionArn, from, requestDeleted}.
    """
    raise typer.Exit(_redrive(Place(stack, profile, region), id, as_json))


def _redrive(place: Place, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        answer = redriving.redrive(stack, id)
        line = f"✓ {id}: its owner goes on from {answer['from']}; business logic is not started."
        return done(answer, as_json, line)

    return on_stack(place, id, work)
