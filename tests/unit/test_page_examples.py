"""The examples of the README, of docs/effects.md and of docs/lanes.md work as they stand."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from once import JSON, PermanentError, Request, operation
from once.clients import client

ROOT = Path(__file__).parents[2]
OWNER = "arn:aws:states:us-east-1:123456789012:execution:Operation:one"
ORDER = {"orderId": "12345", "card": "visa", "amount": 4200}


def example(page: str, mark: str) -> str:
    """The one piece of Python on a page that has `mark` in it."""
    [found] = [
        code for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL) if mark in code
    ]
    return str(found)


@dataclass
class Provider:
    """It does the same work once per key, as Stripe does."""

    charges: list[int] = field(default_factory=list)
    dies_after: bool = False
    by_key: dict[str, JSON] = field(default_factory=dict)

    def charge(self, card: str, amount: int, idempotency_key: str | None = None) -> Any:
        if idempotency_key in self.by_key:
            return self.by_key[idempotency_key]
        self.charges.append(amount)
        charge: JSON = {"id": f"ch_{len(self.charges)}"}
        if idempotency_key:
            self.by_key[idempotency_key] = charge
        if self.dies_after:
            raise ConnectionError("the answer was lost")
        return charge


class Orders:
    def put_item(self, **item: object) -> None:
        """A plain write."""


def test_function_without_once_charges_again_when_its_message_comes_again() -> None:
    provider = Provider()
    names: dict[str, Any] = {"json": json, "provider": provider, "orders": Orders()}
    exec(example("README.md", "orders.put_item("), names)
    for _ in range(2):
        names["handler"]({"Records": [{"body": json.dumps({**ORDER, "id": "12345"})}]}, None)
    assert provider.charges == [4200, 4200]


def test_same_function_under_once_charges_once_also_when_it_died_after_the_charge(
    acquire: Callable[[dict[str, Any]], dict[str, Any]],
    event: Callable[..., dict[str, Any]],
    rows: Callable[[str], list[dict[str, Any]]],
) -> None:
    provider = Provider(dies_after=True)
    names: dict[str, Any] = {"operation": operation, "Request": Request, "JSON": JSON, "provider": provider}
    exec(example("README.md", "request.put_once("), names)
    with pytest.raises(ConnectionError):
        names["handler"](acquire(event("charge", ORDER, fence=1)))
    for fence in (2, 3):
        reply = names["handler"](acquire(event("charge", ORDER, fence=fence)))
        assert json.loads(str(reply["onceResult"])) == {"id": "ch_1"}
    assert provider.charges == [4200]
    assert [row["chargeId"] for row in rows("orders")] == [{"S": "ch_1"}]


def test_the_command_for_an_operator_prints_the_key_that_the_provider_got(
    event: Callable[..., dict[str, Any]],
) -> None:
    [(command, told)] = re.findall(r"^\$ python3 (-c .*)\n(.*)$", (ROOT / "docs/library.md").read_text(), re.MULTILINE)
    arguments = shlex.split(command)
    request = Request.from_event(event("charge-payment", {}))
    assert told == replace(request, lock=replace(request.lock, id=arguments[2])).provider_key(arguments[3])
    printed = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout
    assert printed == f"{told}\n"


class Context:
    """Of an invocation that has a minute left."""

    function_name, aws_request_id = "shop", "0f5c1d2e-1111-4222-8333-444455556666"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def direct(aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TABLE": "IdempotencyTable", "BUCKET": "responses", "RETENTION_DAYS": "30"}.items():
        monkeypatch.setenv(f"ONCE_{name}", value)


@pytest.mark.usefixtures("direct")
def test_a_handler_that_takes_the_lock_charges_once_whatever_comes_again(
    rows: Callable[[str], list[dict[str, Any]]],
) -> None:
    provider = Provider(dies_after=True)
    names: dict[str, Any] = {"operation": operation, "Request": Request, "JSON": JSON}
    names |= {"provider": provider, "json": json}
    exec(example("docs/lanes.md", "charge.once("), names)
    batch = {"Records": [{"body": json.dumps(ORDER)}, {"body": json.dumps({**ORDER, "orderId": "12346"})}]}
    for _ in range(2):
        names["handler"](batch, Context())
    assert [(row["status"]["S"], row["leaseExpiresAt"]["N"]) for row in rows("IdempotencyTable")] == [
        ("IN_PROGRESS", "0")
    ] * 2
    id = "default#charge#12345"
    lock = {"table": "IdempotencyTable", "id": id, "owner": OWNER, "fence": 2, "leaseExpiresAt": 0}
    lock["ticket"] = f"2026-01-01T00:00:00.000Z {'0' * 64} {id}"
    sent = {"operation": "charge", "tenant": "default", "idempotencyKey": "12345", "payload": ORDER, "attempt": 2}
    more = {"retentionDays": 30, "responseBucket": "responses", "replyToken": "r", "lock": lock}
    assert json.loads(names["handler"]({**sent, **more}, Context())["onceResult"]) == {"id": "ch_1"}
    assert provider.charges == [4200, 4200]


def test_example_of_a_step_does_what_the_page_says(
    acquire: Callable[[dict[str, Any]], dict[str, Any]],
    event: Callable[..., dict[str, Any]],
    rows: Callable[[str], list[dict[str, Any]]],
) -> None:
    names: dict[str, Any] = {}
    exec(example("docs/effects.md", "request.step("), names)
    handler = operation()(names["place"])
    client("dynamodb").put_item(TableName="stock", Item={"sku": {"S": "mug"}, "n": {"N": "1"}})
    for fence in (1, 2):
        reply = handler(acquire(event("place", key="first", fence=fence)))
        assert json.loads(str(reply["onceResult"])) == {"status": "placed"}
    with pytest.raises(PermanentError, match="out of stock"):
        handler(acquire(event("place", key="second")))
    assert len(rows("orders")) == 1
    assert rows("stock")[0]["n"] == {"N": "0"}
