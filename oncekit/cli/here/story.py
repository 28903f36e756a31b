"""The chapters of `once demo`: what is done on the local cloud, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oncekit.cli.here.report import outcome
from oncekit.cli.here.telling import Telling, charges
from oncekit.contract.requests import id_of
from oncekit.local import Execution, VirtualClock

if TYPE_CHECKING:
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
    tell.check("the provider's ledger has one charge", 1, len(charges(cloud, "12345")))
    tell.ledgers(cloud, [CHARGE["payload"]] * 12)


def crash_in_mid_work(cloud: LocalCloud, tell: Telling) -> None:
    request = CHARGE | {"idempotencyKey": "order-crash", "payload": {**CHARGE["payload"], "orderId": "crash"}}
    assert isinstance(cloud.clock, VirtualClock)
    owner = crashing(cloud, request)
    charged = len(charges(cloud, "crash"))
    tell.check("the owner is gone, and the card is charged", ["ABORTED", 1], [owner.status, charged])
    tell.path(owner)
    cloud.settle()
    tell.check("a duplicate within the lease leaves the lock alone", "IN_PROGRESS", outcome(cloud.run(request)))
    cloud.clock.advance(LONGER_THAN_LEASE_AND_SWEEP_S)
    cloud.settle()
    record = cloud.record(str(id_of(request))) or {"status": "GONE", "fence": 0, "owner": owner.arn}
    tell.check("the next sweep after the lease completes it", "COMPLETED", record["status"])
    by_another = [record["fence"], record["owner"] != owner.arn]
    tell.check("by another execution, under the next fence", [2, True], by_another)
    tell.path(cloud.describe(record["owner"]))
    tell.check("a duplicate gets that answer, and nobody had to send it again", "REPLAYED", outcome(cloud.run(request)))
    tell.check("the provider still charged once", 1, len(charges(cloud, "crash")))
    tell.ledgers(cloud, [request["payload"]] * 3, crashes=1)


def crashing(cloud: LocalCloud, request: dict[str, Any]) -> Execution:
    """The execution that dies after the card was charged, before it hears so."""
    from oncekit.cli.here.chosen_faults import fault_of

    name = "owner"
    with cloud.intercept(fault_of(cloud, "dies-after", name)):
        return cloud.wait(cloud.start(request, name))


def large_report(cloud: LocalCloud, tell: Telling) -> None:
    first, again = cloud.run(REPORT), cloud.run(REPORT)
    report = answer(cloud, first)
    tell.check("the report is built, and its result is in S3", True, "resultRef" in (first.output or {}))
    tell.path(first)
    tell.check("it has 2 MB", True, len(report) >= REPORT["payload"]["bytes"])
    tell.check("a duplicate gets the same bytes", True, report == answer(cloud, again))


def payload_mismatch(cloud: LocalCloud, tell: Telling) -> None:
    other = CHARGE | {"payload": {**CHARGE["payload"], "amount": 9900}}
    before = charges(cloud, "12345")
    refused = cloud.run(other)
    tell.check("is refused", "PayloadMismatch", outcome(refused))
    tell.path(refused)
    tell.check("is kept for the operator", [other], [each.get("input") for each in cloud.rejected()][-1:])
    tell.check("and charges nothing", before, charges(cloud, "12345"))
    tell.ledgers(cloud, [CHARGE["payload"], other["payload"]])


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
