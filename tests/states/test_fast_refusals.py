"""What the fast lane refuses: it keeps the request with the reason, or lets the full lane do that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from one_state import FAST_ID, State, Way
from test_patience import STARTED

from oncekit.local.engine.values import JSONataError

States = Callable[..., State]
ERRORS = ("States.Timeout", "SomethingNew")
REFUSAL = {"error": "InvalidRequest", "message": "wh\u00fd"}
BROKEN = "States.QueryEvaluationError"


def kept(fast: States, given: Any, **more: Any) -> Any:
    return fast("RefuseRequest").asks({"refusal": {**REFUSAL, **more}}, given)["MessageBody"]


def test_a_refused_request_is_kept_with_the_reason_and_its_execution(fast: States) -> None:
    said = {**REFUSAL, "executionArn": FAST_ID, "refusedAt": "2026-01-01T00:00:00.000Z"}
    for given in ({"operation": "é"}, "x" * 220_000):
        assert kept(fast, given) == {**said, "input": given}
    assert "inputText" in kept(fast, {"key": "\ud800"})


@pytest.mark.parametrize("given", ["x" * 220_001, {"key": "\ufffe", "n": 0.1 + 0.2}, {"n": float("inf")}])
def test_a_request_that_no_message_can_hold_is_kept_by_the_full_lane(given: Any, fast: States) -> None:
    with pytest.raises(JSONataError):
        kept(fast, given)
    refuse = fast("RefuseRequest")
    assert (refuse.fails(BROKEN, {}), refuse.waits(BROKEN)) == (Way("LeaveInputOut"), [])
    left_out = fast("LeaveInputOut").takes(None, {"refusal": REFUSAL})
    assert left_out == Way("RefuseInFullLane", {"refusal": {**REFUSAL, "isUnreadable": True, "isNameless": False}})


def test_a_request_that_cannot_be_passed_on_is_named_by_its_execution_and_its_sender_is_to_be_asked(
    fast: States,
) -> None:
    refuse = fast("RefuseInFullLane")
    for error in (BROKEN, "States.DataLimitExceeded", "States.Runtime"):
        unreadable = Way("RefuseRequest", {"refusal": {**REFUSAL, "isUnreadable": True}})
        assert refuse.fails(error, {"refusal": REFUSAL}) == unreadable
    assert refuse.waits(BROKEN) == []
    assert kept(fast, {"a": float("inf")}, isUnreadable=True) == {
        "error": "InvalidRequest",
        "message": "wh?",
        "executionArn": FAST_ID,
        "refusedAt": "2026-01-01T00:00:00.000Z",
        "inputOmitted": "it cannot be passed on: ask its sender",
    }


KEPT = ("error", "message", "executionArn", "refusedAt")
NAMES = {"operation": "charge", "tenant": "acme", "idempotencyKey": "ü😀"}


@pytest.mark.parametrize("around", [lambda it: it, lambda it: [it], lambda it: [{"body": it}]])
def test_who_has_to_be_asked_for_a_request_is_told_by_its_names(around: Callable[[Any], Any], fast: States) -> None:
    for broken in ({"payload": {"a": float("inf")}}, {"payload": {"_jsonata_function": True}}, {"x": float("-inf")}):
        said = kept(fast, around({**NAMES, **broken}), isUnreadable=True)
        assert {name: said.get(name) for name in NAMES} == NAMES
        assert said["error"] == "InvalidRequest" and "input" not in said
    said = kept(fast, around({**NAMES, "_jsonata_lambda": True}), isUnreadable=True)
    assert not set(NAMES) & set(said), "of what is taken for a function nothing can be read"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [None, 5, "", "x" * 257, "\ud800", "a\udfff", "\ufffe", "\uffff", {"a": 1}, ["x"]])
def test_what_is_no_name_is_left_out_and_the_others_stay(value: Any, name: str, fast: States) -> None:
    said = kept(fast, {**NAMES, name: value}, isUnreadable=True)
    assert {each: said[each] for each in NAMES if each in said} == {n: v for n, v in NAMES.items() if n != name}
    assert kept(fast, {name: "x" * 256}, isUnreadable=True)[name] == "x" * 256


@pytest.mark.parametrize("given", ["text", 5, None, [], [[]], {"body": "text"}])
def test_what_has_no_names_is_kept_without(given: Any, fast: States) -> None:
    assert not set(NAMES) & set(kept(fast, given, isUnreadable=True))


def test_a_name_that_no_expression_can_read_is_asked_for_once(fast: States) -> None:
    nameless = {**NAMES, "operation": {"_jsonata_lambda": True}}
    with pytest.raises(JSONataError):
        kept(fast, nameless, isUnreadable=True)
    known = {"refusal": {**REFUSAL, "isUnreadable": True}}
    way = fast("LeaveInputOut").takes(None, known)
    assert way.assigned["refusal"]["isNameless"] is True
    again = fast("RefuseInFullLane").fails(BROKEN, way.assigned)
    assert again == Way("RefuseRequest", way.assigned)
    assert not set(NAMES) & set(kept(fast, nameless, **way.assigned["refusal"]))
    assert kept(fast, {"body": {**NAMES}}, isUnreadable=True, isNameless=True).keys() == {*KEPT, "inputOmitted"}


def test_a_refusal_that_this_lane_cannot_keep_is_made_in_the_full_lane(fast: States, state: States) -> None:
    refuse, given = fast("RefuseInFullLane"), {"n": 1.0000000000000002}
    asks = refuse.asks({}, given)
    assert asks["Name"] == f"first-{hashlib.sha256(FAST_ID.encode()).hexdigest()[:40]}"
    assert asks["Input"] == given
    assert asks["StateMachineArn"].endswith("OperationStateMachine:live")
    assert refuse.takes({}, {}) == refuse.fails(STARTED, {}) == Way("RequestRefused")
    for error in ERRORS:
        assert refuse.fails(error, {}) == Way("RefuseRequest"), "and so on: nobody else has the request"
        assert fast("RefuseRequest").fails(error, {}) == Way("RefuseInFullLane")
        assert state("RefuseRequest").fails(error, {}) is None
