"""Which files `once up` says have changed, and which it will not deploy."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from oncekit.cli.here.files import Watch, broken_python


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    (tmp_path / "functions" / "charge").mkdir(parents=True)
    (tmp_path / "functions" / "charge" / "app.py").touch()
    (tmp_path / "template.yaml").touch()
    return Watch(tmp_path / "template.yaml", threading.Event(), lambda names: None)


def test_a_file_that_was_changed_made_or_deleted_is_named(watch: Watch, tmp_path: Path) -> None:
    folder = tmp_path / "functions" / "charge"
    assert watch.written_by_people({folder / "app.py"}) == {"app.py"}
    (folder / "new.py").touch()
    assert watch.written_by_people({folder / "new.py", folder}) == {"new.py"}
    (folder / "app.py").unlink()
    assert watch.written_by_people({folder / "app.py"}) == {"app.py"}
    assert watch.written_by_people({folder / "app.py"}) == set(), "it was told already"


@pytest.mark.parametrize("name", [".app.py.swp", "app.py~", "#app.py#", ".#app.py", "app.py.tmp", "app.py.orig"])
def test_what_an_editor_writes_beside_a_file_is_not_named(watch: Watch, tmp_path: Path, name: str) -> None:
    temporary = tmp_path / "functions" / "charge" / name
    temporary.touch()
    assert watch.written_by_people({temporary}) == set()


def test_a_file_that_came_and_went_is_not_named(watch: Watch, tmp_path: Path) -> None:
    folder = tmp_path / "functions" / "charge"
    assert watch.written_by_people({folder / "4913", folder / "app.py"}) == {"app.py"}


def test_python_that_cannot_be_read_is_named_with_its_line_and_why(tmp_path: Path) -> None:
    folder = tmp_path / "functions" / "charge"
    folder.mkdir(parents=True)
    (folder / "good.py").write_text("x = 1\n")
    (folder / "bad.py").write_text("x = 1\ndef f(:\n")
    (folder / "indented.py").write_text("def f():\nx = 1\n")
    first, second = broken_python(tmp_path)
    assert first == "functions/charge/bad.py, line 2: SyntaxError: invalid syntax"
    assert second.startswith("functions/charge/indented.py, line 2: IndentationError: expected an indented block")
