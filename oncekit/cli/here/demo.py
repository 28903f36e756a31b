"""`once demo`: tells the story. Every line is a check."""

from __future__ import annotations

import time
from pathlib import Path

from oncekit import application
from oncekit.cli.here.cloud import local_cloud
from oncekit.cli.template import find_template
from oncekit.cli.terminal import tell

SAMPLE = "ProviderLedgerTable"
"""What only a template with the sample's operations has."""


def demo() -> int:
    """Show what Once does, and check each step.

    The steps are a charge and its duplicates, crashes, a large result, and another payload under the same key.
    The exit code is 1 if a check fails.
    """
    path = stage()
    from oncekit.cli.here.report import tell_denials
    from oncekit.cli.here.story import CHAPTERS
    from oncekit.cli.here.telling import Telling

    telling = Telling()
    started = time.monotonic()
    with local_cloud(path) as cloud:
        for title, chapter in CHAPTERS.items():
            telling.title(title)
            try:
                chapter(cloud, telling)
            except TimeoutError as error:
                telling.check("it ends", "an end", str(error))
        tell_denials(cloud.denials())
    return telling.end(time.monotonic() - started)


def stage() -> Path:
    """The template that the story is played on: it needs the sample's operations, which an own application has not."""
    path = find_template(None)
    if SAMPLE in path.read_text(encoding="utf-8", errors="replace"):
        return path
    tell(f"{path} is another application: this is the sample application that comes with once.")
    return application.folder() / application.TEMPLATE
