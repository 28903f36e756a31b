"""`once show`: all that is known of one id; inspection.py finds it."""

from __future__ import annotations

import typer

from oncekit.cli.deployed import inspection
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Id, Json, Profile, Region, StackName


def show(
    id: Id, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Show all that is known about an id. Its record, its owner's execution, earlier owners.

    An owner in the fast lane cannot be looked up. Its status comes from the record: MAY_RUN until its lease is over,
    LEASE_OVER after that, or ENDED if it holds no lock any more.

    JSON: {id, expired, record, lane, ownerStatus, owners, started, steps, request, requestKept, requestMissing, log,
    console}.
    """
    raise typer.Exit(_show(Place(stack, profile, region), id, as_json))


def _show(place: Place, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        shown = inspection.inspect(stack, id)
        return answered(shown, as_json, *inspection.lines(shown, stack.now()))

    return on_stack(place, id, work)
