"""The same work under Powertools' idempotency utility, against the same local DynamoDB."""

from __future__ import annotations

import warnings
from typing import Any

from oncekit.bench.counting import Cost, Counter
from oncekit.local.once_cloud import LocalCloud

TABLE = "powertools"


class CountedClient:
    """A DynamoDB client whose calls on the table are counted."""

    def __init__(self, cloud: LocalCloud, counter: Counter) -> None:
        self._client = cloud.client("dynamodb")
        self._counter = counter
        self.exceptions = self._client.exceptions
        self.meta = self._client.meta

    def __getattr__(self, action: str) -> Any:
        def call(**parameters: Any) -> dict[str, Any]:
            key = parameters.get("Key") or {"id": parameters["Item"]["id"]}
            method = getattr(self._client, action)
            return self._counter.dynamodb(TABLE, key, action, lambda: method(**parameters))

        return call


def powertools_costs(cloud: LocalCloud) -> dict[str, Cost]:
    """A new request and its duplicate, with results of 1 KB and 20 KB."""
    cloud.client("dynamodb").create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    costs: dict[str, Cost] = {}
    for size, label in ((1024, "1 KB"), (20_000, "20 KB")):
        costs[f"Powertools: new, {label} result"] = _invoke(cloud, size)
        costs[f"Powertools: duplicate, {label} result"] = _invoke(cloud, size)
    return costs


def _invoke(cloud: LocalCloud, size: int) -> Cost:
    from aws_lambda_powertools.utilities.idempotency import (
        DynamoDBPersistenceLayer,
        IdempotencyConfig,
        idempotent_function,
    )

    counter = Counter(cloud)
    store = DynamoDBPersistenceLayer(table_name=TABLE, boto3_client=CountedClient(cloud, counter))  # type: ignore[arg-type]  # counted

    @idempotent_function(  # type: ignore[untyped-decorator]  # as the library has it
        data_keyword_argument="request",
        persistence_store=store,
        config=IdempotencyConfig(event_key_jmespath="key"),
        key_prefix="bench",
    )
    def work(request: dict[str, Any]) -> dict[str, Any]:
        return {"report": "x" * request["bytes"]}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no Lambda context here to take the remaining time from
        work(request={"key": f"r{size}", "bytes": size})
    counter.cost.invocations = 1
    return counter.cost
