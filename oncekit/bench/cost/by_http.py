"""The paths of a request that comes by HTTP: what API Gateway takes, and the fast lane behind it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from oncekit.bench.cost.counting import Cost, Counter
from oncekit.bench.cost.measuring import OPERATION, Bench
from oncekit.local.endpoint.access_keys import authorization
from oncekit.local.engine.interceptors import before
from oncekit.local.execution import execution_of

LANE = "HTTP"
LOOKED_UP = "GET of the status, 1 KB result"


def http_paths(bench: Bench) -> Iterator[tuple[str, Cost]]:
    """What each path takes."""
    for name in ("new request", "duplicate"):
        yield f"{name}, 1 KB result", _posted(bench, "http")
        yield f"{name}, 20 KB result, fetched", _posted(bench, "http-20", 20_000)
    yield LOOKED_UP, _looked_up(bench, "http")
    found: list[Cost] = []
    with bench.cloud.intercept(before(lambda: found.append(_posted(bench, "http-busy")), action="invoke")):
        _call(bench, "POST", f"/default/{OPERATION}", "http-busy", 1024)
    yield "duplicate while in progress", found[0]
    yield "payload mismatch", _posted(bench, "http", 2048)


def _posted(bench: Bench, key: str, size: int = 1024) -> Cost:
    """What a request takes, and the fetching of its result where that is large."""
    with bench.counting() as counter:
        known = _executions(bench)
        where = _counted(bench, counter, "POST", f"/default/{OPERATION}", key, size)
        if where:
            counter.cost.gets += 1
            _counted(bench, counter, "GET", f"/default/{where}")
        for arn in _executions(bench) - known:
            counter.add(bench.cloud.wait(arn))
    return counter.cost


def _looked_up(bench: Bench, key: str) -> Cost:
    """What a GET of the operation takes: one read of the record."""

    def ask() -> dict[str, Any]:
        _counted(bench, counter, "GET", f"/default/{OPERATION}/{key}")
        return {}

    with bench.counting() as counter:
        record = {"id": {"S": f"default#{OPERATION}#{key}"}}
        counter.dynamodb(bench.cloud.resources["IdempotencyTable"], record, "get_item", ask)
    return counter.cost


def _counted(bench: Bench, counter: Counter, method: str, path: str, key: str = "", size: int = 0) -> str:
    """Where the answer, whose call and bytes are counted, says that a large result is; empty for any other."""
    answer, sent = _call(bench, method, path, key, size)
    counter.cost.api_calls += 1
    counter.cost.data_bytes += sent
    return answer.headers["Location"] if answer.status == 303 else ""


def _call(bench: Bench, method: str, path: str, key: str, size: int) -> tuple[http.client.HTTPResponse, int]:
    """The answer, and the bytes of all of it."""
    at = urlsplit(bench.cloud.http_url)
    signed = authorization(bench.cloud.environment["AWS_ACCESS_KEY_ID"], "execute-api")
    line = http.client.HTTPConnection(str(at.hostname), at.port, timeout=60)
    headers = {"Authorization": signed, "Idempotency-Key": key, "Content-Type": "application/json"}
    line.request(method, path, json.dumps({"bytes": size}) if size else None, headers)
    answer = line.getresponse()
    head = sum(len(f"{name}: {value}\r\n") for name, value in answer.getheaders())
    sent = head + len(answer.read())
    line.close()
    return answer, sent


def _executions(bench: Bench) -> set[str]:
    return {execution_of(each).arn for machine in bench.cloud.executions.machines for each in machine.executions}
