"""The judge of every scenario: promises are held against what has ended."""

from __future__ import annotations

import pytest
from invariants import invariants_hold
from scenario import scripted

from oncekit.local import LocalCloud


@pytest.mark.usefixtures("latches")
def test_promises_are_judged_when_nothing_runs_any_more(cloud: LocalCloud) -> None:
    """An owner that ended after the last write was taken down gave an answer that nobody seemed to have kept."""
    with invariants_hold(cloud):
        cloud.start(scripted({"return": "done"}))
    assert not cloud.executions.running()
