"""`once demo`: tells the story. Every line is a check."""

from __future__ import annotations

import time

from oncekit import application
from oncekit.cli.here.opening import local_cloud


def demo() -> int:
    """Show what Once does, and check each step.

    It runs the example application that comes with once: a charge and its duplicates, a crash, a large result, and
    another payload under the same key. The exit code is 1 if a check fails.
    """
    from oncekit.cli.here.report import tell_denials
    from oncekit.cli.here.story import CHAPTERS
    from oncekit.cli.here.telling import Telling

    telling = Telling()
    started = time.monotonic()
    with local_cloud(application.folder() / application.TEMPLATE) as cloud:
        for title, chapter in CHAPTERS.items():
            telling.title(title)
            try:
                chapter(cloud, telling)
            except TimeoutError as error:
                telling.check("it ends", "an end", str(error))
        tell_denials(cloud.denials())
    return telling.end(time.monotonic() - started)
