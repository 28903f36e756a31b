"""Retention forgets the answer, never the effect; and a large answer is kept for as long as its record refers to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scenario import answer, charge, record_of, result, rows

from oncekit.local import LocalCloud
from oncekit.local.engine.interceptors import before

FUNCTIONS = Path(__file__).parents[1] / "functions"
DAY = 86_400


@pytest.fixture
def days(cloud: LocalCloud) -> int:
    """RetentionDays."""
    return int(cloud.parameters["RetentionDays"])


@pytest.fixture
def effects(cloud: LocalCloud) -> dict[str, Any]:
    """A request whose business logic has an effect in each way that the library knows."""
    tables = {"ORDERS_TABLE": "OrdersTable", "STOCK_TABLE": "StockTable"}
    environment = {name: cloud.resources[table] for name, table in tables.items()}
    cloud.add_function("library-effects", FUNCTIONS / "library_effects", environment=environment)
    return {"operation": "library-effects", "idempotencyKey": "e-1", "payload": {}}


def sold(cloud: LocalCloud, sku: str) -> int:
    table = cloud.resources["StockTable"]
    item = cloud.client("dynamodb").get_item(TableName=table, Key={"sku": {"S": sku}})["Item"]
    return int(item["sold"]["N"])


def test_a_key_is_executed_again_after_its_retention_and_its_provider_does_nothing(
    cloud: LocalCloud, days: int
) -> None:
    first = cloud.run(charge())
    cloud.clock.advance(days * DAY - 10)
    assert cloud.run(charge()).output["disposition"] == "REPLAYED"
    cloud.clock.advance(20)
    again = cloud.run(charge())
    assert (again.output["disposition"], again.output["attempt"]) == ("EXECUTED", 1)
    assert result(cloud, again) == result(cloud, first)
    assert rows(cloud, "ProviderLedgerTable") == 1


def test_single_writes_remember_what_the_record_has_forgotten(
    cloud: LocalCloud, effects: dict[str, Any], days: int
) -> None:
    first = result(cloud, cloud.run(effects))
    assert (first["created"], first["applied"]) == (True, True)
    cloud.clock.advance(days * DAY + 1)
    again = result(cloud, cloud.run(effects))
    assert again["providerKey"] == first["providerKey"]
    assert (again["created"], again["applied"]) == (True, False)
    assert rows(cloud, "OrdersTable") == 1
    assert sold(cloud, "by update") == 1


def test_a_step_is_forgotten_with_its_record_and_happens_again(
    cloud: LocalCloud, effects: dict[str, Any], days: int
) -> None:
    """Its note is in the record. Where that matters, a condition of the step's own holds beyond it."""
    cloud.run(effects)
    cloud.run(effects)
    assert sold(cloud, "by step") == 1
    cloud.clock.advance(days * DAY + 1)
    cloud.run(effects)
    assert sold(cloud, "by step") == 2


@pytest.mark.parametrize("size", [20_000, 300_000], ids=["kept by CacheResponse", "offloaded by the library"])
def test_the_days_in_the_key_of_an_answer_are_those_of_its_record(cloud: LocalCloud, days: int, size: int) -> None:
    request = {"operation": "build-report", "idempotencyKey": f"r-{size}", "payload": {"bytes": size}}
    key = cloud.run(request).output["resultRef"]["key"]
    assert key.startswith(f"responses/{days}d/default/build-report/")
    refers_for = record_of(cloud, request)["expiresAt"] - cloud.clock.now()
    assert days * DAY - 60 < refers_for <= days * DAY


def test_answer_is_kept_for_as_long_as_its_own_record_promises(cloud: LocalCloud) -> None:
    """RetentionDays falls from 365 to 1 while an execution is between its business logic and CacheResponse.

    It goes on with the definition that it began with and promises 365 days. A gradual rollout mixes the two.
    """
    with cloud.deployed_with({"RetentionDays": "365"}):
        request = {"operation": "build-report", "idempotencyKey": "r", "payload": {"bytes": 9_000}}
        with cloud.intercept(before(lambda: cloud.redeploy({"RetentionDays": "1"}), state="CacheResponse")):
            first = cloud.run(request)
        assert first.output["resultRef"]["key"].startswith("responses/365d/"), "which a rule deletes later"
        assert record_of(cloud, request)["expiresAt"] - cloud.clock.now() > 364 * DAY
        cloud.clock.advance(100 * DAY)
        assert answer(cloud, cloud.run(request)) == answer(cloud, first)
