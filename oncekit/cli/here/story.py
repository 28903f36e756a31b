"""The chapters of `once demo`: what is done on the local cloud, and what must come of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oncekit.cli.here.ledger import rows, without_once
from oncekit.cli.here.report import outcome
from oncekit.local import Execution, VirtualClock

if TYPE_CHECKING:
    from oncekit.cli.here.telling import Telling
    from oncekit.local.once_cloud import LocalCloud


CHARGE: dict[str, Any] = {
    "operation": "charge-payment",
    "tenant": "acme",
    "idempotencyKey": "order-12345",
    "payload": {"orderId": "12345", "amount": 4200, "currency": "EUR"},
}
REPORT: dict[str, Any] = {
    "operation": "build-report",
    "tenant": "acme",
    "idempotencyKey": "report-2026",
    "payload": {"bytes": 2_000_000},
}
LONGER_THAN_LEASE_AND_SWEEP_S = 160
"""By default a lease lasts 30 + 5 + 60 s, and every 60 s there is a sweep."""


def charge_and_duplicates(cloud: LocalCloud, tell: Telling) -> None:
    first = cloud.run(CHARGE)
    tell.check("the first request charges the card", "EXECUTED", outcome(first))
    tell.path(first)
    again = cloud.run(CHARGE)
    tell.check("the same request again is answered from the record", "REPLAYED", outcome(again))
    tell.check("with the same answer, byte for byte", answer(cloud, first), answer(cloud, again))
    tell.check("in five transitions", 5, again.transitions)
    tell.path(again)
    ten = {answer(cloud, each) for each in cloud.run_all([CHARGE] * 10)}
    tell.check("ten more at once get that answer too", [answer(cloud, first)], sorted(ten))
    tell.check("the provider's ledger has one charge", 1, ledger(cloud))
    _both_ledgers(cloud, tell, CHARGE, [CHARGE["payload"]] * 12)


def crash_in_mid_work(cloud: LocalCloud, tell: Telling) -> None:
    request = charge("crash")
    before = ledger(cloud)
    assert isinstance(cloud.clock, VirtualClock)
    owner = crashing(cloud, request)
    tell.check("the owner is gone, and the card is charged", ["ABORTED", 1], [owner.status, ledger(cloud) - before])
    tell.path(owner)
    cloud.settle()
    tell.check("a duplicate within the lease leaves the lock alone", "IN_PROGRESS", outcome(cloud.run(request)))
    cloud.clock.advance(LONGER_THAN_LEASE_AND_SWEEP_S)
    cloud.settle()
    tell.check("the next sweep after the lease completes it", "COMPLETED", record(cloud, request)["status"])
    tell.check("by another execution, under the next fence", [2, True], _fence_and_successor(cloud, request, owner))
    _path_of_successor(cloud, tell, request)
    tell.check("a duplicate gets that answer, and nobody had to send it again", "REPLAYED", outcome(cloud.run(request)))
    tell.check("the provider still charged once", 1, ledger(cloud) - before)
    _both_ledgers(cloud, tell, request, [request["payload"]] * 3, crashes=1)


def charge(key: str) -> dict[str, Any]:
    return CHARGE | {"idempotencyKey": f"order-{key}", "payload": {**CHARGE["payload"], "orderId": key}}


def crashing(cloud: LocalCloud, request: dict[str, Any]) -> Execution:
    """The execution that dies after the card was charged, before it hears so."""
    crashed: list[str] = []

    def crash(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.service == "lambda" and not crashed:
            crashed.append(call.execution_arn)
            proceed()
            cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn, error="Crash")
            raise ConnectionError("the execution is gone")
        return proceed()

    with cloud.intercept(crash):
        return cloud.run(request)


def record(cloud: LocalCloud, request: dict[str, Any]) -> dict[str, Any]:
    return cloud.record(id_of(request)) or {"status": "GONE"}


def id_of(request: dict[str, Any]) -> str:
    return f"{request['tenant']}#{request['operation']}#{request['idempotencyKey']}"


def _fence_and_successor(cloud: LocalCloud, request: dict[str, Any], owner: Execution) -> list[Any]:
    found = record(cloud, request)
    return [found.get("fence"), found.get("owner") != owner.arn]


def _path_of_successor(cloud: LocalCloud, tell: Telling, request: dict[str, Any]) -> None:
    if successor := record(cloud, request).get("owner"):
        tell.path(cloud.describe(successor))


def large_report(cloud: LocalCloud, tell: Telling) -> None:
    first, again = cloud.run(REPORT), cloud.run(REPORT)
    report = answer(cloud, first)
    tell.check("the report is built, and its result is in S3", True, "resultRef" in (first.output or {}))
    tell.path(first)
    tell.check("it has 2 MB", True, len(report) >= REPORT["payload"]["bytes"])
    tell.check("a duplicate gets the same bytes (SHA-256)", digest(cloud, first), digest(cloud, again))


def payload_mismatch(cloud: LocalCloud, tell: Telling) -> None:
    other = CHARGE | {"payload": {**CHARGE["payload"], "amount": 9900}}
    before = ledger(cloud)
    refused = cloud.run(other)
    tell.check("is refused", "PayloadMismatch", outcome(refused))
    tell.path(refused)
    tell.check("is kept for the operator", [other], [each.get("input") for each in cloud.rejected()][-1:])
    tell.check("and charges nothing", 0, ledger(cloud) - before)
    _both_ledgers(cloud, tell, CHARGE, [CHARGE["payload"], other["payload"]])


CHAPTERS: Mapping[str, Callable[[LocalCloud, Telling], None]] = {
    "A charge, the same charge again, and ten more at once": charge_and_duplicates,
    "The owner crashes after it charged the card": crash_in_mid_work,
    "A result of 2 MB, larger than Step Functions can carry": large_report,
    "Another amount under the same key": payload_mismatch,
}


def answer(cloud: LocalCloud, execution: Execution) -> str:
    """The text of the result, from the output or from S3; the error where there is none."""
    output = execution.output or {}
    if "resultRef" in output:
        ref = output["resultRef"]
        body: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
        return body.decode()
    return str(output.get("result", outcome(execution)))


def digest(cloud: LocalCloud, execution: Execution) -> str:
    return hashlib.sha256(answer(cloud, execution).encode()).hexdigest()


def ledger(cloud: LocalCloud) -> int:
    """The charges in the provider's ledger that were made with Once: under a key."""
    found = cloud.client("dynamodb").scan(
        TableName=cloud.resources["ProviderLedgerTable"],
        Select="COUNT",
        FilterExpression="attribute_exists(idempotencyKey)",
    )
    return int(found["Count"])


def _both_ledgers(
    cloud: LocalCloud, tell: Telling, request: dict[str, Any], deliveries: Sequence[dict[str, Any]], crashes: int = 0
) -> None:
    order = request["payload"]["orderId"]
    tell.ledger(rows(cloud, order), without_once(cloud, deliveries, crashes))
