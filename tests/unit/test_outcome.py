"""What a function behind an API answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from once import result_store
from once.outcome import Outcome

LARGE: Any = {"bucket": "b", "key": "k", "sha256": "s", "bytes": 9}


def test_a_good_answer_has_the_status_that_the_function_gives() -> None:
    answer = Outcome("t#o#k", "EXECUTED", 1, text='{"a":1}').http(status=201)
    assert (answer["statusCode"], answer["body"]) == (201, '{"a":1}')
    assert "Idempotent-Replayed" not in answer["headers"]


def test_what_is_in_progress_is_accepted_or_refused_as_the_function_says() -> None:
    outcome = Outcome("t#o#k", "IN_PROGRESS", 1)
    accepted, refused = outcome.http(status=201), outcome.http(reject=True)
    assert (accepted["statusCode"], refused["statusCode"]) == (202, 409)
    assert {each["headers"]["Retry-After"] for each in (accepted, refused)} == {"2"}
    assert refused["headers"]["Content-Type"] == "application/problem+json"
    assert json.loads(refused["body"])["id"] == "t#o#k"


def test_a_large_result_that_cannot_be_read_now_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_ref: Any) -> str:
        raise EndpointConnectionError(endpoint_url="s3")

    monkeypatch.setattr(result_store.ResultStore, "read", away)
    answer = Outcome("t#o#k", "REPLAYED", 1, ref=LARGE).http()
    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "2")
