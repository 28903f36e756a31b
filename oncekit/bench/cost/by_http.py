"""The paths of a request that comes by HTTP: what API Gateway takes, and the fast lane behind it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from oncekit.bench.cost.counting import Cost
from oncekit.bench.cost.measuring import OPERATION, Bench, Counting
from oncekit.local.access_keys import authorization
from oncekit.local.execution import execution_of
from oncekit.local.faults import before

LANE = "HTTP"
LOOKED_UP = "GET of the status, 1 KB result"


@dataclass(frozen=True)
class Answered:
    status: int
    headers: dict[str, str]
    """By name in lower case."""
    bytes: int
    """Of the whole answer."""


class Sender:
    """Sends requests to the cloud's API, and counts what each takes."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._signed = authorization(bench.cloud.environment["AWS_ACCESS_KEY_ID"], "execute-api")

    def post(self, key: str, size: int = 1024) -> Answered:
        return self.call("POST", f"/operations/{OPERATION}", key, json.dumps({"bytes": size}))

    def call(self, method: str, path: str, key: str = "", body: str = "") -> Answered:
        at = urlsplit(self._bench.cloud.http_url)
        line = http.client.HTTPConnection(str(at.hostname), at.port, timeout=60)
        headers = {"Authorization": self._signed, "Idempotency-Key": key, "Content-Type": "application/json"}
        line.request(method, path, body or None, headers)
        answer = line.getresponse()
        given, content = answer.getheaders(), answer.read()
        line.close()
        head = sum(len(f"{name}: {value}\r\n") for name, value in given)
        return Answered(answer.status, {k.lower(): v for k, v in given}, head + len(content))

    def measured(self, key: str, size: int = 1024, *, fetched: bool = False) -> Cost:
        """What a request takes; with `fetched`, the fetching of its large result, too."""
        with self._bench.counting() as count:
            known = self._executions()
            self._counted(count, self.post(key, size), fetched)
            for arn in self._executions() - known:
                count(self._bench.cloud.wait(arn))
        return count.cost

    def _counted(self, count: Counting, answer: Answered, fetched: bool) -> None:
        count.cost.api_calls += 1
        count.cost.data_bytes += answer.bytes
        if fetched:
            assert answer.status == 303
            count.cost.gets += 1
            self._counted(count, self.call("GET", answer.headers["location"].removeprefix("..")), False)

    def asked(self, key: str) -> Cost:
        """What a GET of the operation takes: one read of the record."""
        with self._bench.counting() as count:
            where = self._bench.cloud.resources["IdempotencyTable"]
            record = {"id": {"S": f"default#{OPERATION}#{key}"}}

            def ask() -> dict[str, Any]:
                self._counted(count, self.call("GET", f"/operations/{OPERATION}/{key}"), False)
                return {}

            count.counter.dynamodb(where, record, "get_item", ask)
        return count.cost

    def _executions(self) -> set[str]:
        return {
            execution_of(each).arn for machine in self._bench.cloud.executions.machines for each in machine.executions
        }


def http_paths(bench: Bench) -> Iterator[tuple[str, Cost]]:
    """What each path takes."""
    sender = Sender(bench)
    for name in ("new request", "duplicate"):
        yield f"{name}, 1 KB result", sender.measured("http")
        yield f"{name}, 20 KB result, fetched", sender.measured("http-20", 20_000, fetched=True)
    yield LOOKED_UP, sender.asked("http")
    found: list[Cost] = []
    with bench.cloud.intercept(before(lambda: found.append(sender.measured("http-busy")), action="invoke")):
        sender.post("http-busy")
    yield "duplicate while in progress", found[0]
    yield "payload mismatch", sender.measured("http", 2048)
