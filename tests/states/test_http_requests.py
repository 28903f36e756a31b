"""What the fast lane makes of what came: texts of the HTTP API, and values that no expression can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

import pytest
from one_state import NOW, STOPS_AT, State, Way

from oncekit.contract.http_request import received

States = Callable[..., State]
LEAST: dict[str, Any] = {"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "payload": {}}


def http(body: str = "{}", **texts: str) -> dict[str, Any]:
    """The input of an execution that the API started."""
    given = {"tenant": "acme", "operation": "charge", "key": "k", "prefer": "", "onConflict": "", "onCrash": ""}
    return {"http": {name: quote_plus(text) for name, text in {**given, "onFailed": "", "body": body, **texts}.items()}}


def read(fast: States, given: Any) -> Way:
    return fast("ReadRequest").maps(given)


def test_a_request_by_http_is_made_of_its_texts(fast: States) -> None:
    way = read(fast, http('{"a":[1,{"b":"ü"}]}'))
    assert way.to == "ReceiveRequest"
    assert way.output == {**LEAST, "payload": {"a": [1, {"b": "ü"}]}}
    assert {name: way.assigned["http"][name] for name in ("async", "seconds", "acknowledges")} == {
        "async": False,
        "seconds": 25,
        "acknowledges": False,
    }


def test_a_request_that_says_it_came_by_http_is_refused_in_the_full_lane(state: States) -> None:
    assert "no other field" in state("ReceiveRequest").chooses({}, http()).assigned["reason"]


@pytest.mark.parametrize("name", ["_jsonata_lambda", "_jsonata_function"])
def test_what_looks_like_a_function_beside_http_is_kept(name: str, fast: States) -> None:
    given = {**http(), name: True}
    assert read(fast, given).to == "IsSentByHttp"
    assert fast("IsSentByHttp").chooses({}, given).to == "RefuseRequest"


@pytest.mark.parametrize("beside", [{"body": {}}, {"x": 1}, LEAST], ids=list)
def test_a_member_http_with_something_beside_it_is_not_the_apis(beside: dict[str, Any], fast: States) -> None:
    """Pipes do not escape a body that is no JSON, so that it can bring members along."""
    for given in ({**beside, **http()}, [{**beside, **http()}], [beside, http()], [http()]):
        way = read(fast, given)
        assert (way.to, way.output, way.assigned["http"]) == ("ReceiveRequest", given, {})
        assert fast("ReceiveRequest").chooses({}, given).to == "IsSentByHttp"
        assert fast("IsSentByHttp").chooses({}, given).to == "RefuseRequest"
        assert received(given) == given
    assert fast("IsSentByHttp").chooses({}, http()).to == "RequestRefused"


@pytest.mark.parametrize("given", [{"http": {}}, {"http": {"key": "k"}}, {"http": "prefer"}], ids=str)
def test_a_member_http_that_the_api_did_not_write_is_refused_and_kept(given: Any, fast: States) -> None:
    way = read(fast, given)
    assert (way.to, way.output, way.assigned["http"]) == ("ReceiveRequest", given, {})
    assert "no other field" in fast("ReceiveRequest").chooses({}, given).assigned["reason"]
    assert fast("IsSentByHttp").chooses({}, given).to == "RefuseRequest"


@pytest.mark.parametrize(
    "body",
    ["", "{", "{}x", "{'a':1}", '{"a":1,}', "\ufeff{}", '{"a":1e400}', '{"a":-1e999}', '{"_jsonata_lambda":true}', "%"],
)
def test_a_body_that_cannot_be_read_is_refused(body: str, fast: States) -> None:
    way = read(fast, http(body))
    assert (way.to, set(way.assigned)) == ("IsSentByHttp", {"reason"})
    assert "its body is not JSON" in way.assigned["reason"]


def test_a_request_whose_numbers_grow_beyond_what_a_state_holds_is_refused(fast: States) -> None:
    for error in ("States.DataLimitExceeded", "States.Runtime"):
        way = fast("ReadRequest").fails(error, {}, given=http())
        assert way.to == "IsSentByHttp" and way.assigned["reason"].startswith("the payload is larger")


def test_a_request_that_takes_too_long_to_read_is_told_so(fast: States) -> None:
    """AWS ends an evaluation after one second."""
    way = fast("ReadRequest").fails("States.QueryEvaluationError", {}, "Expression evaluation timeout", given=LEAST)
    assert way.to == "IsSentByHttp" and "longer than a second" in way.assigned["reason"]


MAPS = [{"x": True}, {**LEAST, "payload": {"a": [{"x": True}]}}, [{"x": True}], [{"body": {"x": True}}]]


@pytest.mark.parametrize("name", ["_jsonata_lambda", "_jsonata_function"])
@pytest.mark.parametrize("given", MAPS, ids=str)
def test_what_looks_like_a_function_is_refused_by_name(name: str, given: Any, fast: States) -> None:
    way = read(fast, json.loads(json.dumps(given).replace('"x"', f'"{name}"')))
    assert way.to == "IsSentByHttp" and "_jsonata_lambda or _jsonata_function" in way.assigned["reason"]


@pytest.mark.parametrize("number", [float("inf"), -float("inf")])
def test_a_number_that_no_double_holds_is_refused_by_name(number: float, fast: States) -> None:
    """1e400 is read as infinity; no other number is above what a double holds."""
    for given in ({**LEAST, "payload": {"a": [{"n": number}]}}, [{"body": {"payload": {"n": number}}}], number):
        way = read(fast, given)
        assert way.to == "IsSentByHttp" and "a number that no double can hold" in way.assigned["reason"]


@pytest.mark.parametrize(
    "given",
    [
        {"n": 1.7976931348623157e308, "m": -1.7976931348623157e308},
        {"_jsonata_lambd": True, "jsonata_function": True},
        {"_jsonata_lambda": False, "a": "_jsonata_lambda", "b": ["_jsonata_function", True, "1e400"]},
        [],
        {},
        "text",
        7,
    ],
    ids=str,
)
def test_what_only_looks_like_that_goes_on_as_it_came(given: Any, fast: States) -> None:
    way = read(fast, given)
    assert (way.to, way.output, way.assigned["http"]) == ("ReceiveRequest", given, {})


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


# ---- how long it waits ----


def deadline(fast: States, at: float = NOW, patience: int = 300, **http: Any) -> Any:
    receive = fast("ReceiveRequest", at=at).with_text("$number('300')", f"$number('{patience}')")
    return receive.chooses({"http": http}, LEAST).assigned["waiting"]["deadline"]


@pytest.mark.parametrize(("patience", "most"), [(279, 279), (280, 280), (281, 280)])
def test_a_duplicate_waits_as_long_as_is_set_and_not_longer_than_its_execution_lives(
    patience: int, most: int, fast: States
) -> None:
    assert deadline(fast, patience=patience) == NOW + most
    assert deadline(fast, at=NOW + 100) == STOPS_AT - 15, "a second run may begin late"


@pytest.mark.parametrize("seconds", [0, 3, 25])
def test_a_sender_by_http_waits_for_less_than_api_gateway(seconds: int, fast: States) -> None:
    assert deadline(fast, seconds=seconds) == NOW + seconds
