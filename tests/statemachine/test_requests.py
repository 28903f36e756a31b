"""A request, its duplicates, and requests that are refused, in both lanes; tests/states has what a request must be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from http_client import Client
from latches import Latches
from scenario import LANES, cause, charge, id_of, operations, record_of, run, scripted

from oncekit.contract.lanes import Lane
from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import answer_lost, before, never_arrives


def without(field: str) -> dict[str, Any]:
    return {k: v for k, v in charge().items() if k != field}


REFUSED: dict[str, Any] = {
    "one JSON object": "charge",
    "180,000 bytes": charge() | {"payload": {"x": "y" * 181_000}},
    "surrogate": charge() | {"payload": {"x": "\ud800"}},
}


@LANES
@pytest.mark.parametrize("word", REFUSED)
def test_what_is_no_request_is_refused_with_its_reason_and_kept_as_it_came(
    cloud: LocalCloud, lane: Lane, word: str
) -> None:
    refused = run(cloud, REFUSED[word] if word != "one JSON object" else '"charge"', lane)
    assert refused.error == "InvalidRequest"
    assert word in cause(refused)["message"]
    [kept] = cloud.rejected()
    told = (kept["error"], kept["message"], kept["input"], kept["executionArn"])
    assert told == ("InvalidRequest", cause(refused)["message"], REFUSED[word], refused.arn)
    assert not cloud.invocations()


def refused_objects(cloud: LocalCloud) -> list[str]:
    listed = cloud.client("s3").list_objects_v2(Bucket=cloud.outputs["ResponseBucketName"], Prefix="rejected/")
    return [each["Key"].removeprefix("rejected/") for each in listed.get("Contents", ())]


def test_refused_requests_are_listed_oldest_first(cloud: LocalCloud) -> None:
    refused = []
    for lane in ("full", "fast", "full", "fast"):
        refused.append(cloud.run(without("payload"), lane=lane).arn)  # type: ignore[arg-type]
        cloud.clock.advance(11)  # type: ignore[attr-defined]  # the clock of tests is virtual
    assert [each["executionArn"] for each in cloud.rejected()] == refused
    assert refused_objects(cloud) == sorted(refused_objects(cloud))


def test_a_request_with_a_member_called_http_is_refused_and_kept(cloud: LocalCloud) -> None:
    """It did not come by HTTP, so its sender was told nothing."""
    sent = {**charge(), "http": {"method": "POST"}}
    assert run(cloud, sent, "fast").error == "InvalidRequest"
    assert [each["input"] for each in cloud.rejected()] == [sent]


def test_who_was_told_by_http_finds_nothing_kept(cloud: LocalCloud, client: Client) -> None:
    """20 refusals of one tenant would leave megabytes of payloads, personal data included, with the operators."""
    client.post("charge-payment", "k", charge()["payload"])
    assert client.post("charge-payment", "k", {"card": "4111"}).status == 422
    assert client.post("charge-payment", "", charge()["payload"]).status == 400
    assert client.send(
        "POST", "/default/charge-payment", '{"a":1e400}', Content_Type="application/json", Idempotency_Key="n"
    ).status in (400, 422)
    assert refused_objects(cloud) == []
    assert not operations(cloud)


@pytest.mark.usefixtures("each_reading")
@LANES
def test_a_refused_request_too_large_to_be_kept_is_named_by_its_execution(cloud: LocalCloud, lane: Lane) -> None:
    refused = run(cloud, charge() | {"payload": {"x": "y" * 262_000}}, lane)
    assert refused.error == "InvalidRequest"
    [kept] = cloud.rejected()
    assert ("input" in kept, "inputOmitted" in kept, kept["executionArn"]) == (False, True, refused.arn)


@pytest.mark.usefixtures("each_reading")
def test_a_refused_request_too_large_to_be_handed_over_is_kept_when_s3_is_back(cloud: LocalCloud) -> None:
    """It does not fit into a call that starts the full lane, which could keep it later."""
    with cloud.intercept(never_arrives(state="RefuseRequest", nth=range(1, 6))):
        refused = run(cloud, charge() | {"payload": {"x": "y" * 262_000}}, "fast")
    assert (refused.error, len(cloud.rejected())) == ("InvalidRequest", 1)


HUGE = '{"operation":"scripted","idempotencyKey":"k","payload":{"n":1e400}}'
UNREADABLE = [
    HUGE,
    '{"operation":"scripted","idempotencyKey":"k","payload":{"a":{"_jsonata_lambda":true}}}',
    '{"_jsonata_lambda":true,"operation":"scripted","idempotencyKey":"k","payload":{}}',
]


@pytest.mark.usefixtures("each_reading")
@pytest.mark.parametrize("text", UNREADABLE)
def test_what_no_expression_can_read_is_refused_by_the_fast_lane_and_named(cloud: LocalCloud, text: str) -> None:
    refused = run(cloud, text, "fast")
    assert refused.error == "InvalidRequest"
    assert "a number that no double can hold, or a member called _jsonata_lambda" in cause(refused)["message"]
    [kept] = cloud.rejected()
    is_huge = text == HUGE  # an expression that only hands it on can read the others
    assert ("input" in kept, "inputOmitted" in kept, kept["executionArn"]) == (not is_huge, is_huge, refused.arn)
    assert cloud.record("default#scripted#k") is None


@pytest.mark.usefixtures("latches")
@pytest.mark.parametrize("text", UNREADABLE)
def test_what_no_expression_can_read_ends_the_full_lane_before_it_begins(cloud: LocalCloud, text: str) -> None:
    """It is no refusal: an alarm watches executions that fail by themselves, and AWS keeps the input."""
    ended = cloud.run(text)
    assert (ended.status, ended.error in ("InvalidRequest", "States.QueryEvaluationError")) == ("FAILED", True)
    assert ended.states[0] == "ReceiveRequest"
    assert cloud.record("default#scripted#k") is None


@LANES
def test_two_whole_numbers_that_are_one_double_are_refused_and_kept(cloud: LocalCloud, plain: str, lane: Lane) -> None:
    """They would be one payload, and the function would get another number than was sent."""
    for number in ("1234567890123456789", "1234567890123456788"):
        text = f'{{"operation":"{plain}","idempotencyKey":"k","payload":{{"n":{number}}}}}'
        assert "as a string" in cause(run(cloud, text, lane))["message"]
    assert len(cloud.rejected()) == 2 and not cloud.invocations(plain)


@LANES
def test_a_refusal_that_s3_does_not_take_for_minutes_is_kept_all_the_same(cloud: LocalCloud, lane: Lane) -> None:
    with cloud.intercept(never_arrives(state="RefuseRequest", nth=range(1, 12))):
        assert run(cloud, without("payload"), lane).error == "InvalidRequest"
    [kept] = cloud.rejected()
    assert kept["input"] == without("payload")


@LANES
def test_a_refusal_that_is_sent_twice_is_one_object(cloud: LocalCloud, lane: Lane) -> None:
    with cloud.intercept(answer_lost(state="RefuseRequest")):
        assert run(cloud, without("payload"), lane).error == "InvalidRequest"
    assert len(refused_objects(cloud)) == 1


# ---- what is kept with the lock ----


@LANES
@pytest.mark.parametrize("more", [{}, {"text": "x" * 5000}], ids=["small", "large"])
def test_an_open_record_has_its_request_and_a_finished_one_has_not(
    cloud: LocalCloud, latches: Latches, lane: Lane, more: dict[str, Any]
) -> None:
    request = scripted({"await": "go", "then": {"return": 1}}, tenant="acme")
    request["payload"] |= more
    arn = cloud.start(request | {"onCrash": "quarantine"}, lane=lane)
    latches.wait_for_starts(1)
    record = record_of(cloud, request)
    if more:
        ref = record["requestRef"]
        assert ref["key"].startswith(f"requests/acme/{request['operation']}/")
        body = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read().decode()
    else:
        body = record["request"]
    assert json.loads(body) == request, "without what a copy can ask otherwise"
    assert ("request" in record) != ("requestRef" in record)
    latches.open("go")
    assert cloud.wait(arn).output["disposition"] == "EXECUTED"
    assert not {"request", "requestRef", "leaseExpiresAt", "openShard"} & set(record_of(cloud, request))


@LANES
def test_a_large_request_is_kept_before_its_lock_is_taken(cloud: LocalCloud, plain: str, lane: Lane) -> None:
    request = {"operation": plain, "idempotencyKey": "k", "payload": {"text": "x" * 5000, "return": 1}}
    seen: list[Any] = []

    def look() -> None:
        seen.append(cloud.record(id_of(request)))

    with cloud.intercept(before(look, state="KeepRequest", nth=0)):
        end = run(cloud, request, lane)
    assert end.output["disposition"] == "EXECUTED"
    assert seen == [None]


def test_a_table_out_of_reach_is_told_by_http_and_leaves_nothing(cloud: LocalCloud, client: Client) -> None:
    for state in ("ReadRecord", "AcquireLock"):
        with cloud.intercept(never_arrives(state=state, nth=0)):
            refused = client.post("charge-payment", "k", charge()["payload"])
        assert (refused.status, refused.headers["retry-after"]) == (503, "2")
        assert "same key" in refused.problem["title"]
    assert (operations(cloud), refused_objects(cloud)) == ([], [])
    assert client.post("charge-payment", "k", charge()["payload"]).status == 200
