"""The wheel, built once, and environments that hold it and what it says it needs, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "template.yaml", "samconfig.toml")
FOLDERS = ("oncekit", "api", "operations", "announcements", "examples", "shared", "statemachine", "functions", "events")
DEPENDENCIES = "dependencies"
LEFT = "build/local/template-0"
"""What a local cloud leaves beside a template of the checkout, however deep."""


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel in it, and an empty folder to work in."""

    folder: Path
    work: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def once(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.folder / "bin" / "once"), *arguments)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
        return subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, without what an earlier build left there, in which a local cloud has been."""
    copy = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        shutil.copy2(ROOT / name, copy / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    for template in [*copy.glob("*/template.yaml")]:
        (template.parent / LEFT).parent.mkdir(parents=True)
        (template.parent / LEFT).touch()
    return copy


@pytest.fixture(scope="session")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make wheel` does."""
    to = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-index", "--no-deps")
    subprocess.run([*pip, "--no-build-isolation", "-w", to, source], check=True, capture_output=True)
    (found,) = to.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installed]:
    """Installs the wheel with an extra, offline: pip takes as installed what the metadata of the wheel asks for."""

    def make(extra: str) -> Installed:
        made = Installed(tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("elsewhere"))
        venv.create(made.folder, with_pip=False)
        (packages,) = made.folder.glob("lib/python*/site-packages")
        _link_what_is_needed(wheel, extra, made.folder / DEPENDENCIES)
        (packages / f"{DEPENDENCIES}.pth").write_text(str(made.folder / DEPENDENCIES))
        pip = (sys.executable, "-m", "pip", "--python", str(made.python), "--disable-pip-version-check", "install")
        done = subprocess.run(
            [*pip, "-q", "--no-index", "--no-compile", f"{wheel}{extra}"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return made

    return make


@pytest.fixture(scope="session")
def bare(install: Callable[[str], Installed]) -> Installed:
    return install("")


@pytest.fixture(scope="session")
def whole(install: Callable[[str], Installed]) -> Installed:
    return install("[local]")


def _link_what_is_needed(wheel: Path, extra: str, to: Path) -> None:
    """Links to the packages here that the wheel needs, and those that they need. What the wheel forgets is missing."""
    to.mkdir()
    (metadata,) = Distribution.discover(path=[str(wheel)])
    wanted = list(_needs(metadata, {extra.strip("[]")}))
    known: set[tuple[str, str]] = set()
    while wanted:
        requirement = wanted.pop()
        for each in ("", *requirement.extras):
            if (requirement.name, each) not in known:
                known.add((requirement.name, each))
                wanted += _needs(distribution(requirement.name), {each})
    for name in {name for name, _ in known}:
        for top in {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}:
            place = Path(str(distribution(name).locate_file(top)))
            if place.exists() and not (to / top).exists():
                (to / top).symlink_to(place)


def _needs(metadata: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for text in metadata.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": each}) for each in {"", *extras}):
            yield requirement
