"""What every scenario has at hand: `scene`; on the local cloud it is held against the promises, too."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from invariants import invariants_hold
from scenarios.aws_backend import AwsBackend
from scenarios.cost import MOST_DOLLARS_EACH
from scenarios.local_backend import LocalBackend
from scenarios.options import REPORT, RUN_ID, STACK, lanes, longest, runs_on_aws
from scenarios.run import Run, begun, new_id
from scenarios.scene import Scene

from oncekit.local import LocalCloud


@pytest.fixture(scope="session")
def run_on_aws(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Iterator[Run]:
    """One run for all scenarios; it cleans up also when it is interrupted, or told to end."""
    option, report = pytestconfig.getoption, pytestconfig.stash[REPORT]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    backend = AwsBackend(pytestconfig.stash[STACK], option("profile"), option("region"))
    id, most = pytestconfig.stash[RUN_ID], MOST_DOLLARS_EACH * request.session.testscollected
    with begun(backend, id) as run:
        yield run
        cost = run.cost()
        report.append(f"{id}: {cost}")
        assert cost.most_dollars < most
    report.append(f"{id}: cleaned up and checked: no record, row, object, message or function of it is left")


@pytest.fixture(scope="session")
def id_on_the_local_cloud() -> str:
    """The same for all runs: their function, which is named by it, stays warm."""
    return new_id()


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """On the local cloud, one run for each scenario, with a cloud that is empty."""
    if runs_on_aws(request.config):
        yield request.getfixturevalue("run_on_aws")
        return
    cloud: LocalCloud = request.getfixturevalue("cloud")
    id: str = request.getfixturevalue("id_on_the_local_cloud")
    with cloud.delivering(), begun(LocalBackend(cloud), id, leaves_function=True) as run:
        yield run
        assert run.cost().most_dollars < MOST_DOLLARS_EACH


@pytest.fixture(autouse=True)
def invariants(run: Run, request: pytest.FixtureRequest) -> Iterator[None]:
    """The promises, where every write can be seen."""
    if runs_on_aws(request.config):
        yield
        return
    with invariants_hold(request.getfixturevalue("cloud")):
        yield


@pytest.fixture
def scene(run: Run, lane: str, request: pytest.FixtureRequest) -> Scene:
    return run.scene(longest(request.node), lane)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A scenario once in each of its lanes."""
    if "lane" in metafunc.fixturenames:
        metafunc.parametrize("lane", lanes(metafunc.definition, metafunc.config))
