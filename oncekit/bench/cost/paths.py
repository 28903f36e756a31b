"""The paths of a request in either lane: what is sent, and what goes wrong on the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from oncekit.bench.cost.by_function import direct_paths
from oncekit.bench.cost.by_http import LANE as HTTP
from oncekit.bench.cost.by_http import http_paths
from oncekit.bench.cost.counting import Cost
from oncekit.bench.cost.measuring import LANES, OPERATION, Bench
from oncekit.contract.lanes import DIRECT, FAST, FULL, Lane
from oncekit.local import VirtualClock
from oncekit.local.engine.interceptors import before, fails
from oncekit.local.engine.service_calls import Call

SIZES = (("300-byte", 300), ("1 KB", 1024), ("20 KB", 20_000))
LARGE_REQUEST_BYTES = 8_000
HANDED_OVER = "new request of an operation in FullLaneOperations, 1 KB result"
ELSEWHERE = "work elsewhere, which its ticket ends, 1 KB result"
TAKES_OVER = "takes over an owner of the {} lane that died"
LONGER_THAN_A_LEASE_S = 3600
Costs = Mapping[tuple[str, str], Cost]
"""By lane and name: what a path costs in the lane by which its request comes, what is handed over included."""


def work(key: str, size: int = 1024, **more: Any) -> dict[str, Any]:
    return {"operation": OPERATION, "idempotencyKey": key, "payload": {"bytes": size, **more}}


def measured(bench: Bench) -> Costs:
    """All paths, the fast lane's first, those by HTTP after those of the machines, and the direct lane's last."""
    by_machine = {(lane, name): cost for lane in LANES for name, cost in _paths(bench, lane)}
    by_http = {(HTTP, name): cost for name, cost in http_paths(bench)}
    return by_machine | by_http | {(DIRECT, name): cost for name, cost in direct_paths(bench)}


def _paths(bench: Bench, lane: Lane) -> Iterator[tuple[str, Cost]]:
    for label, size in SIZES:
        request = work(f"{lane}-{size}", size)
        yield f"new request, {label} result", bench.measure(lane, request)
        yield f"duplicate, {label} result", bench.measure(lane, request)
    large = work(f"{lane}-large", note="x" * LARGE_REQUEST_BYTES)
    yield f"new request of {LARGE_REQUEST_BYTES // 1000} KB, 1 KB result", bench.measure(lane, large)
    yield "duplicate while in progress", _while_in_progress(bench, lane, work(f"{lane}-busy"))
    second_later = before(lambda: _advance(bench, 1), action="invoke")  # the full lane's next lease is surely another
    faults = fails("Lambda.Unknown", action="invoke"), second_later
    yield "second attempt succeeds", bench.measure(lane, work(f"{lane}-again"), *faults)
    yield ELSEWHERE, _elsewhere(bench, lane)
    yield "fails for good", bench.measure(lane, work(f"{lane}-fails", 1))
    careful = {**work(f"{lane}-crash"), "onCrash": "quarantine"}
    yield "quarantined after a crash", bench.measure(lane, careful, fails("Lambda.Unknown", action="invoke"))
    if lane == FULL:
        for owners in LANES:
            yield TAKES_OVER.format(owners), _takes_over(bench, owners)
    yield "payload mismatch", bench.measure(lane, work(f"{lane}-1024", 2048))
    if lane == FAST:
        with bench.cloud.deployed_with({"FullLaneOperations": OPERATION}):
            yield HANDED_OVER, bench.measure(lane, work(f"{lane}-full"))


def _while_in_progress(bench: Bench, lane: Lane, request: Any) -> Cost:
    found: list[Cost] = []
    with bench.cloud.intercept(before(lambda: found.append(bench.measure(lane, request)), action="invoke")):
        bench.run(lane, request)
    return found[0]


def _elsewhere(bench: Bench, lane: Lane) -> Cost:
    """What a request takes whose work is done elsewhere, and the calls of the library when that is done."""
    from once.ticket import Ticket

    cloud, request = bench.cloud, work(f"{lane}-elsewhere", pending=LONGER_THAN_A_LEASE_S)
    with bench.counting() as counter:
        counter.add(bench.run(lane, request))
        id = f"default#{OPERATION}#{request['idempotencyKey']}"
        record, table = cloud.record(id) or {}, cloud.outputs["TableName"]
        of = f"{record['acquiredAt']} {record['fingerprint']} {id}"
        ticket = Ticket(table, cloud.outputs["ResponseBucketName"], int(cloud.parameters["RetentionDays"]), of)

        def end() -> dict[str, Any]:
            event = {"ticket": str(ticket), "bytes": 1024}
            answer = cloud.functions.invoke(FunctionName=bench.elsewhere, Payload=json.dumps(event))
            assert json.loads(answer["Payload"].read()) == "COMPLETED"
            return {}

        key = {"id": {"S": id}}
        counter.dynamodb(table, key, "get_item", dict)
        counter.dynamodb(table, key, "update_item", end)
    return counter.cost


def _takes_over(bench: Bench, owners_lane: Lane) -> Cost:
    """What a request in the full lane pays that meets a dead owner; one that the sweep starts pays the same."""
    request = work(f"{owners_lane}-died")

    def die(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.service != "lambda":
            return proceed()
        # Not by StopExecution, which an Express execution does not know: AWS ends that one after 300 seconds.
        bench.cloud.executions.find(call.execution_arn).stop("Died", "")
        raise ConnectionError

    with bench.cloud.intercept(die):
        bench.run(owners_lane, request)
    _advance(bench, LONGER_THAN_A_LEASE_S)
    return bench.measure(FULL, request)


def _advance(bench: Bench, seconds: float) -> None:
    assert isinstance(bench.cloud.clock, VirtualClock)
    bench.cloud.clock.advance(seconds)
