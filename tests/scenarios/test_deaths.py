"""Owners that die at work, and owners that only look as if they had."""

from __future__ import annotations

import pytest
from scenarios.scene import Scene, without_policies

RECOVERY_SECONDS = 300
"""The sweep after the lease, by the default parameters, is not later than this."""
pytestmark = [pytest.mark.longest(RECOVERY_SECONDS), pytest.mark.lanes("full"), pytest.mark.aws(unconfirmed="V1")]
"""Nobody can stop an Express execution: the proof has the deaths of the fast lane."""


def test_operation_of_a_stopped_owner_is_completed_without_anyone_sending_it_again(scene: Scene) -> None:
    sku = scene.key()
    request = scene.scripted({"takes": sku, "awaits": "never"}, {"takes": sku, "returns": "second"})
    owner = scene.start(request)
    scene.until(lambda: scene.orders(request) or None, "the step of the first owner")
    scene.stop(owner)
    record = scene.record_in(request, "COMPLETED")
    assert record["owner"] != owner
    assert (record["fence"], record["attempts"]) == (2, 2)
    duplicate = scene.run(request)
    assert (duplicate.disposition, scene.answer(duplicate)) == ("REPLAYED", b'"second"')
    assert scene.starts(request) == 2
    assert (scene.orders(request), scene.taken(sku)) == (1, 1)


def test_what_a_stopped_owner_writes_late_changes_nothing(scene: Scene) -> None:
    sku = scene.key()
    late = {"takes": sku, "returns": "late"}
    request = scene.scripted({"awaits": "late", "then": late}, {"takes": sku, "returns": "second"})
    scene.stop(scene.started(request))
    record = scene.record_in(request, "COMPLETED")
    scene.open(request, "late")
    scene.until(lambda: len(scene.ends(request)) == 2 or None, "the end of the late one")
    assert (scene.orders(request), scene.taken(sku)) == (1, 1)
    assert scene.record(request) == record
    assert scene.answer(scene.run(request)) == b'"second"'


def test_operation_of_a_stopped_owner_that_must_not_run_again_is_quarantined(scene: Scene) -> None:
    request = scene.scripted({"awaits": "never", "then": {"returns": 1}}, onCrash="quarantine")
    scene.stop(scene.started(request))
    record = scene.record_in(request, "QUARANTINED")
    assert record["error"]["name"] == "OwnerCrashed"
    assert scene.kept_request(record) == without_policies(request)
    assert scene.run(request).error == "NeedsAttention"
    assert scene.starts(request) == 1


def test_charge_of_an_execution_that_was_stopped_at_once_is_made_once(scene: Scene) -> None:
    """Who stops an execution before it has a lock has its request."""
    request = scene.charge()
    scene.stop(scene.start(request))
    scene.run(request)
    scene.record_in(request, "COMPLETED")
    assert scene.charges(request) == 1
    assert scene.run(request).disposition == "REPLAYED"


@pytest.mark.longest(60)
@pytest.mark.lanes("full", "fast")
def test_sweep_started_by_hand_succeeds_and_leaves_a_living_owner_alone(scene: Scene) -> None:
    request = scene.scripted({"awaits": "go", "then": {"returns": "mine"}})
    owner = scene.started(request)
    assert scene.sweep() == "SUCCEEDED"
    record = scene.record_in(request, "IN_PROGRESS")
    assert scene.is_owner(owner, record["owner"])
    assert record["fence"] == 1
    scene.open(request, "go")
    assert scene.end_of(owner).output["attempt"] == 1
    assert scene.starts(request) == 1
