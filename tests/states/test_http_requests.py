"""What the fast lane makes of what the HTTP API passes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

import pytest
from one_state import FAST, NOW, Lane, State, Way

from oncekit.local.engine.values import JSONataError
from oncekit.local.http_request import received

States = Callable[..., State]
BEGUN = Lane(FAST.execution, {"isReadable": True})
"""An execution of the fast lane that has looked at its input, and read nothing of it."""


def http(body: str = "{}", **texts: str) -> dict[str, Any]:
    """The input of an execution that the API started."""
    given = {"tenant": "acme", "operation": "charge", "key": "k", "prefer": "", "onConflict": "", "onCrash": ""}
    return {"http": {name: quote_plus(text) for name, text in {**given, "onFailed": "", "body": body, **texts}.items()}}


def read(fast: States, given: Any) -> Way:
    """The way of ReadHttpRequest, whose one branch gives what it gets."""
    state = fast("ReadHttpRequest", lane=BEGUN)
    try:
        return state.takes(state.value("Items", {}, given), {}, given)
    except JSONataError:
        way = state.fails("States.QueryEvaluationError", {}, given=given)
        assert way is not None
        return way


def test_a_request_by_http_is_read_in_the_fast_lane_only(fast: States, state: States) -> None:
    assert fast("ReceiveRequest", lane=BEGUN).chooses({}, http()).to == "ReadHttpRequest"
    way = read(fast, http('{"a":[1,{"b":"ü"}]}'))
    request = {"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "payload": {"a": [1, {"b": "ü"}]}}
    usual = {"async": False, "seconds": 25, "acknowledges": False}
    assert way == Way("ReceiveRequest", {"received": request, "http": usual}, request)
    known = {"received": request, "http": usual}
    assert fast("ReceiveRequest").chooses(known, request).to == "ReadRecord"
    again = fast("ReceiveRequest").chooses(known, {**request, "http": {}})
    assert "unknown field http" in again.assigned["refusal"]["message"]
    assert "unknown field http" in state("ReceiveRequest").chooses({}, http()).assigned["refusal"]["message"]


@pytest.mark.parametrize(
    "body",
    ["", "{", "{}x", "{'a':1}", '{"a":1,}', "\ufeff{}", '{"a":1e400}', '{"a":-1e999}', '{"_jsonata_lambda":true}', "%"],
)
def test_a_body_that_cannot_be_read_is_refused_with_what_came(body: str, fast: States) -> None:
    way = read(fast, http(body))
    assert (way.to, way.assigned["refusal"]["error"]) == ("RefuseRequest", "InvalidRequest")
    assert "the body is not JSON" in way.assigned["refusal"]["message"]
    assert set(way.assigned) == {"refusal"}


def test_a_body_whose_numbers_grow_beyond_what_a_state_holds_is_refused(fast: States) -> None:
    way = fast("ReadHttpRequest", lane=BEGUN).fails("States.DataLimitExceeded", {}, given=http())
    assert way is not None
    assert way.to == "RefuseRequest" and way.assigned["refusal"]["message"].startswith("the request is larger")


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("order-1", "order-1"),
        ('"order-1"', "order-1"),
        ('"a\\"b\\\\c"', 'a"b\\c'),
        ('a"b', 'a"b'),
        ("a+b %41#", "a+b %41#"),
        ('""', ""),
        ('"', ""),
        ('"a', ""),
        ('"a"b"', ""),
        ('"a\\x"', ""),
        ("é", ""),
        ("", ""),
    ],
)
def test_a_key_is_plain_or_quoted_and_one_that_is_neither_is_empty(header: str, key: str, fast: States) -> None:
    assert read(fast, http(key=header)).output["idempotencyKey"] == key
    assert received(http(key=header))["idempotencyKey"] == key


@pytest.mark.parametrize(
    ("prefer", "expected"),
    [
        ("", (False, 25, False, None)),
        ("wait=7", (False, 7, True, "wait")),
        ("WAIT = 7; x, foo", (False, 7, True, "wait")),
        ("wait=0", (False, 0, True, "wait")),
        ("wait=9999999", (False, 25, False, None)),
        ("wait=900", (False, 25, True, "wait")),
        ("wait=x", (False, 25, False, None)),
        ("respond-async", (True, 25, False, None)),
        ("return=minimal, Respond-Async, wait=3", (True, 3, True, None)),
        ("respond-asynchronously", (False, 25, False, None)),
    ],
)
def test_what_a_sender_prefers_is_read_as_the_rfc_writes_it(
    prefer: str, expected: tuple[bool, int, bool, str | None], fast: States
) -> None:
    way = read(fast, http(prefer=prefer))
    told = way.assigned["http"]
    assert (told["async"], told["seconds"], told["acknowledges"], way.output.get("onConflict")) == expected
    assert received(http(prefer=prefer)) == way.output


def test_the_headers_of_a_policy_are_its_fields_and_go_before_what_is_preferred(fast: States) -> None:
    policy = {"onConflict": "reject", "onCrash": "quarantine", "onFailed": "retry"}
    given = http(prefer="wait=3", **policy)
    assert {name: read(fast, given).output[name] for name in policy} == policy
    assert received(given) == read(fast, given).output


def test_a_sender_by_http_waits_for_less_than_api_gateway(fast: States) -> None:
    request = read(fast, http()).output
    for seconds in (0, 3, 25):
        known = {"received": request, "http": {"async": False, "seconds": seconds, "acknowledges": True}}
        assert fast("ReceiveRequest").chooses(known, request).assigned["wait"]["deadline"] == NOW + seconds


@pytest.mark.parametrize(("acknowledges", "to"), [(True, "AcknowledgeDuplicate"), (False, "OperationInProgress")])
def test_who_prefers_to_wait_is_told_that_it_goes_on(acknowledges: bool, to: str, fast: States) -> None:
    over = {"wait": {"deadline": NOW - 1, "seconds": 1}, "http": {"acknowledges": acknowledges}}
    assert fast("IsWaitOver").chooses(over).to == to
    assert fast("IsWaitOver").chooses({**over, "wait": {"deadline": NOW, "seconds": 1}}).to == "ReadRecord"
    assert fast("IsWaitOver").chooses({"wait": over["wait"]}).to == "OperationInProgress"


@pytest.mark.parametrize(
    ("error", "message", "status", "left"),
    [
        ("PermanentError", "[402] declined", 402, "declined"),
        ("PermanentError", "[499] x", 499, "x"),
        ("PermanentError", "[500] x", 0, "[500] x"),
        ("PermanentError", "[402]x", 0, "[402]x"),
        ("PermanentError", "x [402] y", 0, "x [402] y"),
        ("RuntimeError", "[402] x", 0, "[402] x"),
    ],
)
def test_the_status_of_a_permanent_error_is_taken_off_its_message_and_kept(
    error: str, message: str, status: int, left: str, state: States
) -> None:
    cause = json.dumps({"errorMessage": message, "errorType": error, "stackTrace": ['"errorMessage":"[444] x"']})
    way = state("ExecuteBusinessLogic").fails(error, {"ran": False, "backOffSeconds": 4}, cause)
    assert way is not None
    failure = way.assigned["failure"]
    assert (failure["name"], failure["status"], failure["message"]) == (error, status, left)
    request, lock = {"id": "a#b#c"}, {"fence": 1}
    written = state("RecordFailure").asks({"failure": failure, "request": request, "lock": lock})
    stored = written["ExpressionAttributeValues"][":error"]["M"]
    assert stored.get("status") == ({"N": str(status)} if status else None)
    told = json.loads(state("OperationFailed").value("Cause", {"failure": failure, "request": request}))
    assert (told.get("status"), told["message"]) == (status or None, left)
