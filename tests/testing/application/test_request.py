"""A Request and its lock, for a unit test without a cloud."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from once import LockLostError
from once.step import Step

from oncekit.testing.request import Requests

SAMPLES = Path(__file__).parents[3] / "functions"


def placing(calls: list[str]) -> Callable[[Step], Any]:
    def write(step: Step) -> Any:
        calls.append(step.name)
        step.put("orders", {"orderId": "1"})
        return {"placed": len(calls)}

    return write


def test_a_step_is_made_once_over_two_attempts(once_request: Requests) -> None:
    once_request.table("orders", "orderId")
    calls: list[str] = []
    first = once_request("place", {}).step("place", placing(calls), meaning="it")
    assert once_request("place", {}, attempt=2).step("place", placing(calls), meaning="it") == first == {"placed": 1}
    assert once_request.rows("orders") == [{"orderId": "1"}] and calls == ["place"]


def test_an_attempt_whose_lock_was_taken_over_writes_nothing(once_request: Requests) -> None:
    once_request.table("orders", "orderId")
    request = once_request("place", {})
    once_request.take_over(request)
    with pytest.raises(LockLostError):
        request.step("place", placing([]))
    assert once_request.rows("orders") == []


def test_a_handler_takes_the_event(once_request: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in (("orders", "orderId"), ("stock", "sku")):
        once_request.table(name, key)
        monkeypatch.setenv(f"{name.upper()}_TABLE", name)
    monkeypatch.syspath_prepend(SAMPLES / "place_order")
    before = set(sys.modules)
    event = once_request.event("place-order", {"customer": "c", "items": [{"sku": "mug", "quantity": 2}]})
    importlib.import_module("app").handler(event, None)
    for name in set(sys.modules) - before:
        del sys.modules[name]
    assert once_request.rows("stock") == [{"sku": "mug", "available": 98}]
