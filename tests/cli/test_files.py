"""Which files `once up` says have changed, and which it will not deploy."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncekit.cli.here.files import Watch, broken_python, python_of

LONG = 30
"""Seconds that a test waits for what should come at once."""


class Application:
    """A folder with a template and a function, of which the watch follows what is in `sources`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = folder / "billing"
        self.code.mkdir()
        self.file("billing/app.py")
        self.sources = {self.file("template.yaml"), self.code}
        self.stopping = threading.Event()
        self.told: queue.SimpleQueue[set[Path]] = queue.SimpleQueue()
        self.watch = Watch(lambda: self.sources, self.stopping, self.told.put)

    def file(self, name: str, text: str = "") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def changed(self) -> set[str]:
        return {file.relative_to(self.folder).as_posix() for file in self.watch.changed()}

    def await_change(self, name: str) -> None:
        while self.folder / name not in self.told.get(timeout=LONG):
            pass


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    application = Application(tmp_path)
    yield application
    application.stopping.set()


def test_a_file_that_was_changed_made_or_deleted_is_named(application: Application) -> None:
    app = application.file("billing/app.py", "x = 1")
    assert application.changed() == {"billing/app.py"}
    application.file("billing/rates/new.py")
    assert application.changed() == {"billing/rates/new.py"}
    app.unlink()
    assert application.changed() == {"billing/app.py"}
    assert application.changed() == set(), "it was told already"


@pytest.mark.parametrize(
    "name",
    [
        ".app.py.swp",
        "app.py~",
        "#app.py#",
        ".#app.py",
        "app.py.tmp",
        "app.py.orig",
        "4913",
        "app.py___jb_tmp___",
        "app.py___jb_old___",
        "app.py.tmp.123.456",
        "app.py.kate-swp",
    ],
)
def test_what_an_editor_writes_beside_a_file_is_not_named(application: Application, name: str) -> None:
    application.file(f"billing/{name}")
    assert application.changed() == set()


@pytest.mark.parametrize("name", ["build/x", ".aws-sam/x", ".git/x", "node_modules/a/x", "__pycache__/x", "env/lib/x"])
def test_what_people_do_not_write_is_not_followed(application: Application, name: str) -> None:
    application.file("billing/env/pyvenv.cfg")
    application.file(f"billing/{name}")
    assert application.changed() == set()


def test_a_followed_folder_may_itself_be_one_that_was_built(application: Application) -> None:
    application.sources = {application.folder / ".aws-sam" / "build" / "Billing"}
    application.file(".aws-sam/build/Billing/app.py")
    assert application.changed() == {".aws-sam/build/Billing/app.py"}


def test_what_is_deployed_later_is_followed_but_only_named_when_it_changed(application: Application) -> None:
    os.utime(application.file("shipping/app.py"), (0, 0))
    application.file("billing/app.py", "x = 1")
    assert application.changed() == {"billing/app.py"}, "shipping is not deployed yet"
    application.sources = {*application.sources, application.folder / "shipping"}
    assert application.changed() == set()
    application.file("shipping/app.py", "x = 1")
    assert application.changed() == {"shipping/app.py"}


def test_the_watch_follows_renamed_files_and_new_folders(
    application: Application,
) -> None:
    application.watch.start()
    application.file("other", "x = 2").rename(application.code / "app.py")
    application.await_change("billing/app.py")
    application.file("billing/rates/app.py")
    application.await_change("billing/rates/app.py")
    application.file("billing/rates/app.py", "x = 1")
    application.await_change("billing/rates/app.py")
    application.sources = {*application.sources, application.folder / "shipping" / "code"}
    application.file("shipping/code/app.py", "x = 1")
    application.await_change("shipping/code/app.py")
    application.file("template.yaml", "Resources: {}")
    application.await_change("template.yaml")


def test_a_file_that_is_written_in_pieces_is_told_of_when_it_is_whole(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    template, pieces = application.folder / "template.yaml", ["Resources:\n", "  A: {}\n"]
    seen: queue.SimpleQueue[str] = queue.SimpleQueue()

    def write_more(_: float) -> bool:
        if pieces:
            application.file("template.yaml", template.read_text() + pieces.pop(0))
        return False

    monkeypatch.setattr(application.stopping, "wait", write_more)
    watch = Watch(lambda: application.sources, application.stopping, lambda _: seen.put(template.read_text()))
    application.file("template.yaml", "# being saved\n")
    watch.start()
    assert seen.get(timeout=LONG) == "# being saved\nResources:\n  A: {}\n"


def test_a_file_that_is_written_all_the_time_is_told_of_nevertheless(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_more(_: float) -> bool:
        application.file("billing/log", f"{(application.code / 'log').read_text()}more\n")
        return False

    monkeypatch.setattr(application.stopping, "wait", write_more)
    application.file("billing/log")
    application.watch.start()
    application.await_change("billing/log")


def test_packages_that_pip_installed_are_not_looked_at(application: Application) -> None:
    application.file("billing/vendored-1.0.dist-info/RECORD")
    application.file("billing/vendored/bad.py", "def f(:")
    assert list(python_of(application.sources)) == [application.code / "app.py"]


def test_python_that_cannot_be_read_is_named_with_its_line_and_why(tmp_path: Path) -> None:
    folder = tmp_path / "functions" / "charge"
    folder.mkdir(parents=True)
    (folder / "good.py").write_text("x = 1\n")
    (folder / "bad.py").write_text("x = 1\ndef f(:\n")
    (folder / "indented.py").write_text("def f():\nx = 1\n")
    first, second = broken_python(python_of([tmp_path / "functions"]), tmp_path).values()
    assert first == "functions/charge/bad.py, line 2: SyntaxError: invalid syntax"
    assert second.startswith("functions/charge/indented.py, line 2: IndentationError: expected an indented block")
