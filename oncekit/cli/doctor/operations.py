"""The operations that are open: which wait for an operator, which for recovery, and which have no function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from oncekit.cli.deployed import inspection, listing, records
from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.functions import has_function, wanted
from oncekit.cli.doctor.stack import ALWAYS
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning, wrong

MOST = 500
"""Open records that are read, the oldest lease first: those that wait come before those that go on."""
TABLE = ALWAYS[0]


def checks(deployment: Deployment) -> Iterator[Check]:
    yield Check("operations.quarantined", TABLE, partial(_quarantined, deployment))
    yield Check("operations.overdue", TABLE, partial(_overdue, deployment))
    yield Check("operations.functions", TABLE, partial(_functions, deployment))


def _open(deployment: Deployment) -> tuple[Sequence[dict[str, Any]], bool]:
    """Open operations as `once ls` shows them, and whether they are all."""
    key = ("open operations",)
    if key not in deployment.answers:
        deployment.id(TABLE)
        with deployment.asking("dynamodb"):
            deployment.answers[key] = listing.open_operations(
                deployment.stack, records.STATUSES, False, lambda _: True, MOST
            )
    found = deployment.answers[key]
    return found["operations"], found["isComplete"]


def _counted(found: Sequence[object], complete: bool) -> str:
    return f"{len(found)}{'' if complete else ' or more'}"


def _quarantined(deployment: Deployment) -> Verdict:
    operations, complete = _open(deployment)
    found = [each for each in operations if each["status"] == "QUARANTINED"]
    if not found:
        return ok("none")
    errors = Counter(each["error"]["name"] if each["error"] else "no error" for each in found)
    shown = ", ".join(f"{count} × {name}" for name, count in errors.most_common(5))
    return wrong(
        f"{_counted(found, complete)} wait for an operator: {shown}",
        f"{deployment.once('ls --status QUARANTINED')} names them, {deployment.once('show ID')} shows one; "
        "then resolve or retry it",
    )


def _overdue(deployment: Deployment) -> Verdict:
    operations, complete = _open(deployment)
    now, period = deployment.stack.now(), deployment.stack.number("RecoveryPeriodMinutes")
    found = [each for each in operations if each["overdue"]]
    if not found:
        return ok("none")
    # 0 is a lease that recovery or an operator ended: when, nobody notes.
    since = min((each["leaseExpiresAt"] for each in found if each["leaseExpiresAt"] > 0), default=now)
    told = f"{_counted(found, complete)} open though the lease is over, for {inspection.since(now, since)} at most"
    look = f"{deployment.once('ls --overdue')} names them"
    # The first sweep after the lease may be a whole period away, and what it starts takes its time.
    if now - since <= 2 * period * 60:
        return warning(f"{told}: recovery has not come yet", f"it runs every {period} min; wait, then {look}")
    return wrong(
        f"{told}: recovery is not started, or does not end",
        f"see triggers.schedule; {look}, {deployment.once('show ID')} shows one; an owner that is RUNNING is "
        "slow, not dead",
    )


def _functions(deployment: Deployment) -> Verdict:
    operations, _ = _open(deployment)
    names = sorted({each["id"].split("#", 2)[1] for each in operations})
    missing = [each for each in names if not has_function(deployment, each)]
    if missing:
        return wrong(
            f"open operations have no function with the alias live: {', '.join(missing)}",
            f"deploy {', '.join(wanted(deployment, each) for each in missing)}; then {deployment.once('retry ID')} for "
            "each that is quarantined",
        )
    return ok(f"{len(names)} operations are open, each has its function" if names else "nothing is open")
