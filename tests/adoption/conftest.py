"""A shop that was written without Once, and what the steps of docs/adopting.md make of it."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import Done, once
from copies import share_what_is_kept
from kit import OF_A_USER, PYTEST

from oncekit.testing.kit_cloud import TestCloud

ROOT = Path(__file__).parents[2]
APPLICATION = Path(__file__).with_name("application")
PAGE = (ROOT / "docs" / "adopting.md").read_text()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)

collect_ignore = ["application"]


@dataclass(frozen=True)
class Application:
    """A folder, and the commands in it."""

    folder: Path

    def once(self, *arguments: str) -> Done:
        with contextlib.chdir(self.folder):
            return once(_no_stack, *arguments)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    def pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        if not (self.folder / "build").exists():
            share_what_is_kept(self.folder)
        return subprocess.run(
            [*PYTEST, *OF_A_USER, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300
        )


def _no_stack(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing of this needs a deployed stack")


@dataclass(frozen=True)
class Step:
    """A command of the page, and what the page says that it prints."""

    command: tuple[str, ...]
    printed: str


def steps() -> list[Step]:
    """The commands of `once` on the page that write files, in their order."""
    told = "\n".join(block[1] for block in BLOCK.finditer(PAGE))
    parts = re.split(r"^\$ ", told, flags=re.MULTILINE)[1:]
    found = [(shlex.split(head), printed) for head, _, printed in (part.partition("\n") for part in parts)]
    return [Step(tuple(words[1:]), printed.strip()) for words, printed in found if words[:2] in WRITERS]


WRITERS = (["once", "init"], ["once", "new"])


@pytest.fixture
def foreign(tmp_path: Path) -> Application:
    """The shop as it was."""
    shutil.copytree(APPLICATION, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    return Application(tmp_path / "shop")


@pytest.fixture
def empty(tmp_path: Path) -> Application:
    (tmp_path / "empty").mkdir()
    return Application(tmp_path / "empty")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Application, list[Done]]:
    """The shop after the steps of the page, and what each printed."""
    folder = tmp_path_factory.mktemp("adopted") / "shop"
    shutil.copytree(APPLICATION, folder, ignore=shutil.ignore_patterns("__pycache__"))
    made = Application(folder)
    return made, [made.once(*step.command) for step in steps()]


@pytest.fixture(scope="module")
def shop_cloud(shop: tuple[Application, list[Done]]) -> Iterator[TestCloud]:
    with TestCloud(shop[0].folder / "template.yaml") as cloud:
        yield cloud


@pytest.fixture
def cloud(shop_cloud: TestCloud) -> TestCloud:
    shop_cloud.reset()
    return shop_cloud


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with the shop's own cloud come first: a process has one cloud, and that of all other tests stays open."""
    items.sort(key=lambda item: "shop_cloud" not in getattr(item, "fixturenames", ()))
