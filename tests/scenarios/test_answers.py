"""Requests and their duplicates: one effect, one answer."""

from __future__ import annotations

import json

import pytest
from scenarios.scene import Scene

pytestmark = [pytest.mark.longest(60), pytest.mark.aws(unconfirmed="V1")]
DAY = 86_400
FIRST_DELIVERY = 100
"""Pieces of an article that place-order finds on the shelf."""


@pytest.mark.lanes("full", "fast", "mixed")
def test_duplicate_gets_the_first_ones_answer_byte_for_byte_and_starts_nothing(scene: Scene) -> None:
    request = scene.charge()
    first, again = scene.run(request), scene.run(request)
    assert (first.disposition, again.disposition) == ("EXECUTED", "REPLAYED")
    assert scene.answer(first) == scene.answer(again)
    assert json.loads(scene.answer(first))["amount"] == 4200
    record = scene.record_in(request, "COMPLETED")
    assert scene.is_owner(first.arn, record["owner"])
    assert (record["fence"], record["attempts"]) == (1, 1)
    assert scene.charges(request) == 1


@pytest.mark.lanes("full", "fast", "mixed")
def test_ten_requests_at_once_have_one_effect_and_one_answer(scene: Scene) -> None:
    request = scene.charge(onConflict="wait")
    arns = [scene.start(request) for _ in range(10)]
    ended = [scene.end_of(arn) for arn in arns]
    assert sorted(each.disposition for each in ended) == ["EXECUTED", *["REPLAYED"] * 9]
    assert len({scene.answer(each) for each in ended}) == 1
    assert scene.charges(request) == 1
    assert scene.record_in(request, "COMPLETED")["fence"] == 1


@pytest.mark.lanes("full", "fast", "mixed")
def test_order_and_what_it_takes_off_the_shelf_are_written_together_and_once(scene: Scene) -> None:
    sku = scene.key()
    items = [{"sku": sku, "quantity": 2}, {"sku": sku, "quantity": 1}]
    request = scene.request("place-order", {"customer": "e2e", "items": items}, onConflict="wait")
    ended = [scene.end_of(arn) for arn in [scene.start(request), scene.start(request)]]
    assert sorted(each.disposition for each in ended) == ["EXECUTED", "REPLAYED"]
    assert len({scene.answer(each) for each in ended}) == 1
    assert (scene.placed(request), scene.available(sku)) == (1, FIRST_DELIVERY - 3)


def test_business_logic_is_started_once_however_often_a_request_comes(scene: Scene) -> None:
    request = scene.scripted({"returns": {"n": 1}})
    answers = [scene.answer(scene.run(request)) for _ in range(3)]
    assert answers == [b'{"n":1}'] * 3
    assert scene.starts(request) == 1


@pytest.mark.lanes("full", "fast", "mixed")
def test_other_payload_under_the_same_key_is_refused_and_kept_with_its_reason(scene: Scene) -> None:
    request = scene.charge()
    other = {**request, "payload": {**request["payload"], "amount": 4300}}
    first, refused = scene.run(request), scene.run(other)
    assert refused.error == "PayloadMismatch"
    [kept] = scene.refused(refused.arn)
    assert (kept["error"], kept["input"]) == ("PayloadMismatch", other)
    assert "if this is a retry, send the same body; a new operation needs a new key" in kept["message"]
    assert scene.charges(request) == 1
    assert scene.answer(scene.run(request)) == scene.answer(first)


def test_tenants_and_operations_are_apart_under_the_same_key(scene: Scene) -> None:
    request = scene.charge()
    of_another_tenant = {**request, "tenant": f"{request['tenant']}-other"}
    other = scene.scripted({"returns": 1}, idempotencyKey=request["idempotencyKey"])
    assert [scene.run(each).disposition for each in (request, of_another_tenant, other)] == ["EXECUTED"] * 3
    assert scene.charges(request) == 2
    assert scene.starts(other) == 1


@pytest.mark.lanes("full", "fast", "mixed")
def test_large_result_is_in_s3_and_the_duplicate_gets_the_same_bytes(scene: Scene) -> None:
    size = 2_000_000
    request = scene.request("build-report", {"bytes": size})
    first, again = scene.run(request), scene.run(request)
    assert (first.disposition, again.disposition) == ("EXECUTED", "REPLAYED")
    assert first.output["resultRef"] == again.output["resultRef"]
    assert scene.answer(first) == scene.answer(again)
    assert len(scene.answer(first)) == size
    record = scene.record_in(request, "COMPLETED")
    assert record["resultRef"] == first.output["resultRef"]
    assert "result" not in record


def test_record_of_what_is_done_expires_and_an_open_one_never_does(scene: Scene) -> None:
    request = scene.scripted({"awaits": "go", "then": {"returns": 1}})
    owner = scene.started(request)
    opened = scene.record_in(request, "IN_PROGRESS")
    assert "expiresAt" not in opened and opened["leaseExpiresAt"] > 0
    scene.open(request, "go")
    scene.end_of(owner)
    closed = scene.record_in(request, "COMPLETED")
    assert "leaseExpiresAt" not in closed and "openShard" not in closed
    kept_for = closed["expiresAt"] - scene.backend.stack.now()
    retention = scene.backend.stack.number("RetentionDays") * DAY
    assert retention - 600 < kept_for < retention + 600


def test_invalid_request_is_refused_and_kept_with_its_reason(scene: Scene) -> None:
    request = {**scene.charge(), "onCrash": "shrug"}
    refused = scene.run(request)
    assert refused.error == "InvalidRequest"
    assert "onCrash" in refused.cause["message"]
    [kept] = scene.refused(refused.arn)
    assert kept["input"] == request
    assert "onCrash" in kept["message"]
    assert scene.record(request) is None
    assert scene.charges(request) == 0
