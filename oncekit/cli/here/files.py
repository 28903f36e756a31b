"""The files that an application is deployed from: which of them changed, and which cannot be Python."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

LOOK_MS = 200
"""How long it may take until what was deployed just now is followed."""
QUIET_MS = 200
"""How long no file may have changed until that is reported: one may be written in pieces."""
BEHIND_S = 0.02
"""How far the clock that files get their times from may be behind; Linux moves it with its ticks, of at most 10 ms."""
MADE = ("build", "node_modules", "__pycache__")
"""Folders inside of a followed one that people do not write; nor do they hidden ones, such as .aws-sam and .git."""
VENV = "pyvenv.cfg"
"""In every virtual environment, whatever its name."""


class Watch:
    """Reports the files that people changed; what editors write beside them, for a moment, is none of these."""

    def __init__(
        self,
        sources: Callable[[], Collection[Path]],
        stopping: threading.Event,
        on_change: Callable[[set[Path]], None],
    ) -> None:
        """`sources` are the files and folders to follow, asked for again and again; they may be missing.

        `on_change` gets files, and folders that are new, in a thread of the watch.
        """
        self._sources = sources
        self._stopping = stopping
        self._on_change = on_change
        self._told_at = time.time() - BEHIND_S

    def start(self) -> None:
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow_folders()
            except FileNotFoundError:  # a folder went away before it could be followed
                continue

    def _follow_folders(self) -> None:
        """Until there are other folders."""
        from watchfiles import DefaultFilter, watch

        sources = set(self._sources())
        folders = _folders(sources)
        looks = watch(
            *folders,
            watch_filter=DefaultFilter(),
            step=QUIET_MS,
            recursive=False,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            stop_event=self._stopping,
            raise_interrupt=False,
        )
        for number, changes in enumerate(looks):
            changed = {path for _, name in changes if _is_of((path := Path(name)), sources)}
            if number == 0:  # before the folders were followed
                changed |= {file for file in _files(sources) if _changed_at(file) > self._told_at}
            if changed:
                self._told_at = time.time() - BEHIND_S
                self._on_change(changed)
            if set(self._sources()) != sources or (changes and _folders(sources) != folders):
                return


def _is_of(path: Path, sources: Iterable[Path]) -> bool:
    """Whether something that changed is a source, in one or on the way to one, and is what people write."""
    for source in sources:
        if source.is_relative_to(path):
            return True
        if path.is_relative_to(source):
            return not any(part in MADE or part.startswith(".") for part in path.relative_to(source).parts)
    return False


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    """The files that people write."""
    for source in sources:
        if source.is_file():
            yield source
        yield from (folder / name for folder, _, names in _walk(source) for name in names if not name.startswith("."))


def _changed_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:  # an editor's, meanwhile
        return 0


def _folders(sources: Iterable[Path]) -> set[Path]:
    """The folders in which something happens when a source changes. An editor that saves by renaming puts another file
    in the place of the first one, so a file is followed by its folder, and so is what is not there yet.
    """
    folders = set()
    for source in sources:
        inside = {folder for folder, *_ in _walk(source)}
        folders |= inside or {next(parent for parent in source.parents if parent.is_dir())}
    return folders


def _walk(source: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """The folders inside of one, itself first, without those that people do not write in."""
    for name, inside, names in os.walk(source):
        folder = Path(name)
        inside[:] = [each for each in inside if not (each in MADE or each.startswith(".") or _is_venv(folder / each))]
        yield folder, inside, names


def _is_venv(folder: Path) -> bool:
    return (folder / VENV).exists()


def python_of(sources: Iterable[Path]) -> Iterator[Path]:
    """The Python files of folders, without packages that pip installed there: there may be thousands."""
    for source in sources:
        for folder, inside, names in _walk(source):
            if any(each.endswith(".dist-info") for each in inside):
                inside.clear()
            yield from (folder / name for name in names if name.endswith(".py"))


def broken_python(files: Iterable[Path], folder: Path) -> dict[Path, str]:
    """What Python says of the files that it cannot read: where, as seen from a folder, and why."""
    broken = {}
    for path in sorted(files):
        name = path.relative_to(folder) if path.is_relative_to(folder) else path
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except SyntaxError as error:
            broken[path] = f"{name}, line {error.lineno}: {type(error).__name__}: {error.msg}"
        except ValueError as error:  # a null character
            broken[path] = f"{name}: {error}"
        except FileNotFoundError:  # an editor's, meanwhile
            continue
    return broken
