"""The paths of a request in the direct lane: what the function itself asks of Lambda and DynamoDB.

Its time, its log and its traces are left out: the function is there anyway, with its own trigger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from oncekit.bench.cost.counting import Cost, Counter
from oncekit.bench.cost.measuring import Bench
from oncekit.contract.lanes import DIRECT, FULL
from oncekit.local.endpoint.own_services import Answer, Proceed, Request, Service
from oncekit.local.once_cloud import PREFIX

OPERATION = "bench-direct"
AGAIN = "second attempt succeeds"
SIZES = (("300-byte", 300), ("1 KB", 1024))
BATCH = 10
_FUNCTION = Path(__file__).parents[1] / "functions/direct"
_ACTIONS = {"GetItem": "get_item", "UpdateItem": "update_item"}


def direct_paths(bench: Bench) -> Iterator[tuple[str, Cost]]:
    """What each path takes, a request of a batch its share of that."""
    there = bench.cloud.once.outputs
    environment = {
        "ONCE_TABLE": there["TableName"],
        "ONCE_BUCKET": there["ResponseBucketName"],
        "ONCE_RETENTION_DAYS": bench.cloud.once.parameters["RetentionDays"],
    }
    bench.cloud.add_function(OPERATION, _FUNCTION, environment=environment)
    for label, size in SIZES:
        for name in ("new request", "duplicate"):
            yield f"{name}, {label} result", _asked(bench, _request(f"{DIRECT}-{size}", size))
    batch = [_request(f"{DIRECT}-{number}-of-a-batch", 300) for number in range(BATCH)]
    for name in ("new request", "duplicate"):
        yield f"{name}, 300-byte result, in a batch of {BATCH}", _share(_asked(bench, *batch))
    failing = _request(f"{DIRECT}-again", 1024, fails=1)
    first, then = _asked(bench, failing), bench.measure(FULL, failing)  # as in the execution that the sweep starts
    yield AGAIN, first + then


def _request(key: str, size: int, **more: Any) -> dict[str, Any]:
    return {"operation": OPERATION, "idempotencyKey": key, "payload": {"bytes": size, **more}}


def _asked(bench: Bench, *requests: dict[str, Any]) -> Cost:
    """What an invocation takes."""
    with (
        bench.counting() as counter,
        bench.cloud.services.behind("dynamodb", lambda service: _counted(counter, service)),
    ):
        answer = bench.cloud.functions.invoke(FunctionName=f"{PREFIX}{OPERATION}", Payload=json.dumps(requests))
        assert "FunctionError" not in answer, answer["Payload"].read()
        counter.cost.invocations += 1
    return replace(counter.cost, log_bytes=0)


def _counted(counter: Counter, service: Service) -> Service:
    """The service, and a count of what the function asks of it, which is another process."""

    def answer(request: Request, proceed: Proceed) -> Answer:
        if "REMOTE_ADDR" not in request.environ:
            return service(request, proceed)
        asked = request.asked.parameters
        found: list[Answer] = []

        def ask() -> dict[str, Any]:
            found.append(service(request, proceed))
            return {}

        counter.dynamodb(asked["TableName"], asked["Key"], _ACTIONS[request.target], ask)
        return found[0]

    return answer


def _share(cost: Cost) -> Cost:
    """Of one of the batch: all are alike, and but for the invocation each takes its own."""
    own = {name: value // BATCH for name, value in vars(cost).items() if name != "invocations"}
    return Cost(**own, invocations=cost.invocations / BATCH)
