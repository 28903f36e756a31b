"""The request that is picked out of an event or a body, by paths of names that stand beside it in `once`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from one_state import State, Way

from oncekit.contract.picked_request import picked

States = Callable[..., State]
ONCE: dict[str, Any] = {"operation": "charge", "key": ["id"], "payload": ["order"], "onCrash": "quarantine"}
EVENT = {"version": "0", "id": "e-1", "time": "2026-01-01T00:00:00Z", "source": "shop", "detail-type": "Paid"}
MOST = 9_007_199_254_740_991


def given(came: Any, name: str = "body", **once: Any) -> dict[str, Any]:
    return {name: came, "once": {**ONCE, **once}}


def received(state: States, asked: Any) -> Way:
    """By a pipe, whose input is an array; a rule's is none."""
    way, alone = state("ReceiveRequest").chooses({}, [asked]), state("ReceiveRequest").chooses({}, asked)
    assert (way.to, way.assigned) == (alone.to, alone.assigned)
    return way


def made(state: States, asked: Any) -> dict[str, Any]:
    way = received(state, asked)
    assert way.to == "AcquireLock", way.assigned
    request: dict[str, Any] = way.assigned["request"]
    assert picked(asked).items() <= request.items(), "commands and the page read the same in it"
    return request


def refusal(state: States, asked: Any) -> str:
    way = received(state, asked)
    assert way.to == "RefuseRequest"
    return str(way.assigned["reason"])


KEYS = {
    **{
        text: text
        for text in ("o-1", 'a"b', "a\\b", "a/b", "a\\/b", '", "once": {"operation": "a"}, "x": "', "é😀", " ")
    },
    0: "0",
    4711: "4711",
    -3: "-3",
    5.0: "5",
    1e3: "1000",
    MOST: str(MOST),
    -MOST: str(-MOST),
}


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_a_key_is_a_text_as_it_is_or_a_whole_number_in_its_digits(key: Any, state: States) -> None:
    for asked in (given({"id": key, "order": {}}), given({"id": key, "order": {}}, "event")):
        assert made(state, asked)["idempotencyKey"] == KEYS[key]


NO_KEYS = [True, [], ["k"], [7], {}, {"id": "k"}, 1.5, MOST + 1, -(MOST + 1), 1e300]


@pytest.mark.parametrize("key", NO_KEYS, ids=str)
def test_what_is_no_text_and_no_whole_number_is_no_key(key: Any, state: States) -> None:
    told = 'has no text and no whole number up to 9007199254740991 at ["id"]'
    assert refusal(state, given({"id": key, "order": {}})) == f"no key - the body {told}"
    assert refusal(state, given({"id": key, "order": {}}, "event")) == f"no key - the event {told}"


def test_a_null_is_named_where_a_key_should_be(state: States) -> None:
    assert refusal(state, given({"id": None, "order": {}})) == 'no key - the body has null at ["id"]'
    assert refusal(state, given({"id": None, "order": {}}, "event")) == 'no key - the event has null at ["id"]'
    assert refusal(state, given(None, key=[])) == "no key - the body has null at []"


@pytest.mark.parametrize("came", ["{'id': 'k'}", "", 7, None, True, [], [{"id": "k"}]], ids=str)
def test_a_body_that_is_no_json_object_is_told_as_that(came: Any, state: States) -> None:
    """A pipe passes a body that is no JSON on as a text."""
    assert refusal(state, given(came)) == 'no key - the body is no JSON object, and has nothing at ["id"]'


@pytest.mark.parametrize("came", ["text", "", 7, None, True, [], [{"a": {"id": "k"}}], {}, {"a": None}, {"a": "id"}])
@pytest.mark.parametrize("value", [None, "k", 7, False, [{"id": "k"}], [], {"ID": "k"}])
def test_a_path_that_leads_nowhere_gives_no_key(came: Any, value: Any, state: States) -> None:
    """A Choice cannot catch an expression that fails."""
    for each in (came, {"a": value}, {"a": {"b": value}}):
        for key in (["a", "id"], ["a", "b", "id"], ["a", "b", "id", "more"]):
            told = "has no text" if isinstance(each, dict) else "is no JSON object"
            assert f"no key - the body {told}" in refusal(state, given(each, key=key))


@pytest.mark.parametrize("came", ["text", 7, None, True, [], [{"a": {}}], {}, {"a": None}, {"a": "b"}, {"a": [{}]}])
def test_a_path_that_leads_to_no_object_gives_no_payload(came: Any, state: States) -> None:
    for payload in (["a"], ["a", "b"]):
        asked = given({"id": "k", "it": came}, payload=["it", *payload])
        assert refusal(state, asked) == "payload must be a JSON object"


def test_a_path_goes_by_names_whatever_is_in_them(state: States) -> None:
    names = ["detail", "a.b", "$", "", "0", 'say "x"', "a b", "é"]
    came: Any = "k"
    for name in reversed(names):
        came = {name: came, "other": 1}
    request = made(state, given(came, key=names, payload=names[:2]))
    assert request["idempotencyKey"] == "k" and request["payload"]["other"] == 1 and "$" in request["payload"]
    assert refusal(state, given(came, key=[*names, "x"])).endswith('"a b","?","x"]'), "a path is told in ASCII"


def test_a_payload_is_a_part_of_what_came_or_all_of_it(state: States) -> None:
    body = {"id": 7, "order": {"lines": [1, {"a": None}]}}
    assert made(state, given(body))["payload"] == body["order"]
    assert made(state, given(body, payload=[]))["payload"] == body
    event = {**EVENT, "detail": body}
    assert made(state, given(event, "event", payload=["detail"]))["payload"] == body


def test_the_whole_of_an_event_is_what_its_producer_sends_again(state: States) -> None:
    """Its id and time are made anew each time, which would be another payload under the key."""
    event = {**EVENT, "detail": {"no": 1}}
    request = made(state, given(event, "event", key=["detail", "no"], payload=[]))
    assert request["payload"] == {"source": "shop", "detail-type": "Paid", "detail": {"no": 1}}
    assert made(state, given(event, "event", payload=[]))["idempotencyKey"] == "e-1", "a key may be its id"


def test_what_is_picked_is_a_request_like_any_other(state: States) -> None:
    asked = given({"id": "k", "order": {"n": 1}})
    alone = {"operation": "charge", "idempotencyKey": "k", "payload": {"n": 1}, "onCrash": "quarantine"}
    taken, plain = (received(state, each).assigned for each in (asked, alone))
    assert taken == plain and taken["request"]["tenant"] == "default"
    del asked["once"]["onCrash"]
    assert made(state, asked)["onCrash"] == "retry"
    assert "operation other has no function" in refusal(state, given({"id": "k", "order": {}}, operation="other"))
    assert "onCrash must be" in refusal(state, given({"id": "k", "order": {}}, onCrash="stop"))
    assert "control character" in refusal(state, given({"id": "a\nb", "order": {}}))
    assert "1 to 256 characters" in refusal(state, given({"id": "", "order": {}}))


BESIDE = [
    *({"x": 1}, {"event": {}}, {"http": {"prefer": ""}}, {"operation": "a"}, {"idempotencyKey": "k", "payload": {}}),
]


@pytest.mark.parametrize("beside", BESIDE, ids=str)
def test_nothing_but_once_stands_beside_a_body_or_an_event(beside: Any, state: States) -> None:
    assert "beside once is a body or an event" in refusal(state, {**given({"id": "k", "order": {}}), **beside})


@pytest.mark.parametrize("event", [None, "text", 7, [], [{"id": "k"}]])
def test_an_event_is_an_object(event: Any, state: States) -> None:
    for payload in ([], ["order"]):
        assert "an event, which is an object" in refusal(state, given(event, "event", payload=payload))


ODD_PATHS = [None, "id", "$.id", 7, {}, [7], ["id", None], [["id"]], [{}]]


@pytest.mark.parametrize(
    "once",
    [
        *(None, "text", 7, [], [ONCE], {}, {**ONCE, "tenant": "other"}, {**ONCE, "idempotencyKey": "k"}),
        *({**ONCE, name: path} for name in ("key", "payload") for path in ODD_PATHS),
        *({each: ONCE[each] for each in ONCE if each != name} for name in ("key", "payload")),
    ],
    ids=str,
)
def test_once_has_an_operation_and_two_lists_of_names(once: Any, state: States) -> None:
    for asked in ({"body": {"id": "k", "order": {}}, "once": once}, {"event": {"id": "k", "order": {}}, "once": once}):
        assert "key and payload, two lists of names" in refusal(state, asked)
        assert picked(asked) == asked


def test_what_stands_beside_once_is_there(state: States) -> None:
    assert "beside once is" in refusal(state, {"once": ONCE}) and "beside once is" in refusal(
        state, {"x": 1, "once": ONCE}
    )


def test_half_of_a_character_matters_in_what_is_picked_only(state: States) -> None:
    assert made(state, given({"id": "k", "order": {}, "note": "\ud800"}))["payload"] == {}
    for came in ({"id": "k\ud800", "order": {}}, {"id": "k", "order": {"\udfff": 1}}):
        assert "half of a surrogate pair" in refusal(state, given(came))


def test_the_fast_lane_picks_and_refuses_alike(state: States, fast: States) -> None:
    good, no_key = given({"id": 7, "order": {}}), given({"id": None, "order": {}})
    for asked in (good, no_key, {**good, "x": 1}, given("no JSON"), given("text", "event")):
        read = fast("ReadRequest").maps([asked])
        assert (read.to, read.output) == ("ReceiveRequest", [asked])
        way, full = fast("ReceiveRequest").chooses({}, [asked]), received(state, asked)
        assert way.to == {"AcquireLock": "ReadRecord", "RefuseRequest": "IsSentByHttp"}[str(full.to)]
        assert all(way.assigned[name] == full.assigned[name] for name in {"request", "reason"} & full.assigned.keys())
