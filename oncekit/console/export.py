"""A run as one HTML file: for a ticket or a post-mortem, without a network and without scripts."""

from __future__ import annotations

import base64
import datetime
import hashlib

from markupsafe import Markup

from oncekit.console.machine import Definition
from oncekit.console.pages import asset, rendered
from oncekit.console.run import Run
from oncekit.console.run_view import run_view


def exported(run: Run, definition: Definition, now: datetime.datetime, *, payloads: bool = True) -> str:
    """The file's text. Its policy allows the one style that is in it, and nothing else."""
    style = asset("console.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return rendered(
        "export.html",
        view=run_view(run, definition, now, payloads=payloads),
        style=Markup(style),  # noqa: S704 of this package
        style_hash=Markup(digest),  # noqa: S704 Base64
    )
