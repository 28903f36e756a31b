"""The commands and their options; each does its work in the module of its name."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from cli.problem import Problem

app = typer.Typer(
    help="Run operations effectively once: here as on AWS, with the same template and the same state machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Events = Annotated[list[str], typer.Argument(metavar="EVENT...", help="Request files (JSON); - reads standard input.")]
Template = Annotated[
    Path | None,
    typer.Option(
        "--template", help="The template to deploy locally; by default template.yaml here or in a folder above."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"once {version('once')}")
        raise typer.Exit


@app.callback()
def once(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Exit codes: 0 done, 1 failed, 2 usage, 3 in progress or conflict, 130 interrupted."""


@app.command()
def run(
    events: Events,
    times: Annotated[int, typer.Option("--times", min=1, max=1000, help="Send each request so often.")] = 1,
    concurrently: Annotated[bool, typer.Option("--concurrently", help="Send all at once.")] = False,
    real_time: Annotated[bool, typer.Option("--real-time", help="Wait and back off in real time.")] = False,
    as_json: Json = False,
    template: Template = None,
) -> None:
    """Run requests through the local cloud and show what each came to."""
    from cli.run import run_events

    raise typer.Exit(run_events(events, times, concurrently, real_time, as_json, template))


@app.command()
def demo(as_json: Json = False, template: Template = None) -> None:
    """Tell the story of a charge, checking every line: duplicates, a crash, a large result, a mismatch."""
    from cli.demo import tell

    raise typer.Exit(tell(as_json, template))


@app.command()
def up(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port of AWS_ENDPOINT_URL; 0 takes a free one.")
    ] = 4599,
    template: Template = None,
) -> None:
    """Keep the local cloud up, in real time, and deploy again when files change. Ctrl-C ends it."""
    from cli.up import stay_up

    raise typer.Exit(stay_up(port, template))


@app.command()
def graph(
    event: Annotated[str | None, typer.Argument(metavar="[EVENT]", help="A request whose path is shown.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of standard output.")
    ] = None,
    template: Template = None,
) -> None:
    """Draw the state machine as SVG, with the path that a run of EVENT takes."""
    from cli.graph import draw

    raise typer.Exit(draw(event, output, template))


def main() -> None:
    """Entry point: problems become one line on standard error and exit code 2."""
    try:
        app()
    except Problem as problem:
        typer.echo(f"once: {problem}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("once: interrupted", err=True)
        sys.exit(130)
