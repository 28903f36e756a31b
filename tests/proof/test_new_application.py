"""What `once init` writes into an empty folder: the matrix that the tests there ask for."""

from __future__ import annotations

from pathlib import Path

from adoption.conftest import Application


def test_a_new_application_takes_effect_once_whatever_breaks(tmp_path: Path) -> None:
    application = Application(tmp_path)
    assert application.once("init").code == 0
    done = application.pytest("tests", "-k", "whatever_breaks")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
