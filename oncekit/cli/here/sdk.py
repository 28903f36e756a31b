"""`once sdk`: what Lambda brings beside a function, for the local cloud."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from oncekit.cli.terminal import say, tell

Language = Annotated[Literal["node"], typer.Argument(metavar="LANGUAGE", help="node.")]
Packages = Annotated[
    list[str] | None,
    typer.Argument(metavar="PACKAGE", help="More packages of AWS's SDK, such as @aws-sdk/client-athena."),
]


def sdk(language: Language, packages: Packages = None) -> int:
    """Get AWS's SDK for functions in Node.js.

    Lambda has it beside each function, your machine has not. npm installs the packages that functions use most, all in
    one version, into your cache folder, for all applications.
    """
    from oncekit.local.lambda_runtime import node_sdk

    tell(f"npm installs version {node_sdk.VERSION} of AWS's SDK for JavaScript into {node_sdk.folder()}.")
    say(*node_sdk.fill(packages or ()))
    return 0
