"""The application of docs/long-work.md: its functions, its resources, and its operations by `once new`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from adoption.conftest import Application

from oncekit.testing.kit_cloud import TestCloud

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "long-work.md").read_text()
BASE = """
Transform: AWS::Serverless-2016-10-31
Globals:
  Function:
    Runtime: python3.13
    Handler: app.handler
    Architectures: [arm64]
    Layers: [!Ref OnceLibrary]
Resources:
"""
COMPLETES = {"FulfilOrder": "Finish", "Refund": "Decide"}
"""By the function of an operation: the one that ends it."""
OPERATIONS = {"fulfil-order": "FulfilOrder", "refund": "Refund", "transcode": "Transcode"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def library() -> str:
    """As docs/adopting.md has it."""
    [found] = re.findall(r"^  OnceLibrary:\n.*?(?=^```)", (ROOT / "docs/adopting.md").read_text(), re.DOTALL | re.M)
    return str(found)


def write(folder: Path, files: str) -> None:
    """The files of the page whose names match."""
    for code in blocks(r"\w+"):
        if file := re.match(rf"# ({files})\n", code):
            (folder / file[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / file[1]).write_text(code)


def written(folder: Path) -> Application:
    write(folder, r"(?!once/|tests/)\S+\.\w+")
    resources = [block for block in blocks("yaml") if re.match(r"  \w+:\n", block)]
    (folder / "template.yaml").write_text(BASE + library() + "\n" + "\n".join(resources))
    application = Application(folder)
    assert application.once("init").code == 0
    for operation, function in OPERATIONS.items():
        done = application.once("new", operation, "--function", function)
        assert done.code == 0, done.err
    for function, other in COMPLETES.items():
        allow(folder, function, other)
    write(folder, r"tests/\S+")  # in place of those that `once new` wrote
    return application


def allow(folder: Path, function: str, other: str) -> None:
    """The role of another function may end what this one begins, as the page shows it."""
    shown = blocks("yaml")[-1].replace("FulfilOrder", function).replace("Finish", other)
    [parameter], [roles] = re.findall(r"^  (\w+: \{ Type: String \})", shown, re.M), re.findall(r"Roles: .*", shown)
    own = folder / "once" / "operations.yaml"
    text = own.read_text().replace("Parameters:\n", f"Parameters:\n  {parameter}\n", 1)
    before = f"Roles: [!Ref {function}Role]"
    assert text.count(before) == 1
    own.write_text(text.replace(before, roles))
    outer = folder / "template.yaml"
    named = f"{function}Role: !Ref {function}Role\n"
    found = re.search(rf"^( +){named}", outer.read_text(), re.M)
    assert found is not None
    outer.write_text(outer.read_text().replace(found[0], f"{found[0]}{found[1]}{other}Role: !Ref {other}Role\n"))


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    return written(tmp_path_factory.mktemp("long-work"))


@pytest.fixture(scope="module")
def long_cloud(application: Application) -> Iterator[TestCloud]:
    with TestCloud(application.folder / "template.yaml") as cloud:
        yield cloud


@pytest.fixture
def cloud(long_cloud: TestCloud) -> Iterator[TestCloud]:
    with long_cloud.for_one_test():
        yield long_cloud


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests come first: a process has one cloud, and that of all other tests stays open."""
    items.sort(key=lambda item: "long_cloud" not in getattr(item, "fixturenames", ()))
