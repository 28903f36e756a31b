"""A step happens once, whoever tries it how often and however late; and a step that is wrong says so."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from once import JSON, ConditionFailed, InvalidWriteError, LockLostError, StepConflictError, StepMismatchError
from once.clients import client
from once.conditions import Attr
from once.step import Step
from once.step_log import LONGEST_PAUSES
from once.values import from_dynamodb, to_dynamodb
from unit.wire import CONFLICT, SERVER_ERROR, TIMEOUT, Attempt, Call, Rows, Wire, answer_is_lost, never_arrives, refusal


def order(step: Step) -> JSON:
    step.put("orders", {"orderId": "o-1", "total": 12.5}, condition=Attr("orderId").not_exists())
    step.update("stock", {"sku": "mug"}, "ADD sold :one", {":one": 1})
    return {"orderId": "o-1"}


def sell(step: Step) -> JSON:
    """A step with no condition of its own: nothing but the record keeps it from happening twice."""
    step.update("stock", {"sku": "mug"}, "ADD sold :one", {":one": 1})
    return "sold"


ACTIONS: dict[str, Callable[..., None]] = {
    "Put": lambda step, key, table="stock", **options: step.put(table, key, **options),
    "Update": lambda step, key, table="stock", **options: step.update(
        table, key, "SET sold = :one", {":one": 1}, **options
    ),
    "Delete": lambda step, key, table="stock", **options: step.delete(table, key, **options),
    "ConditionCheck": lambda step, key, table="stock", **options: step.check(table, key, **options),
}


def refuse_to_be_called(step: Step) -> JSON:
    raise AssertionError("a step that was done is not tried again")


def note(result: JSON) -> Callable[[Step], JSON]:
    def write(step: Step) -> JSON:
        return result

    return write


def put_all(skus: Iterable[str]) -> Callable[[Step], JSON]:
    def write(step: Step) -> JSON:
        for sku in skus:
            step.put("stock", {"sku": sku})
        return None

    return write


def record(rows: Rows) -> dict[str, Any]:
    [found] = rows("IdempotencyTable")
    return from_dynamodb(found)


IN_PROGRESS = refusal("TransactionInProgressException")
STAYS_OPEN = [
    TIMEOUT,
    SERVER_ERROR,
    IN_PROGRESS,
    refusal("ThrottlingException"),
    refusal("RequestLimitExceeded"),
    refusal("ProvisionedThroughputExceededException"),
    refusal("RequestTimeout"),
    refusal("RequestTimeoutException"),
    refusal("ServiceUnavailable", 503),
]
"""Answers that are none: the transaction may have happened, or may still happen."""


class TestOnce:
    def test_what_a_step_asks_for_is_written_together_with_its_result(self, attempt: Attempt, rows: Rows) -> None:
        assert attempt().step("place", order) == {"orderId": "o-1"}
        assert [from_dynamodb(row) for row in rows("orders")] == [{"orderId": "o-1", "total": Decimal("12.5")}]
        assert [from_dynamodb(row) for row in rows("stock")] == [{"sku": "mug", "sold": 1}]
        assert record(rows)["steps"] == {"place": {"meaning": "order", "result": '{"orderId":"o-1"}'}}

    def test_a_later_attempt_gets_the_first_ones_result_and_does_not_begin_the_step(
        self, attempt: Attempt, rows: Rows
    ) -> None:
        first = attempt(1).step("place", order)
        again = attempt(2).step("place", refuse_to_be_called, meaning="order")
        assert again == first
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]

    def test_two_first_steps_at_once_both_stay_in_the_map(self, attempt: Attempt, rows: Rows) -> None:
        one, twin = Wire().log(attempt()), Wire().log(attempt())
        for log in (one, twin):
            log._read()  # both have seen that there is no map
        assert one.run("a", note(1), "note") == 1
        assert twin.run("b", note(2), "note") == 2
        assert set(record(rows)["steps"]) == {"a", "b"}

    @pytest.mark.parametrize("first", [True, False], ids=["first step", "second step"])
    def test_the_same_attempt_begun_twice_does_the_step_once(self, attempt: Attempt, rows: Rows, first: bool) -> None:
        if not first:
            attempt().step("before", note(None))
        one, twin = Wire().log(attempt()), Wire().log(attempt())
        twin._read()  # both have seen that the step was not done
        assert one.run("sell", sell, "sell") == twin.run("sell", sell, "sell")
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]

    def test_an_update_needs_neither_values_nor_names_nor_a_condition(self, attempt: Attempt, rows: Rows) -> None:
        request = attempt()
        request.step("before", lambda step: step.put("stock", {"sku": "mug", "sold": 1}))
        request.step("clear", lambda step: step.update("stock", {"sku": "mug"}, "REMOVE sold"))
        assert rows("stock") == [{"sku": {"S": "mug"}}]

    def test_all_four_kinds_of_actions_happen(self, attempt: Attempt, rows: Rows) -> None:
        request = attempt()
        request.step("before", put_all("abc"))

        def write(step: Step) -> JSON:
            step.put("orders", {"orderId": "o"})
            step.update(
                "stock", {"sku": "a"}, "SET #n = :n", {":n": "x"}, {"#n": "name"}, condition=Attr("sku").eq("a")
            )
            step.delete("stock", {"sku": "b"}, condition=Attr("sku").exists())
            step.check("stock", {"sku": "c"}, Attr("sold").not_exists())
            return None

        request.step("all", write)
        assert sorted((from_dynamodb(row) for row in rows("stock")), key=str) == [
            {"sku": "a", "name": "x"},
            {"sku": "c"},
        ]


class TestFence:
    @pytest.mark.parametrize(
        "change",
        [{"fence": {"N": "2"}}, {"owner": {"S": "arn:another"}}, {"status": {"S": "QUARANTINED"}}, None],
        ids=["fence", "owner", "status", "no record"],
    )
    @pytest.mark.parametrize("first", [True, False], ids=["first step", "second step"])
    def test_an_attempt_that_loses_its_lock_within_the_step_writes_nothing(
        self, attempt: Attempt, rows: Rows, change: dict[str, Any] | None, first: bool
    ) -> None:
        request = attempt()
        if not first:
            request.step("before", note(None))

        def write(step: Step) -> JSON:
            table, key = "IdempotencyTable", {"id": {"S": request.id}}
            if change is None:
                client("dynamodb").delete_item(TableName=table, Key=key)
            else:
                [found] = rows(table)
                client("dynamodb").put_item(TableName=table, Item=found | change)
            return order(step)

        with pytest.raises(LockLostError):
            request.step("place", write)
        assert rows("orders") == rows("stock") == []

    def test_an_attempt_whose_step_counted_but_whose_lock_is_lost_by_then_stops(
        self, attempt: Attempt, rows: Rows
    ) -> None:
        def and_then_taken_over(call: Call) -> Any:
            call()
            attempt(2)
            raise TIMEOUT

        with pytest.raises(LockLostError):
            Wire(and_then_taken_over).log(attempt(1)).run("place", order, "order")
        assert attempt(2).step("place", refuse_to_be_called, meaning="order") == {"orderId": "o-1"}
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]


class TestLostAnswers:
    @pytest.mark.parametrize("error", [TIMEOUT, SERVER_ERROR, IN_PROGRESS], ids=str)
    def test_a_step_that_happened_is_not_done_again(self, attempt: Attempt, rows: Rows, error: Exception) -> None:
        wire = Wire(answer_is_lost(error))
        assert wire.log(attempt()).run("place", order, "order") == {"orderId": "o-1"}
        assert (len(wire.tokens), wire.pauses) == (1, [])
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]

    @pytest.mark.parametrize("error", STAYS_OPEN, ids=str)
    def test_a_step_that_did_not_happen_is_sent_again_as_the_same_transaction(
        self, attempt: Attempt, rows: Rows, error: Exception
    ) -> None:
        wire = Wire(never_arrives(error), never_arrives(error))
        assert wire.log(attempt()).run("place", order, "order") == {"orderId": "o-1"}
        assert (len(wire.tokens), len(set(wire.tokens))) == (3, 1)
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]

    def test_a_transaction_that_arrives_after_all_counts_once(self, attempt: Attempt, rows: Rows) -> None:
        late: list[Call] = []

        def is_kept_back(call: Call) -> Any:
            late.append(call)
            raise TIMEOUT

        def comes_second(call: Call) -> Any:
            late[0]()
            return call()

        assert Wire(is_kept_back, comes_second).log(attempt()).run("place", order, "order") == {"orderId": "o-1"}
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]

    def test_it_ends_when_no_answer_ever_comes(self, attempt: Attempt, rows: Rows) -> None:
        wire = Wire(*[never_arrives()] * 99)
        with pytest.raises(ReadTimeoutError):
            wire.log(attempt()).run("place", order, "order")
        assert wire.pauses == list(LONGEST_PAUSES)
        assert rows("orders") == []

    def test_pauses_grow_and_leave_a_function_time_for_its_work(self) -> None:
        assert all(0 < earlier < later for earlier, later in itertools.pairwise(LONGEST_PAUSES))
        assert sum(LONGEST_PAUSES) < 10

    def test_what_was_never_sent_is_not_sent_again_and_nothing_is_closed_out(self, attempt: Attempt) -> None:
        wire = Wire()
        with pytest.raises(InvalidWriteError, match="step 'place' cannot be sent to DynamoDB"):
            wire.log(attempt()).run("place", lambda step: step.put("", {"sku": "mug"}), "order")
        assert wire.calls.count("transact_write_items") == 1
        assert not {"update_item"} & set(wire.calls) and wire.pauses == []

    def test_an_error_that_is_about_something_else_passes_at_once(self, attempt: Attempt) -> None:
        wire = Wire(never_arrives(refusal("AccessDeniedException")))
        with pytest.raises(ClientError, match="AccessDenied"):
            wire.log(attempt()).run("place", order, "order")
        assert wire.pauses == []


class TestConflicts:
    def test_a_conflict_is_tried_again_as_another_transaction(self, attempt: Attempt, rows: Rows) -> None:
        wire = Wire(*[never_arrives(CONFLICT)] * 3)
        assert wire.log(attempt()).run("place", order, "order") == {"orderId": "o-1"}
        assert len(set(wire.tokens)) == 4
        assert wire.pauses == list(LONGEST_PAUSES[:3])

    @pytest.mark.parametrize("reason", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
    def test_what_passes_by_itself_is_waited_for_in_any_part_of_a_transaction(
        self, attempt: Attempt, rows: Rows, reason: str
    ) -> None:
        of_the_record = refusal("TransactionCanceledException", 400, reason, "None", "None")
        of_an_action = refusal("TransactionCanceledException", 400, "None", "None", reason)
        of_an_action.response["CancellationReasons"][0] = {}  # the model of DynamoDB has no member that must be there
        unsaid = refusal("TransactionCanceledException")
        wire = Wire(*map(never_arrives, (of_the_record, of_an_action, unsaid)))
        assert wire.log(attempt()).run("place", order, "order") == {"orderId": "o-1"}
        assert [row["sold"] for row in rows("stock")] == [{"N": "1"}]

    def test_conflicts_without_end_end(self, attempt: Attempt) -> None:
        wire = Wire(*[never_arrives(CONFLICT)] * 99)
        with pytest.raises(StepConflictError, match=r"step 'place'"):
            wire.log(attempt()).run("place", order, "order")
        assert wire.pauses == list(LONGEST_PAUSES)


class TestConditions:
    def test_a_condition_that_does_not_hold_says_which_and_nothing_is_written(
        self, attempt: Attempt, rows: Rows
    ) -> None:
        request = attempt()
        request.step("stock", lambda step: step.put("stock", {"sku": "mug", "left": 1}))

        def write(step: Step) -> JSON:
            step.put("orders", {"orderId": "o-1"})
            step.update(
                "stock",
                {"sku": "mug"},
                "SET #left = #left - :n",
                {":n": 2},
                {"#left": "left"},
                condition=Attr("left").gte(2) & Attr("sku").exists(),
                return_item=True,
            )
            return None

        with pytest.raises(ConditionFailed) as failed:
            request.step("place", write)
        [refusal] = failed.value.refusals
        assert (refusal.action, refusal.kind, refusal.table) == (2, "Update", "stock")
        assert refusal.target == {"sku": "mug"}
        assert refusal.item == {"sku": "mug", "left": 1}
        assert refusal.condition == "(left >= :v0 AND attribute_exists(sku))"
        assert str(failed.value) == (
            "step 'place' was refused by action 2 (Update in stock) on (left >= :v0 AND attribute_exists(sku))"
        )
        assert rows("orders") == []

    @pytest.mark.parametrize("options", [{}, {"return_item": True}], ids=["not asked for", "asked for"])
    @pytest.mark.parametrize("kind", ACTIONS)
    def test_every_kind_of_action_has_a_condition_and_hands_out_the_item_if_asked_for(
        self, attempt: Attempt, rows: Rows, kind: str, options: dict[str, bool]
    ) -> None:
        request = attempt()
        request.step("before", lambda step: step.put("stock", {"sku": "mug", "left": 1}))

        def write(step: Step) -> JSON:
            ACTIONS[kind](step, {"sku": "mug"}, condition=Attr("sku").not_exists(), **options)
            return None

        with pytest.raises(ConditionFailed) as failed:
            request.step("change", write)
        [refusal] = failed.value.refusals
        assert (refusal.kind, refusal.target) == (kind, {"sku": "mug"})
        assert refusal.item == ({"sku": "mug", "left": 1} if options else None)
        assert [from_dynamodb(row) for row in rows("stock")] == [{"sku": "mug", "left": 1}]

    def test_a_condition_of_many_attributes_is_told_with_each_ones_name(self, attempt: Attempt) -> None:
        condition = Attr("sku").exists()
        for number in range(11):
            condition &= Attr(f"a{number}").exists()
        with pytest.raises(ConditionFailed) as failed:
            attempt().step("check", lambda step: step.check("stock", {"sku": "mug"}, condition))
        told = failed.value.refusals[0].condition
        assert re.findall(r"attribute_exists\(([^)]*)\)", told) == ["sku", *(f"a{number}" for number in range(11))]


class TestMistakes:
    """Each quarantines at once, and says what to fix: another attempt would make the same mistake."""

    @pytest.mark.parametrize("name", ["", "Place", "1st", "a b", "a.b", "-a", "a" * 41, "a" * 1000, "a\n", "é"])
    def test_a_name_that_is_none(self, attempt: Attempt, name: str) -> None:
        with pytest.raises(InvalidWriteError, match="step's name must match") as refused:
            attempt().step(name, order)
        assert repr(name[:60]) in str(refused.value)

    def test_a_name_that_comes_twice_in_a_later_attempt(self, attempt: Attempt) -> None:
        attempt(1).step("line", note(1))
        later = attempt(2)
        assert later.step("line", note(2)) == 1
        with pytest.raises(InvalidWriteError, match="'line' is used twice"):
            later.step("line", note(2))

    def test_a_name_that_means_something_else_now(self, attempt: Attempt) -> None:
        attempt(1).step("settle", order)
        with pytest.raises(
            StepMismatchError, match=r"'settle' was done by an earlier attempt as 'order', and is .*note"
        ):
            attempt(2).step("settle", note(None))

    @pytest.mark.parametrize(("before", "now"), [("order", "order a line"), ("order a line", "order")])
    def test_a_meaning_that_begins_as_the_former_one_is_another(self, attempt: Attempt, before: str, now: str) -> None:
        attempt(1).step("settle", note(1), meaning=before)
        with pytest.raises(StepMismatchError, match=f"as '{before}', and is '{now}' now"):
            attempt(2).step("settle", note(2), meaning=now)

    def test_of_a_meaning_two_hundred_characters_count(self, attempt: Attempt, rows: Rows) -> None:
        meaning = "m" * 199
        attempt(1).step("settle", note(1), meaning=f"{meaning}é-1")
        assert record(rows)["steps"]["settle"]["meaning"] == f"{meaning}é"
        assert attempt(2).step("settle", note(2), meaning=f"{meaning}é-2") == 1
        with pytest.raises(StepMismatchError):
            attempt(3).step("settle", note(3), meaning=f"{meaning}e")

    def test_steps_whose_names_begin_alike_are_two(self, attempt: Attempt, rows: Rows) -> None:
        for fence, first in ((1, 1), (2, None)):
            request = attempt(fence)
            assert request.step("pay", note(first)) == 1
            assert request.step("pay-2", note(2)) == 2
            assert request.step("p" * 40, note(3)) == 3, "the longest name"
        assert len(record(rows)["steps"]) == 3

    def test_a_name_whose_function_was_renamed_but_means_the_same(self, attempt: Attempt) -> None:
        attempt(1).step("settle", order, meaning="v1")
        assert attempt(2).step("settle", note(None), meaning="v1") == {"orderId": "o-1"}

    def test_what_a_step_means_by_default_is_the_name_of_what_writes(self, attempt: Attempt, rows: Rows) -> None:
        class Draw:
            def __call__(self, step: Step) -> JSON:
                return 7

        request = attempt()
        for name, write in {"function": sell, "partial": functools.partial(sell), "object": Draw()}.items():
            request.step(name, write)
        assert {name: step["meaning"] for name, step in record(rows)["steps"].items()} == {
            "function": "sell",
            "partial": "sell",
            "object": Draw.__qualname__,
        }

    def test_a_result_that_is_too_large(self, attempt: Attempt, rows: Rows) -> None:
        request = attempt()
        assert request.step("fits", note("x" * 4094)) == "x" * 4094
        with pytest.raises(
            InvalidWriteError, match=r"'large' has 4097 bytes, over the limit of 4096: store large data"
        ):
            request.step("large", note("x" * 4095))

    def test_results_that_are_too_large_together(self, attempt: Attempt) -> None:
        request = attempt()
        for n in range(3):
            request.step(f"s-{n}", note("x" * 4094))
        with pytest.raises(InvalidWriteError, match=r"all steps have \d+ bytes, over the limit of 16384"):
            request.step("s-3", note("x" * 4094))
        assert request.step("small", note(1)) == 1

    @pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
    def test_all_steps_of_a_record_have_sixteen_kibibytes_together(
        self, attempt: Attempt, more: int, fits: bool
    ) -> None:
        """Names and meanings count, a meaning in UTF-8, and so does what an earlier attempt did."""
        for number in range(3):
            attempt(1 + number).step(f"s-{number}", note("x" * 4094), meaning="é")
        last = note("x" * (16_384 - 3 * (len("s-0é") + 1 + 4096) - len("s-3m") - len('""') + more))
        request = attempt(4)
        if fits:
            request.step("s-3", last, meaning="m")
        else:
            with pytest.raises(InvalidWriteError, match=r"all steps have 16385 bytes, over the limit of 16384"):
                request.step("s-3", last, meaning="m")

    def test_a_result_that_is_not_json(self, attempt: Attempt, rows: Rows) -> None:
        def write(step: Step) -> JSON:
            order(step)
            return {"at": {1, 2}}  # type: ignore[dict-item]  # that is the point

        with pytest.raises(InvalidWriteError, match=r"result of step 'place' is not JSON: /at is a set"):
            attempt().step("place", write)
        assert rows("orders") == []

    def test_ninety_eight_actions_fit_and_one_more_does_not(self, attempt: Attempt, rows: Rows) -> None:
        def write(count: int) -> Callable[[Step], JSON]:
            return put_all([str(n) for n in range(count)])

        request = attempt()
        with pytest.raises(InvalidWriteError, match="more than 98 actions"):
            request.step("many", write(99))
        request.step("many", write(98))
        assert len(rows("stock")) == 98

    @pytest.mark.parametrize("table", ["IdempotencyTable", "arn:aws:dynamodb:us-east-1:1:table/IdempotencyTable"])
    def test_a_write_to_the_table_of_locks(self, attempt: Attempt, table: str) -> None:
        with pytest.raises(InvalidWriteError, match="may not write to"):
            attempt().step("place", lambda step: step.put(table, {"id": "x"}))

    def test_two_actions_on_one_item(self, attempt: Attempt, rows: Rows) -> None:
        def write(step: Step) -> JSON:
            step.check("stock", {"sku": "mug"}, Attr("sold").not_exists())
            step.update("stock", {"sku": "mug"}, "ADD sold :one", {":one": 1})
            return None

        with pytest.raises(InvalidWriteError, match="'place' has two actions on one item in stock"):
            attempt().step("place", write)

    def test_one_key_in_two_tables_is_two_items(self, attempt: Attempt, rows: Rows) -> None:
        def write(step: Step) -> JSON:
            step.put("stock", {"sku": "mug"})
            step.put("prices", {"sku": "mug"})
            return None

        attempt().step("place", write)
        assert rows("stock") == rows("prices") == [{"sku": {"S": "mug"}}]

    @pytest.mark.parametrize("first", ACTIONS)
    @pytest.mark.parametrize("second", ACTIONS)
    def test_each_kind_of_action_may_name_a_key_that_another_table_has_too(
        self, attempt: Attempt, rows: Rows, first: str, second: str
    ) -> None:
        def write(step: Step) -> JSON:
            ACTIONS[first](step, {"sku": "mug"}, condition=Attr("sku").not_exists())
            ACTIONS[second](step, {"sku": "mug"}, condition=Attr("sku").not_exists(), table="prices")
            return "done"

        assert attempt().step("place", write) == "done"
        left = [len(rows(table)) for table in ("stock", "prices")]
        assert left == [1 if kind in ("Put", "Update") else 0 for kind in (first, second)]

    def test_two_actions_on_one_item_that_only_dynamodb_can_tell(self, attempt: Attempt, rows: Rows) -> None:
        def write(step: Step) -> JSON:
            step.put("stock", {"sku": "mug", "sold": 1})
            step.update("stock", {"sku": "mug"}, "ADD sold :one", {":one": 1})
            return None

        with pytest.raises(
            InvalidWriteError, match=r"DynamoDB refuses step 'place': .*multiple operations on one item"
        ):
            attempt().step("place", write)
        assert rows("stock") == []

    def test_what_dynamodb_says_of_an_action_is_passed_on(self, attempt: Attempt) -> None:
        cancelled = refusal("TransactionCanceledException", 400, "None", "None", "ValidationError")
        cancelled.response["CancellationReasons"][2]["Message"] = "sold is no number"
        wire = Wire(never_arrives(cancelled))
        with pytest.raises(InvalidWriteError, match=r"action 2 .* of step 'place': sold is no number$"):
            wire.log(attempt()).run("place", order, "order")
        assert wire.pauses == []

    def test_a_reason_that_nothing_is_known_of_is_named_and_goes_to_the_operator(self, attempt: Attempt) -> None:
        cancelled = refusal("TransactionCanceledException", 400, "None", "TransactionConflict", "TooLarge", "Full")
        wire = Wire(never_arrives(cancelled))
        with pytest.raises(InvalidWriteError, match=r"DynamoDB cancels step 'place': Full, TooLarge$"):
            wire.log(attempt()).run("place", order, "order")
        assert wire.pauses == []

    def test_a_placeholder_that_the_condition_uses_too(self, attempt: Attempt) -> None:
        with pytest.raises(
            InvalidWriteError, match=r":v0 is also a name that boto3 uses in the condition; rename yours"
        ):
            attempt().step(
                "place",
                lambda step: step.update(
                    "stock", {"sku": "mug"}, "SET sold = :v0", {":v0": 1}, condition=Attr("sold").eq(0)
                ),
            )

    @pytest.mark.parametrize(
        ("value", "says"),
        [
            (math.nan, "is not a finite number"),
            ({"a": [math.inf]}, r"note\.a\[0\] is not a finite number"),
            (set(), "is an empty set"),
            ({1, "a"}, "a set of mixed types"),
            (10**38 + 1, "a number beyond 38 digits"),
            (1e200, "a number beyond 38 digits or its range"),
            (object(), "is of type object, which DynamoDB does not support"),
            ({1: "a"}, "has a member whose name is of type int"),
        ],
    )
    def test_a_value_that_dynamodb_does_not_have(self, attempt: Attempt, value: object, says: str) -> None:
        with pytest.raises(InvalidWriteError, match=says) as refused:
            attempt().step("place", lambda step: step.put("orders", {"orderId": "o", "note": value}))
        assert str(refused.value).startswith("step 'place', action 1 (Put in orders), note")

    @pytest.mark.parametrize("kind", ACTIONS)
    def test_a_key_or_a_condition_that_dynamodb_does_not_have_is_named_with_its_action(
        self, attempt: Attempt, kind: str
    ) -> None:
        def second(sku: object, value: object) -> Callable[[Step], JSON]:
            def write(step: Step) -> JSON:
                step.delete("orders", {"orderId": "o-1"})
                ACTIONS[kind](step, {"sku": sku}, condition=Attr("sold").eq(value))
                return None

            return write

        for write, says in ((second(object(), 1), "sku is of type object"), (second("mug", set()), ":v0 is an empty")):
            with pytest.raises(InvalidWriteError) as refused:
                attempt().step("place", write)
            assert str(refused.value).startswith(f"step 'place', action 2 ({kind} in stock), {says}")


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**37), 10**37)
    | st.floats(1e-100, 1e100)
    | st.floats(-1e100, -1e-100)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner, max_size=4),
    max_leaves=12,
)


def same(got: Any, sent: Any) -> bool:
    """Whether it came back as it was: numbers as decimals, bytes in boto3's wrapping."""
    if isinstance(sent, dict):
        return got.keys() == sent.keys() and all(same(got[name], sent[name]) for name in sent)
    if isinstance(sent, list):
        return len(got) == len(sent) and all(map(same, got, sent))
    if isinstance(sent, float):
        return isinstance(got, Decimal) and float(got) == sent
    if isinstance(sent, bytes):
        return bytes(got.value) == sent
    return type(got) in (type(sent), Decimal) and got == sent


@given(PLAIN)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert same(from_dynamodb(to_dynamodb({"v": value}, "it"))["v"], value)


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        (Decimal("1.10"), Decimal("1.10")),
        (True, True),
        ((1, "a"), [1, "a"]),
        ({"a", "b"}, {"a", "b"}),
        (frozenset({1, 0.5}), {Decimal(1), Decimal("0.5")}),
    ],
    ids=["decimal", "boolean", "tuple", "set", "frozenset"],  # a set's own text changes from process to process
)
def test_values_that_json_does_not_have_are_stored_too(sent: Any, got: Any) -> None:
    assert from_dynamodb(to_dynamodb({"v": sent}, "it"))["v"] == got
    assert type(from_dynamodb(to_dynamodb({"v": sent}, "it"))["v"]) is type(got)
    assert from_dynamodb(to_dynamodb({"v": bytearray(b"a")}, "it"))["v"].value == b"a"


KEYS = itertools.count()
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(result=JSON_VALUES)
def test_every_attempt_gets_the_same_result_to_the_last_digit(attempt: Attempt, result: Any) -> None:
    key = f"key-{next(KEYS)}"
    first = attempt(1, key).step("draw", note(result))
    again = attempt(2, key).step("draw", note(None))
    assert json.dumps(first) == json.dumps(again) == json.dumps(result)
