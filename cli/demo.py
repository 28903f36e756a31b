"""`once demo`: the story of a charge. Every line is a check."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.problem import clear_errors, find_template

if TYPE_CHECKING:
    from local import Execution
    from local.cloud import LocalCloud

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


@dataclass
class Story:
    """Prints each check as it is made and remembers them."""

    say: Callable[[str], None]
    checks: list[dict[str, Any]] = field(default_factory=list)

    def check(self, what: str, expected: Any, seen: Any) -> None:
        ok = expected == seen
        self.checks.append({"check": what, "ok": ok, "expected": expected, "seen": seen})
        self.say(f"{'✓' if ok else '✗'} {what}" + ("" if ok else f": expected {expected!r}, saw {seen!r}"))

    @property
    def held(self) -> bool:
        return all(check["ok"] for check in self.checks)


def tell(as_json: bool, template: Path | None) -> int:
    path = find_template(template)
    from cli.report import stdout
    from local.cloud import LocalCloud

    console = stdout()

    def say(line: str) -> None:
        if not as_json:
            console.print(line, style="red" if line.startswith("✗") else None)

    story = Story(say)
    started = time.monotonic()
    with clear_errors(), LocalCloud(path) as cloud:
        for chapter in (charge_and_duplicates, crash_in_mid_work, large_report, payload_mismatch):
            say(f"\n{(chapter.__doc__ or '').strip()}")
            chapter(cloud, story)
    if as_json:
        print(json.dumps({"held": story.held, "checks": story.checks}))
    else:
        held = sum(check["ok"] for check in story.checks)
        say(f"\n{held} of {len(story.checks)} checks held, in {time.monotonic() - started:.1f} s.")
    return 0 if story.held else 1


def charge_and_duplicates(cloud: LocalCloud, story: Story) -> None:
    """A charge, the same charge again, and ten more at once"""
    first = cloud.run(CHARGE)
    story.check("the first request charges the card", "EXECUTED", disposition(first))
    again = cloud.run(CHARGE)
    story.check("the same request again is answered from the record", "REPLAYED", disposition(again))
    story.check("with the same answer, byte for byte", answer(cloud, first), answer(cloud, again))
    story.check("in five transitions", 5, again.transitions)
    ten = cloud.run_all([CHARGE] * 10)
    story.check("ten more at once get that answer too", {answer(cloud, first)}, {answer(cloud, e) for e in ten})
    story.check("the provider's ledger has one charge", 1, rows(cloud, "ProviderLedgerTable"))


def crash_in_mid_work(cloud: LocalCloud, story: Story) -> None:
    """The owner crashes while business logic runs; its lease ends; a duplicate takes over"""
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
    story.check("the owner is gone", "ABORTED", owner.status)
    early = cloud.run(request)
    story.check("a duplicate within the lease leaves the lock alone", "IN_PROGRESS", disposition(early))
    from local import VirtualClock

    assert isinstance(cloud.clock, VirtualClock)
    cloud.clock.advance(3600)
    late = cloud.run(request)
    story.check("a duplicate after the lease takes the lock over", True, "TakeOverLock" in late.states)
    story.check(
        "and finishes the work, as the second attempt", ("EXECUTED", 2), (disposition(late), late.output["attempt"])
    )
    story.check("the provider still charged once", 1, rows(cloud, "ProviderLedgerTable") - before)


def large_report(cloud: LocalCloud, story: Story) -> None:
    """A result of 2 MB, larger than Step Functions can carry"""
    first, again = cloud.run(REPORT), cloud.run(REPORT)
    story.check("the report is built, and its result is in S3", True, "resultRef" in (first.output or {}))
    story.check("it has 2 MB", True, len(answer(cloud, first)) >= REPORT["payload"]["bytes"])
    story.check("a duplicate gets the same bytes (SHA-256)", digest(cloud, first), digest(cloud, again))


def payload_mismatch(cloud: LocalCloud, story: Story) -> None:
    """Another amount under the same key"""
    other = CHARGE | {"payload": {**CHARGE["payload"], "amount": 9900}}
    before = rows(cloud, "ProviderLedgerTable")
    refused = cloud.run(other)
    story.check("is refused", "PayloadMismatch", refused.error)
    story.check("is kept for the operator", other, cloud.rejected()[-1]["input"])
    story.check("and charges nothing", 0, rows(cloud, "ProviderLedgerTable") - before)


def disposition(execution: Execution) -> str | None:
    return execution.output["disposition"] if execution.output else execution.error


def answer(cloud: LocalCloud, execution: Execution) -> str:
    """The text of the result, from the output or from S3."""
    output = execution.output or {}
    if "resultRef" in output:
        ref = output["resultRef"]
        body: bytes = cloud.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
        return body.decode()
    return str(output.get("result"))


def digest(cloud: LocalCloud, execution: Execution) -> str:
    return hashlib.sha256(answer(cloud, execution).encode()).hexdigest()


def rows(cloud: LocalCloud, table: str) -> int:
    return int(cloud.client("dynamodb").scan(TableName=cloud.resources[table], Select="COUNT")["Count"])
