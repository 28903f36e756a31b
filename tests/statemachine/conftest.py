"""What every scenario has at hand: the scripted function, its gates, and the invariants afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gates import Gates
from invariants import DECEIVED, invariants_hold

from local import LocalCloud

FUNCTIONS = Path(__file__).parents[1] / "functions"


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


@pytest.fixture
def deceived() -> None:
    """For a scenario in which the state machine is told what is not so, or somebody redrives what was replaced.

    Business logic may then be started once more, and a living owner be replaced. All else must hold.
    """


@pytest.fixture(autouse=True)
def invariants(cloud: LocalCloud, request: pytest.FixtureRequest) -> Iterator[None]:
    """The promises, held against every write and against what is left."""
    with invariants_hold(cloud, DECEIVED if "deceived" in request.fixturenames else ()):
        yield
