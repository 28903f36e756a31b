"""Which files `once up` says have changed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncekit.cli.here.files import Watch

LONG = 30
"""Seconds that a test waits for what should come at once."""


class Application:
    """A folder with a template and a function, of which the watch follows what is in `sources`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = folder / "billing"
        self.file("billing/app.py")
        self.file("billing/env/pyvenv.cfg")
        self.sources = {self.file("template.yaml"), self.code}
        self.stopping = threading.Event()
        self.told: queue.SimpleQueue[set[Path]] = queue.SimpleQueue()
        self.watch = Watch(lambda: self.sources, self.stopping, self.told.put)

    def file(self, name: str, text: str = "") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def told_until(self, name: str) -> set[str]:
        """What is told, up to the change of a file."""
        told: set[str] = set()
        while name not in told:
            told |= {path.relative_to(self.folder).as_posix() for path in self.told.get(timeout=LONG)}
        return told


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    application = Application(tmp_path)
    application.watch.start()
    yield application
    application.stopping.set()


def test_a_file_that_was_changed_made_renamed_or_deleted_is_named(application: Application) -> None:
    app = application.file("billing/app.py", "x = 1")
    application.told_until("billing/app.py")
    app.unlink()
    application.told_until("billing/app.py")
    application.file("other", "x = 2").rename(app)
    application.told_until("billing/app.py")


def test_a_new_folder_is_followed_also_where_a_source_was_missing(application: Application) -> None:
    application.file("billing/rates/new.py")
    application.told_until("billing/rates/new.py")
    application.sources = {*application.sources, application.folder / "shipping" / "code"}
    application.file("billing/app.py", "x = 1")
    application.told_until("billing/app.py")
    application.file("shipping/code/app.py")
    application.told_until("shipping/code/app.py")


@pytest.mark.parametrize(
    "name",
    [".app.py.swp", "app.py~", "build/x", ".aws-sam/x", "node_modules/x", "env/lib/x"],
)
def test_what_people_do_not_write_is_not_named(application: Application, name: str) -> None:
    application.file(f"billing/{name}")
    application.file("billing/app.py", "x = 1")
    assert application.told_until("billing/app.py") <= {"billing/app.py", "template.yaml"}
