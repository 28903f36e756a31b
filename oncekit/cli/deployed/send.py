"""`once send`: a request to a deployed stack; sending.py knows the ways."""

from __future__ import annotations

from typing import Annotated

import typer

from oncekit.cli.deployed import sending
from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.reading import read_event, where
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.problem import Problem

Event = Annotated[str, typer.Argument(metavar="EVENT", help="A request file (JSON); - reads standard input.")]
Via = Annotated[str, typer.Option("--via", metavar="WAY", help="eventbridge, sqs or direct.")]
Duplicates = Annotated[int, typer.Option("--duplicates", metavar="N", min=0, max=1000, help="Send it N times more.")]


def send(
    event: Event,
    via: Via = "direct",
    duplicates: Duplicates = 0,
    as_json: Json = False,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Send a request to a deployed stack or to `once up`. Prints the id of each event, message or execution.

    JSON: {via, to, sent: [...]}.
    """
    raise typer.Exit(_send(Place(stack, profile, region), event, via, duplicates, as_json))


def _send(place: Place, event: str, via: str, duplicates: int, as_json: bool) -> int:
    if via not in sending.WAYS:
        raise Problem(f"--via {via}: there are {', '.join(sending.WAYS)}")
    request = read_event(event)

    def work(stack: Stack) -> int:
        done = sending.send(stack, request, via, 1 + duplicates)
        return answered(done, as_json, *done["sent"])

    return on_stack(place, where(event), work)
