"""What only the functions themselves can say; tests/scenarios has what they do, once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from once import PermanentError
from once.clients import client
from unit.wire import Event, Rows

Load = Callable[[str], ModuleType]


def test_an_order_for_more_than_there_is_fails_for_good_and_names_the_article(
    function: Load, event: Callable[..., Event], acquire: Callable[[Event], Event], rows: Rows
) -> None:
    place_order = function("place_order")

    def place(key: str, **quantities: int) -> None:
        items = [{"sku": sku, "quantity": quantity} for sku, quantity in quantities.items()]
        place_order.handler(acquire(event("place-order", {"customer": "c-1", "items": items}, key=key)), None)

    place("key-1", mug=99)
    with pytest.raises(PermanentError, match=r"^OutOfStock: not enough left of mug$"):
        place("key-2", tea=1, mug=2)
    assert {row["sku"]["S"]: row["available"]["N"] for row in rows("stock")} == {"mug": "1"}
    assert len(rows("orders")) == 1


def stored(ref: dict[str, Any]) -> bytes:
    return client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()


def test_a_text_is_kept_as_it_is(aws: None, function: Load) -> None:
    text = '{ "a": 1.0, "b": "\\u00e9" }'
    attempt = {"id": "a#b#c", "fence": 3, "owner": "one", "responseBucket": "responses", "retentionDays": 30}
    ref = function("cache_response").handler({**attempt, "text": text}, None)
    assert stored(ref) == text.encode()
    assert (ref["bytes"], ref["sha256"]) == (len(text), hashlib.sha256(text.encode()).hexdigest())


def test_a_value_whose_exact_text_fits_into_the_record_is_given_back_and_stored_nowhere(
    aws: None, function: Load
) -> None:
    attempt = {"id": "a#b#c", "fence": 3, "owner": "one", "responseBucket": "responses", "retentionDays": 30}
    value, text = {"n": 0.1 + 0.2, "t": "\u00e9"}, '{"n":0.30000000000000004,"t":"\\u00e9"}'
    keep = function("cache_response").handler
    for _ in range(2):
        assert keep({**attempt, "value": value, "inlineBytes": len(text)}, None) == {"text": text}
    assert client("s3").list_objects_v2(Bucket="responses")["KeyCount"] == 0
    assert stored(keep({**attempt, "value": value, "inlineBytes": len(text) - 1}, None)) == text.encode()


def test_the_event_of_cache_response_for_sam_works(aws: None, function: Load, read: Callable[[str], Any]) -> None:
    event = {**read("events/functions/cache-response.json"), "responseBucket": "responses"}
    assert json.loads(stored(function("cache_response").handler(event, None))) == event["value"]
