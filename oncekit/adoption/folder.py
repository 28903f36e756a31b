"""The folder once/: a copy of the application that is installed with the command, and which files it was made of.

`.installed.json` in it has the version and the SHA-256 of each file as it was copied. So an upgrade knows which files
somebody has changed since: these it leaves alone, and puts the new ones beside them.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from oncekit import application
from oncekit.adoption.inside import check_inside, is_inside
from oncekit.adoption.problem import Problem

NAME = "once"
OPERATIONS = "operations.yaml"
"""The file in the folder that is the user's: no upgrade touches it."""
_RECORD = ".installed.json"
_COPIED = ("statemachine", "functions", "shared")
_NEW = ".new"


@dataclass(frozen=True)
class Change:
    """A file that differs from the one that is installed. None stands for a file that is not there."""

    name: str
    here: bytes | None
    installed: bytes | None
    is_changed_here: bool
    """Since it was copied; by somebody, then."""

    def diff(self) -> Iterator[str]:
        old, new = (_lines(each) for each in (self.here, self.installed))
        yield from difflib.unified_diff(old, new, f"a/{NAME}/{self.name}", f"b/{NAME}/{self.name}", lineterm="")


def installed() -> Mapping[str, bytes]:
    """What goes into the folder, by its name there."""
    source = application.folder()
    files = [source / application.TEMPLATE]
    files += [path for name in _COPIED for path in sorted((source / name).rglob("*")) if _belongs(path)]
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in files}


def _belongs(path: Path) -> bool:
    return path.is_file() and not any(part == "__pycache__" or part.endswith(".egg-info") for part in path.parts)


def create(folder: Path) -> None:
    """Copy everything into a folder that is not there. Raises Problem if it is, and not ours."""
    if folder.exists():
        raise Problem(f"{folder} is there, and `once init` has not made it: rename it, or delete it")
    files = installed()
    for name, content in files.items():
        _write(folder / name, content)
    _note(folder, {name: _digest(content) for name, content in files.items()})


def is_ours(folder: Path) -> bool:
    return (folder / _RECORD).is_file()


def version_of(folder: Path) -> str:
    return str(_noted(folder)["version"])


def changes(folder: Path) -> list[Change]:
    """The files that are not as they are in the package, by name. Raises Problem for one that is not in the folder."""
    check_inside(folder.parent, folder / _RECORD)
    new, noted = installed(), _files(folder)
    check_inside(folder, *(folder / f"{name}{end}" for name in new for end in ("", _NEW)))
    found = []
    for name in sorted(new.keys() | noted.keys()):
        here = (folder / name).read_bytes() if (folder / name).is_file() else None
        if here != new.get(name):
            touched = here is not None and _digest(here) != noted.get(name)
            found.append(Change(name, here, new.get(name), touched))
    return found


def upgrade(folder: Path, found: list[Change]) -> list[str]:
    """Bring the changes. Gives the files that were left as they are; the new one of each is beside it, as FILE.new."""
    left, noted = [], dict(_files(folder))
    for each in found:
        path = folder / each.name
        if each.is_changed_here:
            left.append(each.name)
            path = path.with_name(path.name + _NEW)
        if each.installed is None:
            noted.pop(each.name, None)
            if not each.is_changed_here:
                path.unlink(missing_ok=True)
            continue
        _write(path, each.installed)
        noted[each.name] = _digest(each.installed)
    _note(folder, noted)
    return left


def _files(folder: Path) -> Mapping[str, str]:
    files = _noted(folder)["files"]
    assert isinstance(files, dict)
    for name in files:
        parts = name.split("/")
        if ".." in parts or parts[0] not in (*_COPIED, application.TEMPLATE) or not is_inside(folder, folder / name):
            raise Problem(
                f"{folder / _RECORD} names {name!r}, which `once init` copies to no place in {folder}: nothing was "
                "changed; remove that name from it"
            )
    return files


def _noted(folder: Path) -> Mapping[str, object]:
    try:
        noted = json.loads((folder / _RECORD).read_text())
        if isinstance(noted, dict) and isinstance(noted.get("files"), dict) and "version" in noted:
            return noted
    except (OSError, ValueError):
        pass
    raise Problem(f"{folder / _RECORD} cannot be read: take it from version control, or delete {folder} and init again")


def _note(folder: Path, files: Mapping[str, str]) -> None:
    noted = {"version": version("oncekit"), "files": dict(sorted(files.items()))}
    _write(folder / _RECORD, f"{json.dumps(noted, indent=2)}\n".encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="backslashreplace").splitlines()
