"""The files of an application: which of them changed, and which cannot be Python."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDERS = ("functions", "shared", "statemachine")
PYTHON = FOLDERS[:2]


class Watch:
    """Reports the files that people changed; what editors write beside them, for a moment, is none of these."""

    def __init__(self, template: Path, stopping: threading.Event, on_change: Callable[[set[str]], None]) -> None:
        """`on_change` gets names, in a thread of the watch."""
        self._template = template
        self._folders = [template.parent / name for name in FOLDERS if (template.parent / name).is_dir()]
        self._stopping = stopping
        self._on_change = on_change
        self._known = {path for folder in self._folders for path in folder.rglob("*")} | {template}

    def start(self) -> None:
        # The template is watched by its folder: an editor that saves by renaming puts another file in its place, and a
        # watch of the file would go away with the first one.
        self._follow([self._template.parent], recursive=False)
        if self._folders:
            self._follow(self._folders, recursive=True)

    def _follow(self, paths: list[Path], *, recursive: bool) -> None:
        from watchfiles import watch

        def follow() -> None:
            for changes in watch(*paths, recursive=recursive, stop_event=self._stopping, raise_interrupt=False):
                changed = {Path(name) for _, name in changes}
                if not recursive:
                    changed &= {self._template}
                if names := self.written_by_people(changed):
                    self._on_change(names)

        threading.Thread(target=follow, daemon=True).start()

    def written_by_people(self, changed: set[Path]) -> set[str]:
        """The names of those that are there, or were; a temporary file came and went, or is hidden."""
        ours = {path for path in changed if not _is_of_an_editor(path.name)}
        there = {path for path in ours if path.exists()}
        gone = (ours & self._known) - there
        self._known = (self._known | there) - gone
        return {path.name for path in there | gone if not path.is_dir()}


def _is_of_an_editor(name: str) -> bool:
    return name.startswith((".", "#")) or name.endswith(("~", "#", ".tmp", ".bak", ".orig"))


def broken_python(folder: Path) -> Iterator[str]:
    """What Python says of files of the functions and the library that it cannot read: where, and why."""
    for path in sorted(path for name in PYTHON for path in (folder / name).rglob("*.py")):
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except SyntaxError as error:
            yield f"{path.relative_to(folder)}, line {error.lineno}: {type(error).__name__}: {error.msg}"
        except ValueError as error:  # a null character
            yield f"{path.relative_to(folder)}: {error}"
        except FileNotFoundError:  # an editor's, meanwhile
            continue
