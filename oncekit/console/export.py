"""A run as one HTML file: for a ticket or a post-mortem, without a network and without scripts."""

from __future__ import annotations

import datetime

from oncekit.console.machine import Definition
from oncekit.console.pages import own_style, rendered
from oncekit.console.run import Run
from oncekit.console.run_view import run_view


def exported(run: Run, definition: Definition, now: datetime.datetime, *, payloads: bool = True) -> str:
    """The file's text. Its policy allows the one style that is in it, and nothing else."""
    style, digest = own_style()
    return rendered(
        "export.html",
        view=run_view(run, definition, now, payloads=payloads),
        style=style,
        style_hash=digest,
    )
