"""The four functions: each takes effect once, however often it is attempted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from once import PermanentError
from once.clients import client

Event = dict[str, Any]
Acquire = Callable[[Event], Event]
Load = Callable[[str], ModuleType]
Rows = Callable[[str], list[dict[str, Any]]]


def result(reply: dict[str, Any]) -> Any:
    return json.loads(reply["onceResult"])


class TestChargePayment:
    @pytest.fixture
    def charge(self, aws: None, function: Load, event: Callable[..., Event]) -> Callable[..., Any]:
        app = function("charge_payment")

        def charge(key: str = "key-1", fence: int = 1, **changes: object) -> Any:
            payload = {"orderId": "12345", "amount": 4200, "currency": "EUR", **changes}
            return result(app.handler(event("charge-payment", payload, key=key, fence=fence), None))

        return charge

    def test_a_charge_is_one_row_of_the_ledger(self, charge: Callable[..., Any], rows: Rows) -> None:
        receipt = charge()
        [row] = rows("ledger")
        assert receipt == {
            "chargeId": row["chargeId"]["S"],
            "orderId": "12345",
            "amount": 4200,
            "currency": "EUR",
            "status": "succeeded",
        }
        assert (row["amount"], row["orderId"]) == ({"N": "4200"}, {"S": "12345"})


class TestPlaceOrder:
    @pytest.fixture
    def place(self, function: Load, event: Callable[..., Event], acquire: Acquire) -> Callable[..., Any]:
        app = function("place_order")

        def place(key: str = "key-1", fence: int = 1, **quantities: int) -> Any:
            items = [{"sku": sku, "quantity": quantity} for sku, quantity in quantities.items()]
            payload = {"customer": "c-1", "items": items}
            return result(app.handler(acquire(event("place-order", payload, key=key, fence=fence)), None))

        return place

    def test_an_order_takes_its_goods_off_the_shelves(self, place: Callable[..., Any], rows: Rows) -> None:
        receipt = place(mug=2, tea=1)
        [order] = rows("orders")
        assert receipt["orderId"] == order["orderId"]["S"]
        assert receipt["items"] == [{"sku": "mug", "quantity": 2}, {"sku": "tea", "quantity": 1}]
        assert order["requestId"] == {"S": "acme#place-order#key-1"}
        assert {row["sku"]["S"]: row["available"]["N"] for row in rows("stock")} == {"mug": "98", "tea": "99"}

    def test_an_order_for_more_than_there_is_fails_for_good_and_names_the_article(
        self, place: Callable[..., Any], rows: Rows
    ) -> None:
        place("key-1", mug=99)
        with pytest.raises(PermanentError, match=r"^OutOfStock: not enough left of mug$"):
            place("key-2", tea=1, mug=2)
        assert {row["sku"]["S"]: row["available"]["N"] for row in rows("stock")} == {"mug": "1"}
        assert len(rows("orders")) == 1

    def test_an_article_named_twice_is_counted_once(
        self, function: Load, event: Callable[..., Event], acquire: Acquire, rows: Rows
    ) -> None:
        payload = {"customer": "c-1", "items": [{"sku": "mug", "quantity": 2}, {"sku": "mug", "quantity": 3}]}
        receipt = result(function("place_order").handler(acquire(event("place-order", payload)), None))
        assert receipt["items"] == [{"sku": "mug", "quantity": 5}]
        assert [row["available"] for row in rows("stock")] == [{"N": "95"}]


class TestBuildReport:
    @pytest.mark.parametrize("size", [1023, 2_097_153])
    def test_a_size_out_of_bounds_is_refused(self, function: Load, event: Callable[..., Event], size: object) -> None:
        with pytest.raises(PermanentError, match="payload refused: /bytes must be"):
            function("build_report").handler(event("build-report", {"bytes": size}), None)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


OF_AN_ATTEMPT: dict[str, Any] = {
    "id": "a#b#c",
    "fence": 1,
    "owner": "one",
    "responseBucket": "responses",
    "retentionDays": 30,
}


class TestResponseCache:
    def stored(self, ref: dict[str, Any]) -> bytes:
        return client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()

    def test_a_text_is_kept_as_it_is(self, aws: None, function: Load) -> None:
        text = '{ "a": 1.0, "b": "\\u00e9" }'
        ref = function("cache_response").handler({**OF_AN_ATTEMPT, "fence": 3, "text": text}, None)
        assert self.stored(ref) == text.encode()
        assert ref == {
            "bucket": "responses",
            "key": f"responses/30d/a/b/{sha256(b'a#b#c')}/3-{sha256(b'one')[:16]}.json",
            "sha256": sha256(text.encode()),
            "bytes": len(text),
        }

    def test_its_event_for_sam_works(self, aws: None, function: Load, read: Callable[[str], Any]) -> None:
        event = {**read("events/functions/cache-response.json"), "responseBucket": "responses"}
        assert json.loads(self.stored(function("cache_response").handler(event, None))) == event["value"]
