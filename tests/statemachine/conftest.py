"""What every scenario has at hand: the scripted function, its gates, and the invariants afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gates import Gates
from invariants import assert_invariants

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


@pytest.fixture(autouse=True)
def invariants(cloud: LocalCloud) -> Iterator[None]:
    yield
    assert_invariants(cloud)
