"""An application may come from a stranger: `once init` and `once new` touch nothing outside of its folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from adoption.conftest import Application
from commands import Done

PRIVATE = "only whose file it is may read this"
INIT, UPGRADE, NEW = ("init",), ("init", "--upgrade"), ("new", "pay")


@pytest.fixture
def outside(foreign: Application) -> Path:
    """A folder beside the application."""
    folder = foreign.folder.parent / "outside"
    folder.mkdir()
    (folder / "credentials").write_text(PRIVATE)
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def assert_refused(application: Application, outside: Path, command: tuple[str, ...]) -> Done:
    """In one line, and nothing changes, here or there."""
    before = files_of(application.folder), files_of(outside)
    done = application.once(*command)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert PRIVATE not in done.out + done.err
    assert (files_of(application.folder), files_of(outside)) == before
    return done


def lead_outside(application: Application, outside: Path, name: str) -> None:
    """A link in the place of a file or folder, whose content is outside then."""
    link = application.folder / name
    link.parent.mkdir(exist_ok=True)
    if link.exists():
        link.rename(outside / link.name)
    link.symlink_to(outside / link.name)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (INIT, ".gitignore"),
        (INIT, "once"),
        (NEW, "functions"),
        (NEW, "once/operations.yaml"),
        (UPGRADE, "once"),
        (UPGRADE, "once/.installed.json"),
        (UPGRADE, "once/operations.yaml"),
    ],
)
def test_nothing_is_written_or_read_through_a_link(
    foreign: Application, outside: Path, command: tuple[str, ...], name: str
) -> None:
    if command != INIT:
        foreign.once(*INIT)
    lead_outside(foreign, outside, name)
    done = assert_refused(foreign, outside, command)
    assert "a symbolic link leads" in done.err and str(outside) in done.err


@pytest.mark.parametrize(
    ("command", "name"),
    [(INIT, "{outside}/credentials"), (UPGRADE, "../samconfig.toml"), (UPGRADE, "shared/../operations.yaml")],
)
def test_an_upgrade_reads_and_deletes_only_files_of_the_copy(
    foreign: Application, outside: Path, name: str, command: tuple[str, ...]
) -> None:
    foreign.once(*INIT)
    record, named = foreign.folder / "once/.installed.json", name.format(outside=outside)
    noted = json.loads(record.read_text())
    for digest in ("0" * 64, hashlib.sha256(PRIVATE.encode()).hexdigest()):
        noted["files"][named] = digest
        record.write_text(json.dumps(noted))
        done = assert_refused(foreign, outside, command)
        assert f"names {named!r}, which `once init` copies to no place" in done.err
