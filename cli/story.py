"""The chapters of `once demo`: what is done on the local cloud, and what must come of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cli.report import came_to
from local import Execution, VirtualClock

if TYPE_CHECKING:
    from local.cloud import LocalCloud

Check = Callable[[str, object, object], None]
"""What is checked, what is expected, what was seen; the last two can be written as JSON."""

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
LONGER_THAN_ANY_LEASE_S = 5000
"""The template allows a lease of 840 + 5 + 3600 s."""


def charge_and_duplicates(cloud: LocalCloud, check: Check) -> None:
    first = cloud.run(CHARGE)
    check("the first request charges the card", "EXECUTED", came_to(first))
    again = cloud.run(CHARGE)
    check("the same request again is answered from the record", "REPLAYED", came_to(again))
    check("with the same answer, byte for byte", answer(cloud, first), answer(cloud, again))
    check("in five transitions", 5, again.transitions)
    ten = {answer(cloud, each) for each in cloud.run_all([CHARGE] * 10)}
    check("ten more at once get that answer too", [answer(cloud, first)], sorted(ten))
    check("the provider's ledger has one charge", 1, rows(cloud, "ProviderLedgerTable"))


def crash_in_mid_work(cloud: LocalCloud, check: Check) -> None:
    request = CHARGE | {"idempotencyKey": "order-crash", "payload": {**CHARGE["payload"], "orderId": "crash"}}
    crashed: list[str] = []

    def crash(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.service == "lambda" and not crashed:
            crashed.append(call.execution_arn)
            proceed()  # the card is charged, and then the answer never comes back
            cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn, error="Crash")
            raise ConnectionError("the execution is gone")
        return proceed()

    before = rows(cloud, "ProviderLedgerTable")
    with cloud.intercept(crash):
        owner = cloud.run(request)
    check("the owner is gone", "ABORTED", owner.status)
    early = cloud.run(request)
    check("a duplicate within the lease leaves the lock alone", "IN_PROGRESS", came_to(early))
    assert isinstance(cloud.clock, VirtualClock)
    cloud.clock.advance(LONGER_THAN_ANY_LEASE_S)
    late = cloud.run(request)
    check("a duplicate after the lease takes the lock over", True, "TakeOverLock" in late.states)
    check(
        "and finishes the work, as the second attempt",
        ["EXECUTED", 2],
        [came_to(late), (late.output or {}).get("attempt")],
    )
    check("the provider still charged once", 1, rows(cloud, "ProviderLedgerTable") - before)


def large_report(cloud: LocalCloud, check: Check) -> None:
    first, again = cloud.run(REPORT), cloud.run(REPORT)
    check("the report is built, and its result is in S3", True, "resultRef" in (first.output or {}))
    check("it has 2 MB", True, len(answer(cloud, first)) >= REPORT["payload"]["bytes"])
    check("a duplicate gets the same bytes (SHA-256)", digest(cloud, first), digest(cloud, again))


def payload_mismatch(cloud: LocalCloud, check: Check) -> None:
    other = CHARGE | {"payload": {**CHARGE["payload"], "amount": 9900}}
    before = rows(cloud, "ProviderLedgerTable")
    refused = cloud.run(other)
    check("is refused", "PayloadMismatch", came_to(refused))
    check("is kept for the operator", [other], [each.get("input") for each in cloud.rejected()][-1:])
    check("and charges nothing", 0, rows(cloud, "ProviderLedgerTable") - before)


CHAPTERS: Mapping[str, Callable[[LocalCloud, Check], None]] = {
    "A charge, the same charge again, and ten more at once": charge_and_duplicates,
    "The owner crashes while business logic runs; its lease ends; a duplicate takes over": crash_in_mid_work,
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
    return str(output.get("result", came_to(execution)))


def digest(cloud: LocalCloud, execution: Execution) -> str:
    return hashlib.sha256(answer(cloud, execution).encode()).hexdigest()


def rows(cloud: LocalCloud, table: str) -> int:
    return int(cloud.client("dynamodb").scan(TableName=cloud.resources[table], Select="COUNT")["Count"])
