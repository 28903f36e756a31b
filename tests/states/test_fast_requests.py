"""What the fast lane makes of a request, where that is not what the full lane makes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from one_state import FAST, FAST_ID, NOW, STOPS_AT, Lane, State, Way

from oncekit.local.engine.values import JSONataError

States = Callable[..., State]
BEFORE = Lane(FAST.execution, {})
"""An execution of the fast lane at its very beginning."""

LEAST: dict[str, Any] = {"operation": "charge", "tenant": "acme", "idempotencyKey": "k", "payload": {}}
ID_BYTES = len("acme#charge#k")
TOO_LARGE_A_NUMBER = float("inf")
"""What 1e400 is read as; no other number is above what a double holds."""


def received(fast: States, given: Any) -> Way:
    return fast("ReceiveRequest").chooses({}, given)


def kept(fast: States, given: Any) -> dict[str, Any]:
    way = received(fast, given)
    assert way.to == "ReadRecord", way
    found: dict[str, Any] = way.assigned["request"]["kept"]
    return found


def sized(bytes: int) -> dict[str, Any]:
    """A request whose text has so many bytes."""
    empty = {**LEAST, "payload": {"a": ""}}
    return {**LEAST, "payload": {"a": "x" * (bytes - len(json.dumps(empty, separators=(",", ":"))))}}


def test_the_fast_lane_reads_before_it_writes(fast: States, state: States) -> None:
    assert received(fast, LEAST).to == "ReadRecord"
    assert state("ReceiveRequest").chooses({}, LEAST).to == "AcquireLock"


def test_a_request_is_the_same_in_both_lanes_but_for_where_it_is_kept(fast: States, state: States) -> None:
    for given in (LEAST, [{"body": {**LEAST, "onConflict": "wait", "onCrash": "quarantine", "onFailed": "retry"}}]):
        one, other = (lane("ReceiveRequest").chooses({}, given).assigned["request"] for lane in (fast, state))
        assert one.pop("kept") != other.pop("kept")
        assert one == other


def test_an_execution_of_the_fast_lane_knows_when_it_ends(fast: States) -> None:
    known = received(fast, LEAST).assigned
    del known["request"], known["me"]
    assert known == {
        "stopsAt": STOPS_AT,
        "isKept": False,
        "isUnread": False,
        "refusal": {},
        "gaveUp": False,
        "handedOver": False,
        "failedFence": "",
        "record": {},
        "ran": False,
        "isFirst": True,
        "throttled": False,
        "backOffSeconds": 4,
        "wait": {"deadline": STOPS_AT - 15, "seconds": 1},
        "history": {"pageSize": 40, "pages": 0, "succeeded": False, "decided": False},
        "redriveRefused": False,
    }


def test_a_run_that_begins_late_ends_when_its_execution_does(fast: States) -> None:
    late = fast("ReceiveRequest", at=NOW + 100).chooses({}, LEAST).assigned
    assert (late["stopsAt"], late["wait"]["deadline"]) == (STOPS_AT, STOPS_AT - 15)


@pytest.mark.parametrize(("patience", "deadline"), [(279, 279), (280, 280), (281, 280)])
def test_a_duplicate_waits_as_long_as_is_set_and_not_longer_than_its_execution_lives(
    patience: int, deadline: int, fast: States
) -> None:
    receive = fast("ReceiveRequest")
    known = receive.with_text("$number('300')", f"$number('{patience}')").chooses({}, LEAST).assigned
    assert known["wait"]["deadline"] == NOW + deadline


def test_two_runs_of_one_execution_are_two_owners(fast: States) -> None:
    receive = fast("ReceiveRequest")
    one, other = (receive.chooses({}, LEAST).assigned["me"] for _ in range(2))
    assert one.startswith(f"{FAST_ID}:") and other.startswith(f"{FAST_ID}:")
    assert len(one) == len(FAST_ID) + 1 + 36
    assert one != other


# ---- what nobody could look up ----


def looked_at(fast: States, given: Any) -> Way | None:
    check = fast("CheckReadable")
    try:
        assert len(check.value("Items", {}, given)) == 1
        return check.takes([{}], {}, given)
    except JSONataError:
        return check.fails("States.QueryEvaluationError", {}, given=given)


def test_a_request_is_looked_at_once_where_a_catch_sees_it_fail(fast: States, state: States) -> None:
    assert fast("ReceiveRequest", lane=BEFORE).chooses({}, LEAST) == Way("CheckReadable")
    assert looked_at(fast, LEAST) == Way("ReceiveRequest", {"isReadable": True}, LEAST)
    assert state("ReceiveRequest").chooses({}, LEAST).to == "AcquireLock"


def test_a_second_execution_refuses_what_the_first_may_have_died_of(
    state: States,
) -> None:
    again = f"again-{'0f' * 20}"
    receive, check = state("ReceiveRequest"), state("CheckReadable")
    assert receive.chooses({}, {"payload": {"n": TOO_LARGE_A_NUMBER}}, name=again) == Way("CheckReadable")
    assert receive.chooses({"isReadable": True}, LEAST, name=again).to == "AcquireLock"
    for other in (f"x{again}", f"{again}0", f"again-{'0g' * 20}", f"handover-{'0f' * 20}"):
        assert receive.chooses({}, LEAST, name=other).to == "AcquireLock"
    for error in ("States.QueryEvaluationError", "States.DataLimitExceeded", "States.Runtime", "SomethingNew"):
        way = check.fails(error, {}, given=LEAST)
        assert way is not None and way.to == "RefuseRequest"
        assert "fast lane" not in way.assigned["refusal"]["message"]
        assert "the full lane" not in way.assigned["refusal"]["message"]


@pytest.mark.parametrize("name", ["_jsonata_lambda", "_jsonata_function"])
@pytest.mark.parametrize(
    "given", [{"x": True}, {"payload": {"a": [{"x": True}]}}, [{"x": True}], [{"body": {"x": True}}]]
)
def test_what_looks_like_a_function_is_refused_by_the_full_lane(name: str, given: Any, fast: States) -> None:
    way = looked_at(fast, json.loads(json.dumps(given).replace('"x"', f'"{name}"')))
    assert way is not None
    refusal = way.assigned["refusal"]
    assert (way.to, refusal["error"], refusal["isUnreadable"]) == ("RefuseInFullLane", "InvalidRequest", True)
    assert "_jsonata_lambda or _jsonata_function" in refusal["message"]


@pytest.mark.parametrize("number", [TOO_LARGE_A_NUMBER, -TOO_LARGE_A_NUMBER])
def test_a_number_that_no_double_holds_is_refused_by_the_full_lane(number: float, fast: States) -> None:
    for given in ({**LEAST, "payload": {"a": [{"n": number}]}}, [{"body": {"payload": {"n": number}}}], number):
        way = looked_at(fast, given)
        assert way is not None
        assert (way.to, way.assigned["refusal"]["error"]) == ("RefuseInFullLane", "InvalidRequest")
        assert "a number that no double can hold" in way.assigned["refusal"]["message"]


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
)
def test_what_only_looks_like_that_is_checked_here(given: Any, fast: States) -> None:
    assert looked_at(fast, given) == Way("ReceiveRequest", {"isReadable": True}, given)


def test_what_is_refused_by_a_field_is_refused_in_the_fast_lane_itself(fast: States) -> None:
    way = received(fast, {**LEAST, "idempotencyKey": ""})
    assert (way.to, way.assigned["refusal"]["error"]) == ("RefuseRequest", "InvalidRequest")


EVERYWHERE = ("$string(", "$number(", "$abs(", "$type(", "$sort(", "$keys(", "$replace(", "$length(", "$hash(")
"""What ReceiveRequest does with every value of a request, or with all of its text, in either lane."""


@pytest.mark.parametrize("function", EVERYWHERE)
def test_a_whole_request_is_evaluated_where_a_catch_sees_it(function: str, fast: States) -> None:
    receive, check = (fast(name).with_text(function, "$error(") for name in ("ReceiveRequest", "CheckReadable"))
    given = {**LEAST, "payload": {"b": [1.5], "a": "x"}}
    with pytest.raises(JSONataError):
        receive.chooses({}, given)
    with pytest.raises(JSONataError):
        check.value("Items", {}, given)


def test_each_value_of_a_request_and_all_of_its_text_are_looked_at(fast: States) -> None:
    given = {"payload": {"b": [0.1, 1e300, 1.5e300, -1.5e300, None, True], "a": "é"}}
    values = "payload, a b, 0.1~0, 1e+300~0, 1.46484375e+297~0, -1.46484375e+297~0, null, boolean, string"
    text = '{"payload":{"b":[0.1,1e+300,1.5e+300,-1.5e+300,null,true],"a":"é"}}'
    [found] = fast("CheckReadable").value("Items", {}, given)
    assert found == hashlib.sha256(f"{values}{len(text) + 3}{text}".encode()).hexdigest()


@pytest.mark.parametrize("error", ["States.DataLimitExceeded", "States.Runtime", "States.Timeout", "SomethingNew"])
def test_a_request_that_the_full_lane_may_be_able_to_read_is_not_called_invalid(error: str, fast: States) -> None:
    way = fast("CheckReadable").fails(error, {}, given=LEAST)
    assert way is not None
    refusal = way.assigned["refusal"]
    assert (way.to, refusal["error"], "isUnreadable" in refusal) == ("RefuseInFullLane", "Unavailable", False)
    assert "the full lane decides" in refusal["message"] and "with the same key" in refusal["message"]


# ---- where a request is kept while nobody can ask its execution ----


@pytest.mark.parametrize("given", [LEAST, [LEAST], {"body": LEAST}, {**LEAST, "payload": {"a": "é😀", "n": 1.25}}])
def test_a_small_request_is_kept_in_the_record_as_it_came(given: Any, fast: States) -> None:
    found = kept(fast, given)
    assert {name: found[name] for name in ("as", "not")} == {"as": "request", "not": "requestRef"}
    assert [*found["value"]] == ["S"]
    assert json.loads(found["value"]["S"]) == given


def test_a_request_that_does_not_fit_beside_an_answer_is_kept_in_the_bucket(fast: States) -> None:
    most = 4096 - 1024 - ID_BYTES
    assert kept(fast, sized(most))["as"] == "request"
    assert kept(fast, sized(most + 1))["as"] == "requestRef"
    wide = sized(most - 4)
    wide["payload"]["a"] = wide["payload"]["a"] + "é"
    assert kept(fast, wide)["as"] == "request", "a character outside of ASCII counts as four"
    wide["payload"]["a"] += "x"
    assert kept(fast, wide)["as"] == "requestRef"


def test_what_fits_beside_an_answer_is_what_the_stack_says(fast: States) -> None:
    receive = fast("ReceiveRequest").with_text("$number('4096')", "$number('1200')")
    most = 1200 - 1024 - ID_BYTES
    for bytes, to in ((most, "request"), (most + 1, "requestRef")):
        assert receive.chooses({}, sized(bytes)).assigned["request"]["kept"]["as"] == to


@pytest.mark.parametrize("number", [1234567890.1234567, 0.1 + 0.2, 1.0000000000000002])
def test_a_request_that_would_be_rounded_is_kept_in_the_bucket(number: float, fast: States) -> None:
    found = kept(fast, {**LEAST, "payload": {"n": number}})
    assert (found["as"], found["not"]) == ("requestRef", "request")


def test_a_request_in_the_bucket_is_named_by_its_execution(fast: States, definitions: dict[str, Any]) -> None:
    bucket = definitions["fast"]["States"]["KeepInFlight"]["Arguments"]["Bucket"]
    hashed = hashlib.sha256(b"acme#charge#k").hexdigest()
    execution = hashlib.sha256(FAST_ID.encode()).hexdigest()[:16]
    reference = kept(fast, sized(5000))["value"]
    key = f"inflight/acme/{hashed}/{execution}.json"
    assert reference == {"M": {"bucket": {"S": bucket}, "key": {"S": key}}}
    without = {name: value for name, value in sized(5000).items() if name != "tenant"}
    assert kept(fast, without)["value"]["M"]["key"]["S"].startswith("inflight/default/")
