"""Duplicates that come while the first is at work."""

from __future__ import annotations

import pytest
from scenarios.scene import Scene

pytestmark = [pytest.mark.longest(60), pytest.mark.lanes("full", "fast", "mixed"), pytest.mark.aws(unconfirmed="V1")]
AT_WORK = {"awaits": "go", "then": {"returns": "mine"}}


def test_duplicate_is_acknowledged_by_default(scene: Scene) -> None:
    request = scene.scripted(AT_WORK)
    owner = scene.started(request)
    duplicate = scene.run(request)
    assert duplicate.disposition == "IN_PROGRESS"
    assert "result" not in duplicate.output
    assert scene.is_owner(owner, scene.record_in(request, "IN_PROGRESS")["owner"])
    scene.open(request, "go")
    assert scene.end_of(owner).disposition == "EXECUTED"
    assert scene.starts(request) == 1


def test_duplicate_that_rejects_conflicts_is_told_who_is_at_work(scene: Scene) -> None:
    request = scene.scripted(AT_WORK)
    owner = scene.started(request)
    duplicate = scene.run({**request, "onConflict": "reject"})
    assert duplicate.error == "OperationInProgress"
    assert scene.is_owner(owner, duplicate.cause["owner"])
    scene.open(request, "go")
    assert scene.end_of(owner).disposition == "EXECUTED"
    assert scene.starts(request) == 1


def test_duplicate_that_waits_gets_the_owners_answer(scene: Scene) -> None:
    request = scene.scripted(AT_WORK)
    owner = scene.started(request)
    waiter = scene.start({**request, "onConflict": "wait"})
    scene.open(request, "go")
    first, second = scene.end_of(owner), scene.end_of(waiter)
    assert (first.disposition, second.disposition) == ("EXECUTED", "REPLAYED")
    assert scene.answer(first) == scene.answer(second) == b'"mine"'
    assert scene.starts(request) == 1
