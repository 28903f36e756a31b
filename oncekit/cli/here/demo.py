"""`once demo`: tells the story. Every line is a check."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from oncekit import application
from oncekit.cli.here.cloud import local_cloud
from oncekit.cli.template import find_template
from oncekit.cli.terminal import tell as info

if TYPE_CHECKING:
    from oncekit.cli.here.telling import Telling
    from oncekit.local.once_cloud import LocalCloud


LEDGER = "ProviderLedgerTable"
"""What only a template with the sample's operations has."""


def demo() -> None:
    """Show what Once does, and check each step.

    The steps are a charge and its duplicates, crashes, a large result, and another payload under the same key.
    The exit code is 1 if a check fails.
    """
    raise typer.Exit(tell())


def tell() -> int:
    path = stage()
    from oncekit.cli.here.report import tell_denials
    from oncekit.cli.here.telling import Telling
    from oncekit.cli.paper import Paper

    paper = Paper(error=False)
    telling = Telling(paper)
    started = time.monotonic()
    with local_cloud(path) as cloud:
        _read_out(cloud, telling)
        tell_denials(cloud.denials())
    held, made = sum(telling.checks), len(telling.checks)
    paper.line()
    paper.line(f"{held} of {made} checks held, in {time.monotonic() - started:.1f} s.")
    return 0 if held == made else 1


def stage() -> Path:
    """The template that the story is played on: it needs the sample's operations, which an own application has not."""
    path = find_template(None)
    if LEDGER in path.read_text(encoding="utf-8", errors="replace"):
        return path
    info(f"{path} is another application: this is the sample application that comes with once.")
    return application.folder() / application.TEMPLATE


def _read_out(cloud: LocalCloud, telling: Telling) -> None:
    from oncekit.cli.here.story import CHAPTERS

    for title, chapter in CHAPTERS.items():
        telling.title(title)
        try:
            chapter(cloud, telling)
        except TimeoutError as error:
            telling.check("it ends", "an end", str(error))
