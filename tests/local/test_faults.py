"""Express executions that run twice."""

from __future__ import annotations

import pytest
from event_stand import Stand, worker

from oncekit.local.engine.interceptors import runs_twice

pytestmark = pytest.mark.ours


@pytest.mark.aws(
    "Step Functions Developer Guide, Standard and Express workflows",
    "Express workflows, however, have at-least-once workflow execution and can run for up to five minutes",
)
def test_asynchronous_express_execution_may_run_twice_under_one_arn(stand: Stand) -> None:
    stand.deploy(worker(type="EXPRESS") + worker("Other", type="EXPRESS"))
    with stand.cloud.repeating(runs_twice(machine="Worker")):
        stand.start({"n": 0}, "Other")
        stand.start({"n": 1})
        stand.start({"n": 2})
    assert stand.inputs() == [{"n": 1}, {"n": 1}, {"n": 2}]
    first, again, other = stand.executions()
    assert first.arn == again.arn != other.arn
    assert len(stand.executions("Other")) == 1
