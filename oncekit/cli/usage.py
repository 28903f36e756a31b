"""How help is written: commands in groups, and their arguments as `EVENT...`, not by the names of Python's types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command of Typer's whose function returns the exit code, and whose help says EVENT..., [EVENT] or ID."""

    def invoke(self, ctx: Any) -> None:
        ctx.exit(super().invoke(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # the type of a context is private to Typer
        return ["[OPTIONS]", *(_name(each) for each in self.params if isinstance(each, TyperArgument))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = {each: each.get_help_record(ctx) for each in self.get_params(ctx)}
        arguments = [(_name(each), each.help or "") for each in records if isinstance(each, TyperArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        with formatter.section("Options"):
            formatter.write_dl([told for each, told in records.items() if told and not isinstance(each, TyperArgument)])


def group_of(groups: Mapping[str, Iterable[str]]) -> type[TyperGroup]:
    """A class of Typer's whose help has a section for each group of commands, by its title."""

    class Group(TyperGroup):
        def format_commands(self, ctx: Any, formatter: Any) -> None:
            room = formatter.width - 6 - max(map(len, self.commands))
            for title, names in groups.items():
                there = [
                    (name, self.commands[name].get_short_help_str(room)) for name in names if name in self.commands
                ]
                if there:
                    with formatter.section(title):
                        formatter.write_dl(there)

    return Group


def _name(argument: TyperArgument) -> str:
    name = f"{argument.metavar}{'...' if argument.nargs != 1 else ''}"
    return name if argument.required else f"[{name}]"
