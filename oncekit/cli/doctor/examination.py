"""Runs every check. One that cannot be made says why, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from oncekit.cli.doctor import (
    alarms,
    bucket,
    executions,
    functions,
    lanes,
    machines,
    operations,
    queues,
    stack,
    table,
    triggers,
)
from oncekit.cli.doctor.deployment import NOT_LOCAL, Deployment
from oncekit.cli.doctor.verdict import CannotLook, Check, Finding, Gone, Verdict, skipped, wrong

GROUPS: tuple[Callable[[Deployment], Iterator[Check]], ...] = (
    stack.checks,
    table.checks,
    bucket.checks,
    machines.checks,
    executions.checks,
    functions.checks,
    lanes.checks,
    triggers.checks,
    queues.checks,
    alarms.checks,
    operations.checks,
)


def examine(deployment: Deployment) -> Iterator[Finding]:
    """The findings as they are made, the fine ones too. A check is made before the next one is asked for."""
    for checks in GROUPS:
        for check in checks(deployment):
            verdict = _made(deployment, check)
            yield Finding(check.name, verdict.outcome, check.resource, verdict.message, verdict.advice)


def _made(deployment: Deployment, check: Check) -> Verdict:
    try:
        return check.look()
    except CannotLook as reason:
        return skipped(f"could not look: {reason}")
    except Gone as gone:
        if deployment.is_left_out(check.resource):
            return skipped(NOT_LOCAL)
        return wrong(
            f"the stack lists it, and AWS does not have it ({gone})",
            "somebody deleted it outside CloudFormation: `aws cloudformation detect-stack-drift --stack-name "
            f"{deployment.stack.name}` tells what else is gone; make it again by taking it out of the template, "
            "deploying, "
            "and putting it back",
        )
