"""A request, its duplicates, and requests that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from scenario import answer, cause, charge, id_of, record_of, result, rows

from oncekit.local import LocalCloud

NEW = ("ReceiveRequest", "AcquireLock", "ExecuteBusinessLogic", "IsResponseLarge", "Finalize")
DUPLICATE = ("ReceiveRequest", "AcquireLock", "ReadRecord", "ExistingStatus", "ReturnStoredResponse")


def test_new_request_is_executed_once_and_recorded(cloud: LocalCloud) -> None:
    execution = cloud.run(charge())
    assert execution.states == NEW
    assert execution.transitions == 5
    assert {k: v for k, v in execution.output.items() if k != "result"} == {
        "disposition": "EXECUTED",
        "id": "acme#charge-payment#order-1",
        "operation": "charge-payment",
        "tenant": "acme",
        "idempotencyKey": "order-1",
        "attempt": 1,
    }
    assert result(cloud, execution)["amount"] == 4200
    record = record_of(cloud, charge())
    assert (record["status"], record["owner"], record["fence"], record["attempts"]) == (
        "COMPLETED",
        execution.arn,
        1,
        1,
    )
    assert record["result"] == execution.output["result"]
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_duplicate_gets_the_first_ones_response_and_starts_nothing(cloud: LocalCloud) -> None:
    first = cloud.run(charge())
    reordered = charge()
    reordered["payload"] = dict(reversed(reordered["payload"].items()))
    for request in (charge(), reordered, [charge()]):
        again = cloud.run(request)
        assert again.states == DUPLICATE
        assert again.output["disposition"] == "REPLAYED"
        assert answer(cloud, again) == answer(cloud, first)
    assert len(cloud.invocations("charge-payment")) == 1
    assert rows(cloud, "ProviderLedgerTable") == 1


DIFFERENT_PAYLOADS: list[tuple[Any, Any]] = [
    (None, ...),
    (1, "1"),
    (0.1 + 0.2, 0.3),
    ("é", "e\u0301"),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT_PAYLOADS, ids=repr)
def test_different_payload_under_the_same_key_is_refused(
    cloud: LocalCloud, plain: str, first: Any, second: Any
) -> None:
    def request(value: Any) -> dict[str, Any]:
        payload = {"secret": "first"} | ({} if value is ... else {"x": value})
        return {"operation": plain, "idempotencyKey": "k", "payload": payload}

    assert cloud.run(request(first)).output["disposition"] == "EXECUTED"
    refused = cloud.run(request(second))
    assert refused.error == "PayloadMismatch"
    assert "first" not in (refused.cause or "")
    assert cause(refused)["id"] == f"default#{plain}#k"
    [kept] = cloud.rejected()
    assert kept["input"] == request(second)
    assert kept["error"] == "PayloadMismatch"
    assert cloud.run(request(first)).output["disposition"] == "REPLAYED"


def test_request_without_optional_fields_gets_the_defaults(cloud: LocalCloud, plain: str) -> None:
    execution = cloud.run({"operation": plain, "idempotencyKey": "k", "payload": {}})
    assert execution.output["tenant"] == "default"
    assert record_of(cloud, {"operation": plain, "idempotencyKey": "k"})["onCrash"] == "retry"


def nested(levels: int, around: Callable[[Any], Any]) -> dict[str, Any]:
    """A payload with so many levels below it."""
    inner: Any = 1
    for _ in range(levels):
        inner = around(inner)
    return {"x": inner}


def without(field: str) -> dict[str, Any]:
    return {k: v for k, v in charge().items() if k != field}


REFUSED: list[tuple[str, Any, str]] = [
    ("no operation", without("operation"), "operation"),
    ("no key", without("idempotencyKey"), "idempotencyKey"),
    ("no payload", without("payload"), "payload"),
    ("empty key", charge(key=""), "idempotencyKey"),
    ("control characters in key", charge(key="a\x1b[2J\nb"), "idempotencyKey has a control character"),
    ("array as payload", charge() | {"payload": [{}]}, "payload"),
    ("hash in tenant", charge() | {"tenant": "a#b"}, "tenant"),
    ("upper case operation", charge() | {"operation": "Charge"}, "operation"),
    ("unknown field", charge() | {"idempotency_key": "x"}, "idempotency_key"),
    ("unknown onConflict", charge() | {"onConflict": "shrug"}, "onConflict"),
    ("a message with two requests", [{"body": [charge(), charge("order-2")]}], "one request"),
    ("a message within a message", [{"body": {"body": charge()}}], "unknown field body"),
    ("2,001 values", charge() | {"payload": {"x": [1] * 2_001}}, "2,000 values"),
    ("11 levels of objects", charge() | {"payload": nested(10, lambda inner: {"x": inner})}, "10 levels"),
    ("two requests", [charge(), charge("order-2")], "array of 2"),
    ("a string", "charge", "a string"),
    ("too large", charge() | {"payload": {"x": "y" * 181_000}}, "180,000 bytes"),
]


@pytest.mark.parametrize(("request_", "word"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_invalid_request_is_refused_with_the_field_named_and_kept(cloud: LocalCloud, request_: Any, word: str) -> None:
    execution = cloud.run(request_)
    assert execution.error == "InvalidRequest"
    assert word in cause(execution)["message"]
    assert execution.states == ("ReceiveRequest", "RefuseRequest", "RequestRefused")
    [kept] = cloud.rejected()
    assert kept["input"] == request_
    assert word in kept["message"]
    assert kept["executionArn"] == execution.arn


@pytest.mark.parametrize(
    "request_",
    [
        charge() | {"payload": {"x": "\ud800"}},
        charge(key="\ud83d"),
        [{"body": charge() | {"payload": {"x": ["\ud800"]}}}],
    ],
    ids=["in the payload", "in the key", "in a message"],
)
def test_half_a_character_is_refused_and_its_request_is_in_the_queue_as_text(cloud: LocalCloud, request_: Any) -> None:
    execution = cloud.run(request_)
    assert execution.error == "InvalidRequest"
    assert "surrogate" in cause(execution)["message"]
    [kept] = cloud.rejected()
    assert (kept["executionArn"], "input" in kept) == (execution.arn, False)
    sent = json.loads(json.dumps(request_))  # a pair of halves is one character
    assert json.loads(kept["inputText"]) in (sent, sent[0] if isinstance(sent, list) else sent)


@pytest.mark.parametrize(
    "text", ["😀", "\ue000", "\\ud800", '"\\\\ud800"', "\\\\ud800", ",:[{" * 10_000, '"\\' * 25_000], ids=ascii
)
def test_text_that_only_looks_like_half_a_character_or_many_values_is_taken(
    cloud: LocalCloud, plain: str, text: str
) -> None:
    request = {"operation": plain, "idempotencyKey": "k", "payload": {"bytes": 1, "text": text}}
    assert cloud.run(request).output["disposition"] == "EXECUTED"


@pytest.mark.parametrize(
    "around", [lambda inner: {"x": inner}, lambda inner: [inner, [], {}, "}{]["]], ids=["objects", "arrays"]
)
def test_payload_of_ten_levels_is_taken(cloud: LocalCloud, plain: str, around: Callable[[Any], Any]) -> None:
    request = {"operation": plain, "idempotencyKey": "k", "payload": {"bytes": 1, "deep": nested(7, around)}}
    assert cloud.run(request).output["disposition"] == "EXECUTED"


@pytest.mark.parametrize("character", ["\ufffe", "\uffff"])
def test_a_refused_request_with_an_odd_character_is_in_the_queue_as_text(cloud: LocalCloud, character: str) -> None:
    execution = cloud.run(charge() | {character: 1})
    assert execution.error == "InvalidRequest"
    [kept] = cloud.rejected()
    assert (kept["executionArn"], json.loads(kept["inputText"])) == (execution.arn, charge() | {character: 1})
    assert "unknown field ?" in kept["message"]


def test_message_of_the_queue_and_a_direct_start_are_the_same_request(cloud: LocalCloud) -> None:
    first = cloud.run([{"body": charge()}])
    again = cloud.run(charge())
    assert (first.output["disposition"], again.output["disposition"]) == ("EXECUTED", "REPLAYED")
    assert first.states == NEW


def test_refused_request_too_large_to_be_kept_is_named_by_its_execution(cloud: LocalCloud) -> None:
    execution = cloud.run(charge() | {"payload": {"x": "y" * 250_000}})
    [kept] = cloud.rejected()
    assert "input" not in kept
    described = cloud.client("stepfunctions").describe_execution(executionArn=kept["executionArn"])
    assert len(json.loads(described["input"])["payload"]["x"]) == 250_000
    assert execution.error == "InvalidRequest"


def test_longest_legal_request_is_executed(cloud: LocalCloud, plain: str) -> None:
    request = {
        "operation": plain,
        "tenant": "t" * 40,
        "idempotencyKey": "ü" * 256,
        "payload": {"x": "y" * 175_000, "return": 1},
    }
    execution = cloud.run(request)
    assert execution.output["id"] == id_of(request)
    assert result(cloud, execution) == 1


@pytest.mark.parametrize("name", ["operation", "idempotencyKey", "payload"])
def test_a_refused_request_with_a_huge_number_is_kept_by_its_execution(cloud: LocalCloud, name: str) -> None:
    request = {"operation": "charge-payment", "idempotencyKey": "k", "payload": {}, name: {"a": 0}}
    text = json.dumps(request | ({"onCrash": "never"} if name == "payload" else {})).replace(": 0", ": 1e400")
    arn = cloud.client("stepfunctions").start_execution(
        stateMachineArn=cloud.outputs["StateMachineArn"], name=f"number-{name}", input=text
    )["executionArn"]
    refused = cloud.wait(arn)
    assert refused.error == "InvalidRequest"
    [kept] = cloud.rejected()
    assert (kept["error"], kept["executionArn"], "inputOmitted" in kept) == ("InvalidRequest", arn, True)
