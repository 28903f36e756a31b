"""What the fast lane makes of a request, where that is not what the full lane makes of it."""

from __future__ import annotations

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


def test_a_request_is_the_same_in_both_lanes_but_for_where_it_is_kept(fast: States, state: States) -> None:
    for given in (LEAST, [{"body": {**LEAST, "onConflict": "wait", "onCrash": "quarantine", "onFailed": "retry"}}]):
        one, other = (lane("ReceiveRequest").chooses({}, given).assigned["request"] for lane in (fast, state))
        assert one.pop("kept") != other.pop("kept")
        assert one == other


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
