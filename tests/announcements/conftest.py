"""An application whose operation is heard by another one, by the commands of docs/announcements.md."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from adoption.conftest import ROOT, Application

from oncekit.testing.kit_cloud import TestCloud

PAGE = (ROOT / "docs" / "announcements.md").read_text()


def event() -> str:
    """That of the page."""
    [found] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    json.loads(found)
    return str(found)


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    made = Application(tmp_path_factory.mktemp("announced"))
    [command] = re.findall(r"^\$ once (new .*)$", PAGE, re.MULTILINE)
    assert made.once("init").code == 0
    (made.folder / "samples").mkdir()
    (made.folder / "samples" / "completed.json").write_text(event())
    for given in (["new", "charge-payment"], shlex.split(command)):
        done = made.once(*given, "--step")  # so that each has an effect that can be counted
        assert done.code == 0, done.err
    own: Path = made.folder / "once" / "operations.yaml"
    before = '        Examples: "no"\n'
    assert before in own.read_text()
    own.write_text(own.read_text().replace(before, f"{before}        Announcements: default\n"))
    return made


@pytest.fixture(scope="module")
def announcing_cloud(application: Application) -> Iterator[TestCloud]:
    with TestCloud(application.folder / "template.yaml") as cloud:
        yield cloud


@pytest.fixture
def cloud(announcing_cloud: TestCloud) -> Iterator[TestCloud]:
    with announcing_cloud.for_one_test():
        yield announcing_cloud


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests come first: a process has one cloud, and that of all other tests stays open."""
    items.sort(key=lambda item: "announcing_cloud" not in getattr(item, "fixturenames", ()))
