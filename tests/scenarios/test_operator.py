"""An operator ends a quarantine with the `once` command, and duplicates get the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scenarios.scene import Request, Scene, id_of

pytestmark = [pytest.mark.longest(90), pytest.mark.aws(unconfirmed="V1")]


def quarantined(scene: Scene, *then: dict[str, object]) -> Request:
    request = scene.scripted({"raises": "NeedsAttention"}, *then)
    assert scene.run(request).error == "NeedsAttention"
    assert id_of(request) in scene.once("ls", "--status", "QUARANTINED", "--tenant", request["tenant"]).out
    return request


def test_operator_resolves_it_and_every_duplicate_gets_that_answer(scene: Scene, tmp_path: Path) -> None:
    request = quarantined(scene)
    result = tmp_path / "result.json"
    result.write_text('{"chargeId": "by hand"}')
    done = scene.once("resolve", id_of(request), "--result", str(result), "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["status"] == "COMPLETED"
    again = scene.run(request)
    assert (again.disposition, json.loads(scene.answer(again))) == ("REPLAYED", {"chargeId": "by hand"})
    assert scene.starts(request) == 1


def test_operator_says_that_it_failed_and_every_duplicate_hears_so(scene: Scene) -> None:
    request = quarantined(scene)
    assert scene.once("resolve", id_of(request), "--failed", "the bank knows of nothing").code == 0
    again = scene.run(request)
    assert (again.error, again.cause["message"]) == ("OperationFailed", "the bank knows of nothing")
    assert scene.starts(request) == 1


def test_operator_starts_it_again_with_its_kept_request_and_finished_steps_stay(scene: Scene) -> None:
    sku = scene.key()
    request = scene.scripted({"takes": sku, "exits": 3}, {"takes": sku, "returns": "fixed"}, onCrash="quarantine")
    assert scene.run(request).error == "NeedsAttention"
    done = scene.once("retry", id_of(request), "--json")
    assert done.code == 0, done.err
    retried = scene.end_of(json.loads(done.out)["executionArn"])
    assert (retried.disposition, scene.answer(retried)) == ("EXECUTED", b'"fixed"')
    assert scene.answer(scene.run(request)) == b'"fixed"'
    assert scene.starts(request) == 2
    assert (scene.orders(request), scene.taken(sku)) == (1, 1)


def test_operator_releases_it_and_the_next_request_runs_business_logic(scene: Scene) -> None:
    request = quarantined(scene, {"returns": "afresh"})
    assert scene.once("release", id_of(request), "--yes").code == 0
    fence = scene.record_in(request, "FAILED")["fence"]
    ended = scene.run(request)
    assert (ended.disposition, scene.answer(ended)) == ("EXECUTED", b'"afresh"')
    assert scene.record_in(request, "COMPLETED")["fence"] == fence + 1
    assert scene.starts(request) == 2


def test_operator_is_told_that_there_is_nothing_to_do(scene: Scene) -> None:
    request = scene.charge()
    scene.run(request)
    done = scene.once("retry", id_of(request))
    assert (done.code, "COMPLETED" in done.err) == (3, True)
    assert scene.charges(request) == 1
