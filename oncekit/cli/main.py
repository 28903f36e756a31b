"""The `once` command: which commands there are. Each is a module of its own, with its options."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Annotated

import typer

from oncekit.cli.deployed.env_vars import env_vars
from oncekit.cli.deployed.history import history
from oncekit.cli.deployed.logs import logs
from oncekit.cli.deployed.ls import ls
from oncekit.cli.deployed.redrive import redrive
from oncekit.cli.deployed.release import release
from oncekit.cli.deployed.replay_rejected import replay_rejected
from oncekit.cli.deployed.resolve import resolve
from oncekit.cli.deployed.retry import retry
from oncekit.cli.deployed.send import send
from oncekit.cli.deployed.show import show
from oncekit.cli.doctor.command import doctor
from oncekit.cli.here.demo import demo
from oncekit.cli.here.graph import graph
from oncekit.cli.here.run import run
from oncekit.cli.here.up import up
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import guard, say, tell
from oncekit.cli.usage import Command

HELP = """Run operations effectively once: here as on AWS, with the same template and the same state machine.

Exit codes: 0 done, 1 failed, 2 usage, or nothing there to work on, 3 in progress or conflict, 130 interrupted.
"""
app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "color": False},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
COMMANDS: Mapping[str, Callable[..., None]] = {
    "run": run,
    "demo": demo,
    "up": up,
    "graph": graph,
    "send": send,
    "doctor": doctor,
    "env-vars": env_vars,
    "ls": ls,
    "show": show,
    "history": history,
    "logs": logs,
    "retry": retry,
    "resolve": resolve,
    "release": release,
    "redrive": redrive,
    "replay-rejected": replay_rejected,
}
"""In the order of the help."""


COMPLETION = "_ONCE_COMPLETE"
"""Set by a shell that asks how the line goes on."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import

        say(f"once {version('oncekit')}")
        raise typer.Exit


@app.callback()
def once(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options that go before a command."""


for _name, _command in COMMANDS.items():
    app.command(_name, cls=Command)(_command)


def main() -> None:
    """Entry point: problems become one line on standard error and exit code 2."""
    if COMPLETION not in os.environ:  # to a shell go only names and help of the commands, and tabs between them
        guard()
    try:
        app(prog_name="once")
    except Problem as problem:
        tell(f"once: {problem}")
        sys.exit(2)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in ("once", "oncekit"):
            raise
        tell(f"once: this command needs the local cloud ({error.name} is not installed): pip install 'oncekit[local]'")
        sys.exit(2)
    except KeyboardInterrupt:
        tell("once: interrupted")
        sys.exit(130)
