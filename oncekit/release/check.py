"""What would be uploaded, used by somebody who has nothing else; each step says what it saw, or raises Problem."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from oncekit.local.once_cloud import LocalCloud
from oncekit.problem import Problem
from oncekit.release import bundle, notes

INDEX = "index"
"""The folder of what goes to a package index."""
SUMS = "SHA256SUMS"
NOTES = "notes.md"
BILLS = {"oncekit": "requirements/local.txt", "once-layer": "shared/requirements.txt"}
"""The SBOMs, and the pinned requirements that each lists."""
REQUEST = {"operation": "build-report", "idempotencyKey": "k", "payload": {"bytes": 2000}}


def release(root: Path, folder: Path, version: str, tag: str) -> Iterator[str]:
    """Looks at all that `make release` has made in `folder`. `tag` is empty before there is one. Raises Problem."""
    if tag and tag != f"v{version}":
        raise Problem(f"the tag is {tag}, and pyproject.toml has the version {version}")
    (folder / NOTES).write_text(notes.cut((root / "CHANGELOG.md").read_text(), version, released=bool(tag)))
    yield f"{NOTES}: the section of {version}"
    _check_sums(folder)
    yield f"{SUMS}: every file, and no other"
    for name, requirements in BILLS.items():
        yield f"{name}.cdx.json: {_check_bill(folder / f'{name}.cdx.json', root / requirements)} packages, with hashes"
    for architecture in bundle.ARCHITECTURES:
        yield _check_bundle(root, folder / f"{bundle.name(version, architecture)}.zip", architecture)
    yield _check_packages(root, (folder / INDEX).resolve(), version)


def sums(folder: Path) -> str:
    """By the names that files have where they are downloaded, in no folder."""
    files = {path.name: path for path in folder.rglob("*") if path.is_file() and path.name not in (SUMS, NOTES)}
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in sorted(files.items()))


def _check_sums(folder: Path) -> None:
    if (folder / SUMS).read_text() != sums(folder):
        raise Problem(f"{SUMS} is not that of the files in {folder}: run `make release` again")


def _check_bill(bill: Path, requirements: Path) -> int:
    """How many packages it lists: those of the pinned requirements, each with its hashes."""
    listed = {each["name"]: each for each in json.loads(bill.read_text())["components"]}
    pinned = _pinned(requirements)
    if set(listed) != set(pinned):
        raise Problem(f"{bill.name} and {requirements.name} differ in {', '.join(sorted(set(listed) ^ set(pinned)))}")
    for name, each in listed.items():
        hashes = [one for known in each.get("externalReferences", []) for one in known.get("hashes", [])]
        if not hashes or each["version"] != pinned[name]:
            raise Problem(f"{bill.name}: {name} has no hash, or not the version {pinned[name]}")
    return len(listed)


def _pinned(requirements: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)(?:\[[\w, -]+\])?==([\w.!+-]+)", requirements.read_text(), re.MULTILINE))


def _check_bundle(root: Path, packed: Path, architecture: str) -> str:
    """It lacks nothing, and what it deploys answers a request, on the local cloud."""
    with tempfile.TemporaryDirectory() as temporary:
        zipfile.ZipFile(packed).extractall(temporary)  # noqa: S202 a zip, and our own
        folder = Path(temporary).resolve() / packed.stem
        if lacking := bundle.missing(folder, [*_pinned(root / "shared" / "requirements.txt")], architecture):
            raise Problem(f"{packed.name}: {'; '.join(lacking)}")
        with LocalCloud(folder / bundle.TEMPLATE, events=False) as cloud:
            if cloud.parameters["Architecture"] != architecture:
                raise Problem(f"{packed.name} is deployed for {cloud.parameters['Architecture']} by default")
            ended = cloud.run(REQUEST)
    if ended.status != "SUCCEEDED":
        raise Problem(f"{packed.name}: a request ended as {ended.status}, {ended.why}")
    return f"{packed.name}: whole, and a request runs"


def _check_packages(root: Path, index: Path, version: str) -> str:
    """The sdist is built and installed into an environment that has nothing else, where an application begins."""
    [source], [wheel] = index.glob("*.tar.gz"), index.glob("*.whl")
    for name in (source.name, wheel.name):
        if not name.startswith(f"oncekit-{version}"):
            raise Problem(f"{name} is not the version {version} of pyproject.toml")
    if differs := list(differences(root, source, wheel)):
        raise Problem("; ".join(differs))
    with tempfile.TemporaryDirectory() as temporary:
        environment, empty = Path(temporary) / "environment", Path(temporary) / "empty"
        empty.mkdir()
        _run(empty, sys.executable, "-m", "venv", str(environment))
        pip = (str(environment / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
        _run(empty, *pip, "--require-hashes", "-r", str(root / "requirements" / "pip.txt"))
        _run(empty, *pip, "--require-hashes", "-r", str(root / "requirements" / "local.txt"))
        _run(empty, *pip, "--no-deps", "--no-build-isolation", str(source))
        once = str(environment / "bin" / "once")
        for arguments, says in (
            (("--version",), f"once {version}"),
            (("--help",), "init"),
            (("init",), "once/"),
            (("run", "events/place-order.json"), "EXECUTED"),
        ):
            if says not in _run(empty, once, *arguments):
                raise Problem(f"once {' '.join(arguments)} does not say {says!r}")
        copied = json.loads((empty / "once" / ".installed.json").read_text())["version"]
    if copied != version:
        raise Problem(f"once init copied the version {copied}")
    return f"{source.name}, {wheel.name}: installed, once --help, once init and once run"


def differences(root: Path, source: Path, wheel: Path) -> Iterator[str]:
    """What an sdist and a wheel have of the application more or less than is committed, a sentence each."""
    below = "oncekit/application/"
    in_wheel = {name.removeprefix(below) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(below)}
    parts = {name.partition("/")[0] for name in in_wheel}
    with tarfile.open(source) as sdist:
        files = {each.name.partition("/")[2] for each in sdist.getmembers() if each.isfile()}
    in_source = {name for name in files if name.partition("/")[0] in parts}
    committed = set(_run(root, "git", "ls-files", "-z", "--", *parts).split("\0")) - {""}
    for package, names in ((source, in_source), (wheel, in_wheel)):
        if differing := sorted(names ^ committed):
            yield f"{package.name} differs from what is committed in {', '.join(differing)}"


def _run(where: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)  # noqa: S603 our own
    if done.returncode:
        raise Problem(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
