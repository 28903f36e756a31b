"""`once retry`: a quarantined operation starts again."""

from __future__ import annotations

import typer

from oncekit.cli.deployed import interventions
from oncekit.cli.deployed.on_stack import decided, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Id, Json, Profile, Region, StackName

MEANS_RETRY = "Its request starts again, unchanged, under a higher fence; finished steps are kept."


def retry(
    id: Id, as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None
) -> None:
    """Start a quarantined operation again.

    Starts its own request, unchanged. Attempts are counted from the beginning, finished steps are kept. An earlier
    retry that was interrupted is finished by recovery within minutes, or by this command.
    JSON: {id, executionArn, fence, requestDeleted}.

    `requestDeleted` is about the copy that waited for an operator; the bucket's rule deletes the one that recovery
    reads.
    `requestLeft`, here and in other commands, is an object that the record names as its request but that is not: it was
    left alone.
    """
    raise typer.Exit(_retry(Place(stack, profile, region), id, as_json))


def _retry(place: Place, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        answer = interventions.retry(stack, id)
        return decided(answer, as_json, f"✓ {id}: started again. {MEANS_RETRY}", answer["executionArn"])

    return on_stack(place, id, work)
