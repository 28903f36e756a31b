"""What every scenario has at hand: the scripted function, its latches, and the invariants afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from http_client import Client
from invariants import DECEIVED, invariants_hold
from latches import Latches
from scenario import by_recovery

from oncekit.asl.errors import READINGS, read_as
from oncekit.local import Execution, LocalCloud

FUNCTIONS = Path(__file__).parents[1] / "functions"
_names = (f"recovery-{n}" for n in itertools.count(1))


@pytest.fixture
def latches(cloud: LocalCloud, latches_folder: Path) -> Iterator[Latches]:
    """The function of the operation `scripted`, whose payload says what each attempt does."""
    cloud.add_function("scripted", FUNCTIONS / "scripted", environment={"LATCHES": str(latches_folder)})
    yield Latches(latches_folder)
    for name in ("go", "first", "second"):
        (latches_folder / name).touch()


@pytest.fixture
def plain(cloud: LocalCloud) -> str:
    """The operation of a function that knows nothing of Once."""
    cloud.add_function("plain-echo", FUNCTIONS / "plain_echo")
    return "plain-echo"


@pytest.fixture
def client(cloud: LocalCloud) -> Client:
    """A sender by HTTP."""
    return Client(cloud)


@pytest.fixture
def deceived() -> None:
    """For a scenario in which the state machine is told what is not so, or somebody redrives what was replaced.

    Business logic may then be started once more, and a living owner be replaced. All else must hold.
    """


@pytest.fixture(params=READINGS, ids=str)
def each_reading(request: pytest.FixtureRequest) -> Iterator[None]:
    """Under each reading of what AWS says of States.ALL and of States.Runtime."""
    with read_as(request.param):
        yield


@pytest.fixture(autouse=True)
def invariants(cloud: LocalCloud, request: pytest.FixtureRequest) -> Iterator[None]:
    """The promises, held against every write and against what is left."""
    with invariants_hold(cloud, DECEIVED if "deceived" in request.fixturenames else ()):
        yield


@pytest.fixture
def recover(cloud: LocalCloud) -> Callable[[], Execution]:
    """Starts a sweep as the schedule does; waits for it and for what it started."""

    def start() -> Execution:
        arn = cloud.client("stepfunctions").start_execution(
            stateMachineArn=cloud.outputs["RecoveryStateMachineArn"], name=next(_names), input="{}"
        )["executionArn"]
        ended = cloud.wait(arn)
        for each in by_recovery(cloud):
            cloud.wait(each.arn)
        return ended

    return start
