"""What every scenario of the state machine has at hand: the scripted function, its gates, and the invariants afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from invariants import assert_invariants

from local import Execution, LocalCloud

FUNCTIONS = Path(__file__).parents[1] / "functions"


class Gates:
    """Holds scripted business logic at a named point until the test opens it; counts the starts it has seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, name: str) -> None:
        (self.folder / name).touch()

    def starts(self) -> int:
        log = self.folder / "starts"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def wait_for_starts(self, count: int) -> None:
        end = time.monotonic() + 20
        while self.starts() < count:
            assert time.monotonic() < end, f"{self.starts()} starts after 20 s, {count} expected"
            time.sleep(0.005)


@pytest.fixture
def gates(cloud: LocalCloud, tmp_path: Path) -> Iterator[Gates]:
    """The function of the operation `scripted`, whose payload says what each attempt does."""
    cloud.add_function("scripted", FUNCTIONS / "scripted", environment={"GATES": str(tmp_path)})
    yield Gates(tmp_path)
    for name in ("go", "first", "second"):
        (tmp_path / name).touch()


@pytest.fixture
def plain(cloud: LocalCloud) -> str:
    """The operation of a function that knows nothing of Once."""
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    return "plain-echo"


@pytest.fixture(autouse=True)
def invariants(cloud: LocalCloud) -> Iterator[None]:
    yield
    assert_invariants(cloud)


@pytest.fixture(autouse=True)
def _no_running(cloud: LocalCloud) -> None:
    """The cloud is there before the scenario, so that a broken start shows as an error of the set-up."""


def dispositions(executions: list[Execution]) -> list[str]:
    return sorted(e.output["disposition"] if e.output else str(e.error) for e in executions)
