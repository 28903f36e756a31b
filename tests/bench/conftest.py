"""What the tests of the bench share: what was counted, once a session."""

from __future__ import annotations

import pytest

from oncekit.bench.cost.measuring import Bench
from oncekit.bench.cost.paths import Costs, measured
from oncekit.local import LocalCloud


@pytest.fixture(scope="session")
def costs(shared_cloud: LocalCloud) -> Costs:
    shared_cloud.reset()
    return measured(Bench(shared_cloud))
