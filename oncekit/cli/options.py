"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Template = Annotated[
    Path | None,
    typer.Option(
        "--template",
        metavar="FILE",
        help="The template to deploy locally; by default template.yaml here or in a folder above.",
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="tenant#operation#idempotencyKey, in quotes for the shell.")]
StackName = Annotated[str, typer.Option("--stack", metavar="NAME", envvar="ONCE_STACK", help="The deployed stack.")]
Profile = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The AWS profile.")]
Region = Annotated[str | None, typer.Option("--region", metavar="NAME", help="The AWS region.")]
