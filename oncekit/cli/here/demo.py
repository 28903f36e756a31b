"""`once demo`: tells the story. Every line is a check."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from oncekit.cli.here.cloud import find_template, local_cloud
from oncekit.cli.options import Json, Template


def demo(as_json: Json = False, template: Template = None) -> None:
    """Show what Once does; every line is a check.

    A charge and its duplicates, crashes, a large result, another payload under the same key.
    Exit code 1 when a check fails. JSON: {held, checks: [{check, ok, expected, seen}],
    ledgers: [{order, withOnce, withoutOnce}]}.
    """
    raise typer.Exit(tell(as_json, template))


def tell(as_json: bool, template: Path | None) -> int:
    path = find_template(template)
    from oncekit.cli.here.report import tell_denials
    from oncekit.cli.here.story import CHAPTERS
    from oncekit.cli.here.telling import Telling
    from oncekit.cli.paper import Paper
    from oncekit.cli.terminal import say_json

    paper = Paper(error=False, quiet=as_json)
    telling = Telling(paper)
    started = time.monotonic()
    with local_cloud(path) as cloud:
        for title, chapter in CHAPTERS.items():
            telling.title(title)
            try:
                chapter(cloud, telling)
            except TimeoutError as error:
                telling.check("it ends", "an end", str(error))
        tell_denials(cloud.denials())
    held, made = telling.held, len(telling.checks)
    if as_json:
        say_json({"held": held == made, "checks": telling.checks, "ledgers": telling.ledgers})
    else:
        paper.line()
        paper.line(f"{held} of {made} checks held, in {time.monotonic() - started:.1f} s.")
    return 0 if held == made else 1
