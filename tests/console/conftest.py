"""The console over the shared local cloud: asked without a server, and in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsers import BROWSERS, installed_browser
from visitor import Visitor

from oncekit.cli.here.console import LocalActions
from oncekit.console.local_source import LocalSource
from oncekit.local import LocalCloud

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def an_operation_that_asks_for_an_operator(request: pytest.FixtureRequest) -> None:
    """`ask-somebody` is quarantined by its own function; what `work-elsewhere` starts may never end."""
    if "cloud" in request.fixturenames:
        cloud: LocalCloud = request.getfixturevalue("cloud")
        cloud.add_function("ask-somebody", Path(__file__).parent / "functions" / "asking")
        cloud.add_function("work-elsewhere", Path(__file__).parent / "functions" / "elsewhere")


@pytest.fixture
def source(cloud: LocalCloud) -> Iterator[LocalSource]:
    source = LocalSource(cloud)
    with source.watching():
        yield source


@pytest.fixture
def actions(cloud: LocalCloud) -> LocalActions:
    return LocalActions(cloud, ROOT)


@pytest.fixture
def visitor(source: LocalSource, actions: LocalActions) -> Visitor:
    """Somebody who opened the address that was printed."""
    return Visitor(source, actions)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real one, for all tests of a session; skipped where there is none."""
    found = installed_browser()
    if found is None:
        pytest.skip(f"no browser is here ({', '.join(BROWSERS)}); `make browser` installs one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()
