"""The folder once/: a copy of the application that is installed with the command, and which files it was made of.

`.installed.json` in it has the version and the SHA-256 of each file as it was copied. So an upgrade knows which files
somebody has changed since, and overwrites none of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from oncekit import application
from oncekit.adoption.inside import check_inside, is_inside
from oncekit.own_template import NOTED, TEMPLATES, noted_in
from oncekit.problem import Problem

NAME = "once"
OPERATIONS = "operations.yaml"
"""The file in the folder that is the user's: no upgrade touches it."""
_RECORD = NOTED.removeprefix(f"{NAME}/")
_COPIED = ("api", "operations", "announcements", "statemachine", "functions", "shared")
_EXAMPLES = (
    (re.compile(r"  # ---- Examples: .*?\n(?=Outputs:\n)", re.DOTALL), ""),
    (re.compile(r"  \w+:\n    [^\n]+\n    Condition: HasExamples\n[^\n]+\n"), ""),
    (re.compile(r"!If\n +- HasExamples\n +- !Sub\n[^!]+!If[^!]+!Sub[^!]+- !Ref Operations"), "!Ref Operations"),
    (re.compile(r" +- !If \[HasExamples, [^]]+\]\n"), ""),
    (re.compile(r"  HasExamples: [^\n]+\n"), ""),
    (re.compile(r'\["yes", "no"\]\n    Default: "yes"'), '["no"]\n    Default: "no"'),
)
"""What the template has for the examples alone, and what stands there without them: else `sam build` would build them,
unused."""
_OF_EXAMPLES = ("functions/charge_payment/", "functions/place_order/", "functions/build_report/")


def installed() -> Mapping[str, bytes]:
    """What goes into the folder, by its name there: the application without its examples."""
    source = application.folder()
    files = [source / application.TEMPLATE]
    files += [path for name in _COPIED for path in sorted((source / name).rglob("*")) if _belongs(path)]
    found = {path.relative_to(source).as_posix(): path.read_bytes() for path in files}
    template = found[application.TEMPLATE].decode()
    for theirs, without in _EXAMPLES:
        template = theirs.sub(without, template)
    kept = {name: content for name, content in found.items() if not name.startswith(_OF_EXAMPLES)}
    return kept | {application.TEMPLATE: template.encode()}


def _belongs(path: Path) -> bool:
    return path.is_file() and not any(part == "__pycache__" or part.endswith(".egg-info") for part in path.parts)


def create(folder: Path) -> None:
    """Copy everything into a folder that is not there. Raises Problem if it is, and not ours."""
    if folder.exists():
        raise Problem(f"{folder} is there, and `once init` has not made it: rename it, or delete it")
    _note(folder, {})
    upgrade(folder)


def is_ours(folder: Path) -> bool:
    return (folder / _RECORD).is_file()


def version_of(folder: Path) -> str:
    return str(_noted(folder)["version"])


def changes(folder: Path) -> list[str]:
    """The names of the files that are not as they are in the package. Raises Problem for one outside of the folder."""
    check_inside(folder.parent, folder / _RECORD)
    new = installed()
    names = sorted(new.keys() | _files(folder).keys())
    check_inside(folder, *(folder / name for name in names))
    return [name for name in names if _content(folder / name) != new.get(name)]


def changed_here(folder: Path) -> list[str]:
    """Those of them that somebody has changed since they were copied, or put there."""
    noted = _files(folder)
    here = {name: _content(folder / name) for name in changes(folder)}
    return [name for name, content in here.items() if content is not None and _digest(content) != noted.get(name)]


def upgrade(folder: Path) -> None:
    """Overwrite whatever is not as it is in the package."""
    new = installed()
    for name in changes(folder):
        if name in new:
            _write(folder / name, new[name])
        else:
            (folder / name).unlink(missing_ok=True)
    _note(folder, {name: _digest(content) for name, content in new.items()})


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


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


def note_template(folder: Path, template: str) -> bool:
    """Let the commands and the tests find a template beside the folder; whether it was not noted yet."""
    noted = noted_in(folder.parent)
    if template in noted:
        return False
    _note(folder, _files(folder), [*noted, template], version_of(folder))
    return True


def _note(folder: Path, files: Mapping[str, str], templates: Sequence[str] = (), of: str | None = None) -> None:
    noted = {
        "version": of or version("oncekit"),
        TEMPLATES: sorted(templates or noted_in(folder.parent)),
        "files": dict(sorted(files.items())),
    }
    _write(folder / _RECORD, f"{json.dumps(noted, indent=2)}\n".encode())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
