"""What business logic is given, what is made of its answer, and what the one who asked is told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import ME, NOW, State, Way

States = Callable[..., State]

ID = "acme#charge#k"
REQUEST = {
    "id": ID,
    "idBytes": len(ID),
    "idHash": "a" * 64,
    "shard": "a",
    "operation": "charge",
    "tenant": "acme",
    "idempotencyKey": "k",
    "payload": {"n": 1},
    "onCrash": "retry",
}
LOCK = {"fence": 3, "attempts": 2, "leaseExpiresAt": NOW + 95, "onCrash": "retry"}
SAID = {"id": ID, "operation": "charge", "tenant": "acme", "idempotencyKey": "k"}
TOKEN = "3f0e8c1a-0000-4000-8000-000000000000"
OBJECT = f"acme/{'a' * 64}/3-{hashlib.sha256(ME.encode()).hexdigest()[:16]}.json"
REF = {"bucket": "once-responsebucket", "key": f"responses/30d/{OBJECT}", "sha256": "0f" * 32, "bytes": 70000}
STORED_REF = {
    "M": {
        "bucket": {"S": REF["bucket"]},
        "key": {"S": REF["key"]},
        "sha256": {"S": REF["sha256"]},
        "bytes": {"N": "70000"},
    }
}
INLINE = 4096


def test_business_logic_is_given_the_request_its_attempt_and_its_lock(
    state: States, definitions: dict[str, dict[str, Any]]
) -> None:
    named = {**REQUEST, "function": "my-app-Charge-1A2B:live"}
    call = state("ExecuteBusinessLogic").asks({"request": named, "lock": LOCK, "replyToken": TOKEN})
    table = definitions["operation"]["States"]["AcquireLock"]["Arguments"]["TableName"]
    assert call["Payload"] == {
        "operation": "charge",
        "tenant": "acme",
        "idempotencyKey": "k",
        "payload": {"n": 1},
        "attempt": 2,
        "retentionDays": 30,
        "responseBucket": definitions["operation"]["States"]["KeepRequest"]["Arguments"]["Bucket"],
        "replyToken": TOKEN,
        "lock": {"table": table, "id": ID, "owner": ME, "fence": 3, "leaseExpiresAt": NOW + 95},
    }
    assert (call["FunctionName"], "Qualifier" in call) == ("my-app-Charge-1A2B:live", False)


@pytest.mark.parametrize(
    ("operation", "is_alone"), [("bill", True), ("as-it-was", True), ("as-it", False), ("", False)]
)
def test_a_function_that_was_there_before_once_is_given_its_payload_alone(
    state: States, operation: str, is_alone: bool
) -> None:
    request = {**REQUEST, "operation": operation, "function": "mine"}
    call = state("ExecuteBusinessLogic").asks({"request": request, "lock": LOCK, "replyToken": TOKEN})
    assert (call["Payload"] == {"n": 1}) is is_alone and call["FunctionName"] == "mine"


def answered(state: States, reply: Any) -> Any:
    """What is kept of a function's reply."""
    known = {"request": REQUEST, "lock": LOCK, "replyToken": TOKEN}
    way = state("ExecuteBusinessLogic").takes({"Payload": reply}, known)
    assert (way.to, way.assigned["ran"]) == ("IsResponseLarge", True)
    return way.assigned["answer"]


def test_the_librarys_own_text_is_kept_as_it_is(state: States) -> None:
    for text in ('{"n": 1.10}', "[1"):
        assert answered(state, {"onceResult": text, "replyToken": TOKEN}) == {"text": text, "inline": True}
    assert answered(state, {"onceResultRef": REF, "replyToken": TOKEN}) == {"resultRef": REF}


@pytest.mark.parametrize(
    "reply",
    [
        {"onceResult": 1},
        {"onceResult": "1"},
        {"onceResultRef": REF},
        {"onceResult": 1, "replyToken": TOKEN},
        {"onceResult": "1", "more": 1},
        {"onceResult": "1", "replyToken": "guessed"},
        {"onceResult": "1", "replyToken": None},
        {"onceResult": "1", "replyToken": [TOKEN]},
        {"onceResult": "1", "replyToken": TOKEN, "more": 1},
        {"operation": "charge", "payload": {"onceResult": "1"}, "replyToken": TOKEN},
        {"payload": {"onceResult": "1"}, "replyToken": TOKEN},
        {"onceResultRef": REF, "replyToken": "guessed"},
        {"replyToken": TOKEN},
        {"onceResultRef": "k"},
        {"onceResultRef": REF, "more": 1},
        {"other": "1"},
        {"a": {"onceResult": "1"}},
        [{"onceResult": "1"}],
        [{"onceResultRef": REF}],
        [],
        [1, "x", None],
        {},
        True,
        None,
        "",
        'a "text" with \\ and \n',
        0,
        -1.5,
        {"n": None},
    ],
)
def test_the_reply_of_a_function_that_knows_nothing_of_once_is_kept_as_text(reply: Any, state: States) -> None:
    kept = answered(state, reply)
    assert (json.loads(kept["text"]), kept["inline"]) == (reply, True)


OTHERS = "responses/30d/acme/" + "b" * 64 + "/3-" + "0" * 16 + ".json"


@pytest.mark.parametrize(
    "changed",
    [
        {"bucket": "company-backups"},
        {"bucket": None},
        {"key": "k"},
        {"key": OTHERS},
        {"key": f"requests/{OBJECT}"},
        {"key": f"responses/31d/{OBJECT}"},
        {"key": f"responses/{OBJECT}"},
        {"key": f"responses/30d/victim{OBJECT[4:]}"},
        {"key": f"responses/30d/{OBJECT.replace('/3-', '/4-')}"},
        {"key": f"{REF['key']}x"},
        {"key": ""},
        {"key": [REF["key"]]},
        {"sha256": "0f" * 31},
        {"sha256": "0F" * 32},
        {"sha256": "x" + "0f" * 32},
        {"sha256": "0f" * 32 + "x"},
        {"sha256": "0f" * 32 + "\n"},
        {"sha256": 7},
        {"bytes": 0},
        {"bytes": -1},
        {"bytes": 1.5},
        {"bytes": 1e15},
        {"bytes": "70000"},
        {"bytes": None},
        {"more": 1},
    ],
    ids=str,
)
def test_a_reference_to_anything_but_this_attempts_own_object_is_data(changed: dict[str, Any], state: States) -> None:
    reply = {"onceResultRef": {**REF, **changed}, "replyToken": TOKEN}
    kept = answered(state, reply)
    assert (set(kept), json.loads(kept["text"])) == ({"text", "inline"}, reply)
    for missing in REF:
        less = {"onceResultRef": {name: value for name, value in REF.items() if name != missing}, "replyToken": TOKEN}
        assert json.loads(answered(state, less)["text"]) == less


def test_a_reference_is_that_of_the_fence_of_its_attempt(state: States) -> None:
    def kept(fence: int) -> Any:
        known = {"request": REQUEST, "lock": {**LOCK, "fence": fence}, "replyToken": TOKEN}
        reply = {
            "Payload": {"onceResultRef": {**REF, "key": str(REF["key"]).replace("/3-", "/12-")}, "replyToken": TOKEN}
        }
        return state("ExecuteBusinessLogic").takes(reply, known).assigned["answer"]

    assert ("resultRef" in kept(12), "resultRef" in kept(3)) == (True, False)


def test_a_reply_whose_text_would_not_be_exact_is_kept_as_it_came(state: States) -> None:
    for number in (0.12345678901234568, 12345678901234568):
        assert answered(state, {"n": number}) == {"value": {"n": number}, "inline": False}


ROOM = INLINE - 1024 - len(ID)


@pytest.mark.parametrize(("size", "fits"), [(ROOM, True), (ROOM + 1, False)])
def test_a_record_with_its_answer_and_its_id_stays_within_the_inline_limit(
    size: int, fits: bool, state: States
) -> None:
    text = json.dumps("x" * (size - 2))
    assert answered(state, {"onceResult": text, "replyToken": TOKEN}) == {"text": text, "inline": fits}
    plain = answered(state, "x" * (size - 2))
    assert plain == ({"text": text, "inline": True} if fits else {"value": "x" * (size - 2), "inline": False})


def test_a_character_outside_ascii_counts_as_four_bytes(state: States) -> None:
    for text, fits in (("é" * (ROOM // 4), True), ("é" * (ROOM // 4 + 1), False), ("~ " * (ROOM // 2), True)):
        assert answered(state, {"onceResult": text, "replyToken": TOKEN})["inline"] is fits


@pytest.mark.parametrize(
    ("answer", "to"),
    [
        ({"resultRef": REF}, "Finalize"),
        ({"text": "1", "inline": True}, "Finalize"),
        ({"text": "1", "inline": False}, "CacheResponse"),
        ({"value": 1, "inline": False}, "CacheResponse"),
    ],
)
def test_only_what_is_large_or_not_exact_goes_to_the_bucket(answer: dict[str, Any], to: str, state: States) -> None:
    assert state("IsResponseLarge").chooses({"answer": answer}).to == to


def test_a_result_for_the_bucket_is_named_by_its_lock_and_handed_over_as_it_is(state: States) -> None:
    cache = state("CacheResponse")
    lock = {"id": ID, "tenant": "acme", "fence": 3, "owner": ME, "responseBucket": REF["bucket"], "retentionDays": 30}

    def handed_over(answer: dict[str, Any]) -> Any:
        return cache.asks({"request": REQUEST, "lock": LOCK, "answer": answer})["Payload"]

    assert handed_over({"text": "1.10", "inline": False}) == {**lock, "text": "1.10"}
    for value in ({"n": 0.1}, None, "", []):
        assert handed_over({"value": value, "inline": False}) == {**lock, "value": value}
    assert cache.takes({"Payload": REF}, {}) == Way("Finalize", {"answer": {"resultRef": REF}})


def test_a_duplicate_is_told_the_stored_result_and_in_which_attempt_it_came(state: States) -> None:
    replay = state("ReturnStoredResponse")
    said = {"disposition": "REPLAYED", "attempt": 3, **SAID}
    record = {"attempts": {"N": "3"}}
    stored = {"request": REQUEST, "record": {**record, "result": {"S": "1.10"}}}
    assert replay.value("Output", stored) == {**said, "result": "1.10"}
    large = {"request": REQUEST, "record": {**record, "resultRef": STORED_REF}}
    assert replay.value("Output", large) == {**said, "resultRef": REF}


@pytest.mark.parametrize("name", ["OperationFailed", "NeedsAttention"])
def test_an_error_is_told_by_name_and_message(name: str, state: States) -> None:
    end = state(name)
    cause = end.value("Cause", {"request": REQUEST, "failure": {"name": "E", "message": "m"}})
    assert (end.raw["Error"], json.loads(cause)) == (name, {"id": ID, "name": "E", "message": "m"})


def test_a_refusal_names_the_id_where_there_is_one(state: States) -> None:
    refused, refusal = state("RequestRefused"), {"error": "InvalidRequest", "message": "why"}
    assert refused.value("Error", {"refusal": refusal}) == "InvalidRequest"
    assert json.loads(refused.value("Cause", {"refusal": refusal})) == {"message": "why"}
    assert json.loads(refused.value("Cause", {"refusal": refusal, "request": REQUEST})) == {"id": ID, "message": "why"}


def kept(state: States, given: Any, message: str = "why") -> Any:
    known = {"refusal": {"error": "InvalidRequest", "message": message}}
    return state("RefuseRequest").asks(known, given)["MessageBody"]


@pytest.mark.parametrize(("size", "is_kept"), [(220_000, True), (220_001, False)])
def test_a_request_too_large_for_the_queue_is_named_by_its_execution(size: int, is_kept: bool, state: States) -> None:
    told = kept(state, "x" * size)
    assert ("input" in told) is is_kept
    assert ("inputOmitted" in told) is not is_kept
