"""Opens a page of this machine in the browser of who sits before it."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shown_in_browser(address: str) -> Iterator[None]:
    """Open an address that has a key in it, where there is a screen; the file that leads there lasts as long as this.

    A browser is started with a file that only this user can read: other users see the arguments of every process.
    """
    if not _has_screen():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="once-") as folder:
        page = Path(folder, "open.html")
        page.touch(mode=0o600)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield


def _has_screen() -> bool:
    """Without one, a browser would be one of text, in the terminal of the command."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
