"""A refusal that is reported stays true: no send whose answer was lost is made after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError, ReadTimeoutError
from once import JSON, ConditionFailed, InvalidWriteError, LockLostError, Request, StepConflictError, WriteInDoubtError
from once.clients import client
from once.conditions import Attr
from once.step import CLOSINGS, Step
from once.step_log import LONGEST_PAUSES
from once.values import from_dynamodb
from unit.wire import (
    CONFLICT,
    SERVER_ERROR,
    TIMEOUT,
    Attempt,
    Call,
    Fate,
    Rows,
    Wire,
    answer_is_lost,
    never_arrives,
    refusal,
)

THROTTLED = refusal("ThrottlingException")
AT_WORK = never_arrives(refusal("TransactionConflictException"))
"""Closing out meets a late send."""


def sell(step: Step) -> JSON:
    step.update("stock", {"sku": "mug"}, "SET n = n - :one", {":one": 1}, condition=Attr("n").gte(1))
    return "sold"


def stock(number: int) -> None:
    client("dynamodb").put_item(TableName="stock", Item={"sku": {"S": "mug"}, "n": {"N": str(number)}})


def arrives_late(call: Call) -> None:
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        call()


def left(rows: Rows) -> int:
    [mug] = rows("stock")
    return int(mug["n"]["N"])


def steps(rows: Rows) -> dict[str, Any]:
    [record] = rows("IdempotencyTable")
    found: dict[str, Any] = from_dynamodb(record).get("steps", {})
    return found


@pytest.mark.parametrize("error", [TIMEOUT, SERVER_ERROR, THROTTLED], ids=str)
@pytest.mark.parametrize("first", [True, False], ids=["first step", "second step"])
def test_after_a_refusal_what_was_sent_before_is_refused_too(
    attempt: Attempt, rows: Rows, error: Exception, first: bool
) -> None:
    request = attempt()
    if not first:
        request.step("before", lambda step: None)
    stock(0)
    wire = Wire(never_arrives(error))
    with pytest.raises(ConditionFailed, match="step 'sell' was refused by action 1"):
        wire.log(request).run("sell", sell, "sell")
    stock(5)
    for call in wire.sent:
        arrives_late(call)
    assert left(rows) == 5
    assert "sell" not in steps(rows)


def test_a_refusal_without_a_lost_answer_costs_no_call_more(attempt: Attempt) -> None:
    request = attempt()
    stock(0)
    wire = Wire(never_arrives(CONFLICT))
    with pytest.raises(ConditionFailed):
        wire.log(request).run("sell", sell, "sell")
    assert wire.calls == ["get_item", "transact_write_items", "get_item", "transact_write_items", "get_item"]


def test_a_step_that_happens_costs_no_call_more_though_an_answer_was_lost(attempt: Attempt) -> None:
    request = attempt()
    stock(1)
    wire = Wire(never_arrives())
    assert wire.log(request).run("sell", sell, "sell") == "sold"
    assert wire.calls == ["get_item", "transact_write_items", "get_item", "transact_write_items"]


@pytest.fixture
def loses_an_answer(monkeypatch: pytest.MonkeyPatch, aws: None) -> Iterator[Callable[[str], list[str]]]:
    """Loses the answer to the first call of an operation below botocore, which sends it again by itself."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))
    events = client("dynamodb").meta.events
    answers: list[tuple[str, Callable[..., AWSResponse | None]]] = []

    def lose(operation: str) -> list[str]:
        lost: list[str] = []

        def answer(request: Any, **_: object) -> AWSResponse | None:
            if lost:
                return None
            lost.append(operation)
            return AWSResponse(request.url, 500, {}, SimpleNamespace(stream=lambda: iter((b"{}",))))

        answers.append((f"before-send.dynamodb.{operation}", answer))
        events.register_first(*answers[-1])
        return lost

    yield lose
    for each in answers:  # other tests use the same client
        events.unregister(*each)


def test_what_botocore_sent_again_by_itself_is_closed_out_too(
    attempt: Attempt, rows: Rows, loses_an_answer: Callable[[str], list[str]]
) -> None:
    request = attempt()
    stock(0)
    lost = loses_an_answer("TransactWriteItems")
    wire = Wire()
    with pytest.raises(ConditionFailed):
        wire.log(request).run("sell", sell, "sell")
    assert lost
    assert wire.calls == ["get_item", "transact_write_items", "get_item", "update_item", "get_item"]
    stock(5)
    arrives_late(wire.sent[0])
    assert left(rows) == 5


@pytest.mark.parametrize(
    ("then", "error"),
    [
        ([CONFLICT] * 99, StepConflictError),
        ([refusal("ValidationException")], InvalidWriteError),
        ([refusal("TransactionCanceledException", 400, "None", "ValidationError")], InvalidWriteError),
        ([refusal("TransactionCanceledException", 400, "None", "ItemCollectionSizeLimitExceeded")], InvalidWriteError),
    ],
    ids=["conflicts without end", "the call", "an action", "its collection"],
)
def test_any_refusal_after_a_lost_answer_is_closed_out(
    attempt: Attempt, rows: Rows, then: list[Exception], error: type[Exception]
) -> None:
    request = attempt()
    stock(5)
    wire = Wire(never_arrives(), *map(never_arrives, then))
    with pytest.raises(error):
        wire.log(request).run("sell", sell, "sell")
    arrives_late(wire.sent[0])
    assert left(rows) == 5


def test_a_late_send_that_is_made_before_the_others_are_closed_out_counts(attempt: Attempt, rows: Rows) -> None:
    request = attempt()
    stock(0)

    def comes_just_before(call: Call) -> Any:
        stock(5)
        wire.sent[0]()
        return call()

    wire = Wire(never_arrives(), update_item=[comes_just_before])
    assert wire.log(request).run("sell", sell, "sell") == "sold"
    assert left(rows) == 4
    assert attempt(2).step("sell", sell) == "sold"


def test_closing_out_waits_for_a_late_send_that_is_at_work(attempt: Attempt, rows: Rows) -> None:
    request = attempt()
    stock(0)
    wire = Wire(never_arrives(), update_item=[AT_WORK] * 2)
    with pytest.raises(ConditionFailed):
        wire.log(request).run("sell", sell, "sell")
    assert wire.pauses == [LONGEST_PAUSES[0], *LONGEST_PAUSES[:2]]
    stock(5)
    arrives_late(wire.sent[0])


def test_it_does_not_wait_for_ever(attempt: Attempt) -> None:
    request = attempt()
    stock(0)
    wire = Wire(never_arrives(), update_item=[AT_WORK] * 99)
    with pytest.raises(ClientError, match="TransactionConflictException"):
        wire.log(request).run("sell", sell, "sell")
    assert wire.pauses == [LONGEST_PAUSES[0], *LONGEST_PAUSES]


@pytest.mark.parametrize("fate", [never_arrives(), answer_is_lost(), never_arrives(refusal("AccessDeniedException"))])
def test_a_refusal_is_not_reported_while_late_sends_may_arrive(attempt: Attempt, fate: Fate) -> None:
    request = attempt()
    stock(0)
    wire = Wire(never_arrives(), update_item=[fate])
    with pytest.raises((ReadTimeoutError, ClientError)):
        wire.log(request).run("sell", sell, "sell")


def test_closing_out_that_was_sent_twice_counts_once(attempt: Attempt, rows: Rows) -> None:
    def is_sent_twice_by_the_sdk(call: Call) -> Any:
        call()
        return call()

    request = attempt()
    stock(0)
    wire = Wire(never_arrives(), update_item=[is_sent_twice_by_the_sdk])
    with pytest.raises(ConditionFailed):
        wire.log(request).run("sell", sell, "sell")
    assert steps(rows)[CLOSINGS] == {"meaning": "late sends were closed out", "result": "1"}


def test_an_attempt_that_loses_its_lock_while_it_closes_out_stops(attempt: Attempt, rows: Rows) -> None:
    request = attempt()
    stock(0)

    def is_taken_over(call: Call) -> Any:
        attempt(2)
        return call()

    wire = Wire(never_arrives(), update_item=[is_taken_over])
    with pytest.raises(LockLostError):
        wire.log(request).run("sell", sell, "sell")
    assert steps(rows) == {}


def test_after_a_refusal_the_name_is_free_and_each_refusal_is_closed_out_by_itself(
    attempt: Attempt, rows: Rows
) -> None:
    wire = Wire(never_arrives())
    log = wire.log(attempt())
    stock(0)
    with pytest.raises(ConditionFailed):
        log.run("sell", sell, "sell")
    wire.fates["transact_write_items"] = [never_arrives()]
    with pytest.raises(ConditionFailed):
        log.run("sell", sell, "sell")
    assert steps(rows)[CLOSINGS]["result"] == "2"
    stock(5)
    for call in wire.sent:
        arrives_late(call)
    assert log.run("sell", sell, "sell") == "sold"
    assert left(rows) == 4
    for call in wire.sent:
        arrives_late(call)


def test_what_a_caught_error_left_in_doubt_is_closed_out_by_the_next_refusal(attempt: Attempt, rows: Rows) -> None:
    """Business logic catches the timeout and tries the step once more."""
    wire = Wire(*[never_arrives()] * (len(LONGEST_PAUSES) + 1))
    log = wire.log(attempt())
    stock(0)
    with pytest.raises(ReadTimeoutError):
        log.run("sell", sell, "sell")
    with pytest.raises(ConditionFailed):
        log.run("sell", sell, "sell")
    stock(5)
    for call in wire.sent:
        arrives_late(call)


def test_a_refused_step_leaves_other_steps_what_they_were(attempt: Attempt, rows: Rows) -> None:
    request = attempt()
    wire = Wire()
    log = wire.log(request)
    log.run("before", lambda step: 1, "m")
    stock(0)
    wire.fates["transact_write_items"] = [never_arrives()]
    with pytest.raises(ConditionFailed):
        log.run("sell", sell, "sell")
    assert log.run("after", lambda step: 2, "m") == 2
    again = attempt(2)
    assert [again.step(name, sell, meaning="m") for name in ("before", "after")] == [1, 2]
    assert again.step("new", lambda step: 3) == 3
    assert set(steps(rows)) == {"before", "after", "new", CLOSINGS}


def test_a_step_under_way_while_late_sends_were_closed_out_is_sent_again(attempt: Attempt) -> None:
    """Two threads of one attempt, each with a step."""
    request = attempt()
    stock(0)
    other = Wire(never_arrives()).log(request)

    def comes_after_the_other_has_closed_out(call: Call) -> Any:
        with pytest.raises(ConditionFailed):
            other.run("sell", sell, "sell")
        return call()

    wire = Wire(comes_after_the_other_has_closed_out)
    assert wire.log(request).run("draw", lambda step: 7, "m") == 7


def test_closing_out_takes_nothing_from_the_room_for_results(attempt: Attempt) -> None:
    wire = Wire(never_arrives())
    log = wire.log(attempt())
    stock(0)
    with pytest.raises(ConditionFailed):
        log.run("sell", sell, "sell")
    full = 4096 - len("s-0") - len("m") - 2
    assert [log.run(f"s-{n}", lambda step: "x" * full, "m") for n in range(4)] == ["x" * full] * 4


class TestSingleWrites:
    """They have no lock to close a late send out with: so a refusal after a lost answer is not reported."""

    def test_an_update_refused_after_a_lost_answer_is_in_doubt_until_it_is_repeated(
        self, attempt: Attempt, loses_an_answer: Callable[[str], list[str]]
    ) -> None:
        stock(0)
        request = attempt()
        lost = loses_an_answer("UpdateItem")
        with pytest.raises(WriteInDoubtError, match="apply_once to stock was refused, but an earlier call of it"):
            self.sell_once(request)
        assert lost
        with pytest.raises(ConditionFailed):
            self.sell_once(request)

    def test_an_update_that_an_earlier_send_has_made_is_no_doubt(
        self, attempt: Attempt, rows: Rows, loses_an_answer: Callable[[str], list[str]]
    ) -> None:
        stock(5)
        first, second = attempt(1), attempt(2)
        assert self.sell_once(first) is True
        loses_an_answer("UpdateItem")
        assert self.sell_once(second) is False
        assert left(rows) == 4

    def test_an_item_of_anothers_met_after_a_lost_answer_is_in_doubt_and_ones_own_is_not(
        self, attempt: Attempt, loses_an_answer: Callable[[str], list[str]]
    ) -> None:
        request = attempt()
        assert request.put_once("orders", {"orderId": "mine"}) is True
        stock(1)
        loses_an_answer("PutItem")
        assert request.put_once("orders", {"orderId": "mine"}) is True
        loses_an_answer("PutItem")
        with pytest.raises(WriteInDoubtError, match="put_once into stock"):
            request.put_once("stock", {"sku": "mug"})

    def sell_once(self, request: Request) -> bool:
        return request.apply_once("stock", {"sku": "mug"}, "SET n = n - :one", {":one": 1}, condition=Attr("n").gte(1))
