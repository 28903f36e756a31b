"""The `once` command: which commands there are. Each is a module of its own, with its options."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from oncekit.application import how_to_install
from oncekit.cli.terminal import guard, say, tell
from oncekit.problem import Problem

HELP = """Run operations effectively once, on your machine or on AWS, with the same template and state machine.

Exit codes: 0 done, 1 failed, 2 wrong usage or nothing to work on, 3 in progress or conflict, 130 interrupted.
"""
SHOWN = ("run", "new", "send", "show")
"""The commands whose examples end the list of commands."""


class Listed(NamedTuple):
    """A command: its module, which has a function of its name, and an example of it."""

    module: str
    example: str


GROUPS: Mapping[str, Mapping[str, Listed]] = {
    "Try it on this machine": {
        "run": Listed("here.run", "once run events/charge-payment.json --times 2"),
        "demo": Listed("here.demo", "once demo"),
        "up": Listed("here.up", "once up"),
    },
    "Put it into your application": {
        "init": Listed("here.init", "once init"),
        "new": Listed("here.new", "once new send-invoice --function SendInvoice"),
        "env": Listed("here.env", 'eval "$(once env)"'),
        "sdk": Listed("here.sdk", "once sdk node"),
    },
    "Operate a stack, or what `once up` runs": {
        "send": Listed("deployed.send", "once send events/charge-payment.json --wait"),
        "ls": Listed("deployed.ls", "once ls --status QUARANTINED"),
        "show": Listed("deployed.show", "once show 'acme#charge-payment#order-1'"),
        "retry": Listed("deployed.retry", "once retry 'acme#charge-payment#order-1'"),
        "resolve": Listed("deployed.resolve", "once resolve 'acme#charge-payment#order-1' --result answer.json"),
        "release": Listed("deployed.release", "once release 'acme#charge-payment#order-1'"),
        "doctor": Listed("deployed.doctor", "once doctor --stack shop"),
    },
}
"""The commands, in the order of the help."""
COMMANDS: Mapping[str, Listed] = {name: each for group in GROUPS.values() for name, each in group.items()}

COMPLETION = "_ONCE_COMPLETE"
"""Set by a shell that asks how the line goes on."""


class Command(TyperCommand):
    """A command of Typer's whose function returns the exit code, and whose usage says EVENT..., [EVENT] or ID."""

    def invoke(self, ctx: Any) -> None:  # the type of a context is private to Typer
        ctx.exit(super().invoke(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [each for each in self.params if isinstance(each, TyperArgument)]
        names = [(each, f"{each.metavar}{'...' if each.nargs != 1 else ''}") for each in arguments]
        return ["[OPTIONS]", *(name if each.required else f"[{name}]" for each, name in names)]


class Group(TyperGroup):
    """A group of Typer's whose help has a section for each of ours."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        room = formatter.width - 6 - max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(room)) for name in names])


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import

        say(f"once {version('oncekit')}")
        raise typer.Exit


def once(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options that go before a command."""


@functools.cache
def app(*names: str) -> typer.Typer:
    """The command with these commands: to import all and to read their options takes longer than most of them."""
    made = typer.Typer(
        cls=Group,
        help=HELP,
        epilog="\b\nExamples:\n" + "\n".join(f"  {COMMANDS[name].example}" for name in SHOWN),
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "color": False},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(once)
    for name in names:
        module = importlib.import_module(f"oncekit.cli.{COMMANDS[name].module}")
        made.command(name, cls=Command, epilog=f"Example: {COMMANDS[name].example}")(getattr(module, name))
    return made


def main() -> None:
    """Entry point: problems become one line on standard error and an exit code."""
    if COMPLETION not in os.environ:  # to a shell go only names and help of the commands, and tabs between them
        guard()
    given = [name for name in sys.argv[1:2] if name in COMMANDS]
    try:
        app(*given or COMMANDS)(prog_name="once")
    except Problem as problem:
        tell(f"once: {problem}")
        sys.exit(problem.code)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in ("once", "oncekit"):
            raise
        tell(f"once: this command needs the local cloud ({error.name} is not installed): {how_to_install()}")
        sys.exit(2)
    except KeyboardInterrupt:
        tell("once: interrupted")
        sys.exit(130)
