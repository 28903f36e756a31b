"""`once console`: the page of `once up`, on a deployed stack, read-only."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from oncekit.cli.deployed.on_stack import on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.options import Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import say, tell

Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port of the page; 0 takes a free one.")
]


def console(
    port: Port = 0,
    stack: StackName = "once",
    profile: Profile = None,
    region: Region = None,
) -> None:
    """Show a deployed stack in a browser, read-only.

    Shows executions, runs and records. Prints the address; Ctrl-C ends it. It listens on 127.0.0.1 only, and the
    address has a key, without which requests are refused.
    For the fast lane, which keeps no history, it shows the records.
    """
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())

    def work(deployed: Stack) -> int:
        serve(deployed, port, stopping)
        return 0

    raise typer.Exit(on_stack(Place(stack, profile, region), "", work))


def serve(deployed: Stack, port: int, stopping: threading.Event) -> None:
    """Until it is stopped."""
    from oncekit.cli.deployed.stack_source import StackSource
    from oncekit.console.server.serving import ConsoleServer
    from oncekit.local.start_errors import PortInUseError

    source = StackSource(deployed, stopping.wait)
    with source.watching():
        try:
            server = ConsoleServer(source, None, port)
        except PortInUseError as error:
            raise Problem(str(error)) from error
        say(server.address)
        tell(f"Open it in a browser: it shows the {source.name}. Ctrl-C ends it.")
        stopping.wait()
        server.close()
