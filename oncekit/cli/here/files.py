"""The files that an application is deployed from: which of them changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.3
"""Between two looks; what changed is reported when it is the same in the next look: a file may be written in pieces."""
MADE = ("build", "node_modules", "__pycache__")
"""Folders inside of a followed one that people do not write; nor do they hidden ones, such as .aws-sam and .git."""
VENV = "pyvenv.cfg"
"""In every virtual environment, whatever its name."""


class Watch:
    """Reports the files that people changed, made or deleted, in a thread of its own."""

    def __init__(
        self,
        sources: Callable[[], Collection[Path]],
        stopping: threading.Event,
        on_change: Callable[[set[Path]], None],
    ) -> None:
        """`sources` are the files and folders to follow, asked for again and again; they may be missing."""
        self._sources = sources
        self._stopping = stopping
        self._on_change = on_change

    def start(self) -> None:
        """What changes from now on is reported."""
        sources = set(self._sources())
        threading.Thread(target=self._follow, args=(sources, _stamps(sources)), daemon=True).start()

    def _follow(self, sources: set[Path], seen: Mapping[Path, object]) -> None:
        changed: set[Path] = set()
        while not self._stopping.wait(LOOK_S):
            followed = set(self._sources())
            now = _stamps(followed)
            new = {path for path in seen.keys() | now.keys() if seen.get(path) != now.get(path)}
            if followed != sources:  # what is deployed now has just been read
                new = {path for path in new if path in seen}
            changed |= new
            if changed and not new:
                self._on_change(changed)
                changed = set()
            sources, seen = followed, now


def _stamps(sources: Iterable[Path]) -> dict[Path, object]:
    """Of each file that people write, what changes when it is written or replaced."""
    stamps: dict[Path, object] = {}
    for path in _files(sources):
        with suppress(FileNotFoundError):  # an editor's, meanwhile
            found = path.stat()
            stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
    return stamps


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    """The files among them and inside of them, without those that people do not write."""
    for source in sources:
        if source.is_file():
            yield source
        for name, inside, names in os.walk(source):
            folder = Path(name)
            made = {each for each in inside if each in MADE or each.startswith(".") or (folder / each / VENV).exists()}
            inside[:] = sorted({*inside} - made)
            yield from (folder / each for each in names if not each.startswith(".") and not each.endswith("~"))
