"""What the tests of the bench share: what was counted, once a session."""

from __future__ import annotations

import pytest

from oncekit.bench.cost.table import Costs
from oncekit.bench.scale.demand import Demand, demand
from oncekit.local import LocalCloud


@pytest.fixture(scope="session")
def costs(shared_cloud: LocalCloud) -> Costs:
    shared_cloud.reset()
    return Costs(shared_cloud)


@pytest.fixture(scope="session")
def counted(shared_cloud: LocalCloud) -> Demand:
    shared_cloud.reset()
    return demand(shared_cloud)
