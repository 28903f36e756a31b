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
        help="The SAM template; by default template.yaml in this folder or in a parent folder.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]
OptionalId = Annotated[
    str | None, typer.Argument(metavar="ID", help="The id, tenant#operation#idempotencyKey; quote it in a shell.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id, tenant#operation#idempotencyKey; quote it in a shell.")]
StackName = Annotated[str, typer.Option("--stack", metavar="NAME", envvar="ONCE_STACK", help="The deployed stack.")]
Profile = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The AWS profile.")]
Region = Annotated[str | None, typer.Option("--region", metavar="NAME", help="The AWS region.")]
