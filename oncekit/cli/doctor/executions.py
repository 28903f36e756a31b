"""What CloudWatch counts of both lanes: executions that were throttled, or ran out of time."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import partial

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.machines import FAST, OPERATION
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning

HOURS = 24
"""How far back it looks."""
WITHIN = f"in the last {HOURS} hours"


def checks(deployment: Deployment) -> Iterator[Check]:
    # Only Standard executions have a metric of throttled ones.
    yield Check("executions.throttled", OPERATION, partial(_throttled, deployment))
    for machine in (OPERATION, FAST):
        yield Check("executions.timed-out", machine, partial(_timed_out, deployment, machine))


def _counted(deployment: Deployment, machine: str, metric: str) -> int:
    end = datetime.datetime.fromtimestamp(deployment.stack.now() // 60 * 60, datetime.UTC)
    told = deployment.ask(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/States",
        MetricName=metric,
        Dimensions=[{"Name": "StateMachineArn", "Value": deployment.id(machine)}],
        StartTime=end - datetime.timedelta(hours=HOURS),
        EndTime=end,
        Period=3600,
        Statistics=["Sum"],
    )
    return int(sum(each["Sum"] for each in told["Datapoints"]))


def _throttled(deployment: Deployment) -> Verdict:
    count = _counted(deployment, OPERATION, "ExecutionThrottled")
    if not count:
        return ok(f"none {WITHIN}")
    return warning(
        f"{count:,} starts or steps were throttled {WITHIN}: the account's quota is used up, and requests wait",
        "deploy with Lane=fast, whose quotas are far higher, or request higher quotas for Step Functions (Service "
        "Quotas in the console)",
    )


def _timed_out(deployment: Deployment, machine: str) -> Verdict:
    count = _counted(deployment, machine, "ExecutionsTimedOut")
    if not count:
        return ok(f"none {WITHIN}")
    if machine == FAST:
        return warning(
            f"{count:,} executions ran out of time {WITHIN}; recovery starts the requests of those that had the "
            "lock in the full lane, after their leases",
            "its log and those of the functions say what took so long; deploy with FullLaneOperations for operations "
            "that do not fit into it",
        )
    return warning(
        f"{count:,} executions ran out of time {WITHIN}; recovery starts their requests again",
        "an execution may take a day: its history says what it waited for; "
        f"{deployment.once('ls --overdue')} names those that wait",
    )
