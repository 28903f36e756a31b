"""put_once and apply_once: a write that an attempt may repeat, and that happens once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from once import ConditionFailed, InvalidWriteError, Request
from once.clients import client
from once.conditions import Attr
from once.values import from_dynamodb
from unit.wire import Attempt, Rows


@pytest.fixture
def one(rows: Rows) -> Callable[[str], dict[str, Any]]:
    def read(table: str) -> dict[str, Any]:
        [row] = rows(table)
        return from_dynamodb(row)

    return read


One = Callable[[str], dict[str, Any]]


class TestPutOnce:
    def test_an_item_that_is_not_there_is_created(self, attempt: Attempt, one: One) -> None:
        assert attempt().put_once("orders", {"orderId": "o-1", "status": "new"}) is True
        assert one("orders") == {"orderId": "o-1", "status": "new", "createdByRequest": "acme#greet#key-1"}

    def test_another_attempt_leaves_it_and_knows_it_for_its_own(self, attempt: Attempt, one: One) -> None:
        attempt(1).put_once("orders", {"orderId": "o-1", "at": 1})
        assert attempt(2).put_once("orders", {"orderId": "o-1", "at": 2}) is True
        assert one("orders")["at"] == 1

    def test_another_requests_item_is_left_and_told_apart(self, attempt: Attempt, one: One) -> None:
        attempt(key="key-1").put_once("orders", {"orderId": "o-1", "at": 1})
        assert attempt(key="key-2").put_once("orders", {"orderId": "o-1", "at": 2}) is False
        assert one("orders")["at"] == 1

    def test_it_sets_its_mark_itself(self, attempt: Attempt) -> None:
        with pytest.raises(InvalidWriteError, match="put_once sets createdByRequest itself"):
            attempt().put_once("orders", {"orderId": "o-1", "createdByRequest": "me"})

    def test_an_item_of_more_attributes_than_fit_a_condition_is_refused(self, attempt: Attempt) -> None:
        item = {"orderId": "o-1"} | {f"a{n}": n for n in range(99)}
        assert attempt().put_once("orders", item) is True
        with pytest.raises(InvalidWriteError, match="at most 100 attributes; this has 101"):
            attempt().put_once("orders", {**item, "more": 1})


class TestApplyOnce:
    ADD_LINE = "SET goods = list_append(if_not_exists(goods, :none), :line)"

    def add_line(self, request: Request, sku: str, **options: Any) -> bool:
        return request.apply_once(
            "orders", {"orderId": "o-1"}, self.ADD_LINE, {":none": [], ":line": [{"sku": sku}]}, **options
        )

    def test_an_update_is_applied_and_marked(self, attempt: Attempt, one: One) -> None:
        assert self.add_line(attempt(), "mug") is True
        assert one("orders") == {
            "orderId": "o-1",
            "goods": [{"sku": "mug"}],
            "processedEvents": {"acme#greet#key-1"},
        }

    def test_another_attempt_changes_nothing(self, attempt: Attempt, one: One) -> None:
        self.add_line(attempt(1), "mug")
        assert self.add_line(attempt(2), "mug") is False
        assert one("orders")["goods"] == [{"sku": "mug"}]

    def test_a_request_whose_id_is_the_beginning_of_anothers_is_applied(self, attempt: Attempt, one: One) -> None:
        self.add_line(attempt(key="key-12"), "mug")
        assert self.add_line(attempt(key="key-1"), "tea") is True

    @pytest.mark.parametrize(
        "update",
        [
            "ADD #n :one",
            "add #n :one SET x = :one",
            "SET x = :one ADD #n :one",
            "SET x = :one\nADD\n#n :one REMOVE #ADD",
        ],
    )
    def test_an_update_that_adds_already_adds_both(self, attempt: Attempt, one: One, update: str) -> None:
        names = {"#n": "count"} | ({"#ADD": "add"} if "#ADD" in update else {})
        for fence in (1, 2):
            attempt(fence).apply_once("orders", {"orderId": "o-1"}, update, {":one": 1}, names)
        assert one("orders")["count"] == 1
        assert one("orders")["processedEvents"] == {"acme#greet#key-1"}

    def test_two_updates_of_one_item_need_names(self, attempt: Attempt, one: One) -> None:
        request = attempt()
        self.add_line(request, "mug")
        with pytest.raises(InvalidWriteError, match="two updates of one item in orders: give each a name"):
            self.add_line(request, "tea")
        assert self.add_line(request, "tea", name="second") is True
        assert self.add_line(attempt(2), "tea", name="second") is False
        assert one("orders")["processedEvents"] == {"acme#greet#key-1", "second:acme#greet#key-1"}

    def test_one_key_in_two_tables_is_two_items(self, attempt: Attempt, rows: Rows) -> None:
        request = attempt()
        for table in ("stock", "prices"):
            assert request.apply_once(table, {"sku": "mug"}, "SET n = :n", {":n": 1}) is True
        assert rows("stock") == rows("prices")

    def test_two_items_of_one_table_need_no_names(self, attempt: Attempt, rows: Rows) -> None:
        request = attempt()
        for sku in ("mug", "mug-2"):
            assert request.apply_once("stock", {"sku": sku}, "SET n = :n", {":n": 1}) is True
        assert len(rows("stock")) == 2

    def test_an_update_needs_neither_values_nor_names(self, attempt: Attempt, one: One) -> None:
        assert attempt().apply_once("orders", {"orderId": "o-1"}, "REMOVE goods") is True
        assert one("orders") == {"orderId": "o-1", "processedEvents": {"acme#greet#key-1"}}

    def test_a_condition_that_does_not_hold_is_told_from_an_earlier_attempt(self, attempt: Attempt, one: One) -> None:
        is_open = Attr("status").eq("open")
        with pytest.raises(ConditionFailed, match=r"apply_once to orders was refused by action 1 .* on status = :v0"):
            self.add_line(attempt(), "mug", condition=is_open)
        client("dynamodb").put_item(TableName="orders", Item={"orderId": {"S": "o-1"}, "status": {"S": "open"}})
        assert self.add_line(attempt(), "mug", condition=is_open) is True
        client("dynamodb").update_item(
            TableName="orders",
            Key={"orderId": {"S": "o-1"}},
            UpdateExpression="SET #s = :s",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":s": {"S": "closed"}},
        )
        assert self.add_line(attempt(2), "mug", condition=is_open) is False
        with pytest.raises(ConditionFailed) as failed:
            self.add_line(attempt(key="key-2"), "mug", condition=is_open)
        [refusal] = failed.value.refusals
        assert (refusal.action, refusal.kind, refusal.table) == (1, "Update", "orders")
        assert (refusal.target, refusal.condition) == ({"orderId": "o-1"}, "status = :v0")
        assert refusal.item == one("orders")


class TestMistakes:
    """Each says which write it is about, and where in it."""

    def test_an_item_that_dynamodb_does_not_have(self, attempt: Attempt) -> None:
        with pytest.raises(InvalidWriteError, match=r"^put_once into orders, note is of type object"):
            attempt().put_once("orders", {"orderId": "o-1", "note": object()})

    @pytest.mark.parametrize(
        ("key", "value", "condition", "says"),
        [
            (object(), 1, None, "orderId is of type object"),
            ("o-1", set(), None, ":value is an empty set"),
            ("o-1", 1, Attr("goods").eq(set()), ":v0 is an empty set"),
        ],
    )
    def test_an_update_that_dynamodb_does_not_have(
        self, attempt: Attempt, key: object, value: object, condition: Any, says: str
    ) -> None:
        with pytest.raises(InvalidWriteError, match=rf"^apply_once to orders, {says}"):
            attempt().apply_once("orders", {"orderId": key}, "SET n = :value", {":value": value}, condition=condition)
