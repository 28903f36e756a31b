"""The schema of a request accepts the requests in events/ and refuses the bad ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from once import Request

ROOT = Path(__file__).parents[2]
GOOD = sorted(path.name for path in ROOT.glob("events/*.json"))
BAD = sorted(path.name for path in ROOT.glob("events/bad/*.json"))
ACCEPTED_AT_FIRST = {"unknown-operation.json", "payload-refused-by-schema.json"}
"""Requests in good form: what is wrong with them only the operation can say."""


@pytest.fixture
def schema(read: Callable[[str], Any]) -> Draft7Validator:
    return Draft7Validator(read("shared/once/request.schema.json"))


@pytest.mark.parametrize("name", GOOD)
def test_a_good_request_is_accepted(schema: Draft7Validator, read: Callable[[str], Any], name: str) -> None:
    assert schema.is_valid(read(f"events/{name}"))


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_refused(schema: Draft7Validator, read: Callable[[str], Any], name: str) -> None:
    assert schema.is_valid(read(f"events/bad/{name}")) == (name in ACCEPTED_AT_FIRST)


@pytest.mark.parametrize(
    "text", ["\0", "\n", "\x7f", "\x9f", "\u200b", "\u2028", "\u202e", "\u2066", "\ufeff"], ids=ascii
)
def test_a_key_has_nothing_that_a_line_hides(schema: Draft7Validator, read: Callable[[str], Any], text: str) -> None:
    request = read("events/charge-payment.json")
    assert not schema.is_valid({**request, "idempotencyKey": f"order-1{text}"})
    assert schema.is_valid({**request, "idempotencyKey": "👩\u200d🚀 é#"})


def test_a_request_has_no_fields_that_nobody_knows(schema: Draft7Validator, read: Callable[[str], Any]) -> None:
    request = read("events/charge-payment.json")
    assert schema.is_valid(request)
    assert not schema.is_valid({**request, "onFail": "retry"})


@pytest.mark.parametrize("name", [f"{sample}.json" for sample in ("build-report", "charge-payment", "place-order")])
def test_the_event_of_a_function_is_its_request_under_a_lock(read: Callable[[str], Any], name: str) -> None:
    request, event = read(f"events/{name}"), read(f"events/functions/{name}")
    assert {member: event[member] for member in request} == request
    assert Request.from_event(event).attempt == 1
