"""The same work under Powertools' idempotency utility, against the same local DynamoDB.

A duplicate starts the function, too: it is where the utility looks for the stored answer.
"""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stdout
from typing import Any

from oncekit.bench.cost import logged
from oncekit.bench.cost.counting import Cost, Counter
from oncekit.bench.cost.paths import SIZES
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
    """A new request and its duplicate, with results of 300 bytes, 1 KB and 20 KB."""
    cloud.client("dynamodb").create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    costs: dict[str, Cost] = {}
    for label, size in SIZES:
        costs[f"Powertools: new request, {label} result"] = _invoke(cloud, size)
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

    printed = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(printed):
        warnings.simplefilter("ignore")  # there is no Lambda context here to take the remaining time from
        work(request={"key": f"r{size}", "bytes": size})
    counter.cost.invocations = 1
    counter.cost.log_bytes = logged.bytes_of(printed.getvalue().splitlines())
    return counter.cost
