"""The stack itself: its status, and whether everything that Once needs is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning, wrong

ALWAYS = (
    "IdempotencyTable",
    "ResponseBucket",
    "ResponseBucketPolicy",
    "RejectedRequestsQueue",
    "RejectedRequestsQueuePolicy",
    "OperationStateMachine",
    "OperationStateMachineAlias",
    "OperationLogGroup",
    "FastStateMachine",
    "FastStateMachineAlias",
    "FastLogGroup",
    "CacheResponseFunction",
    "RecoveryStateMachine",
    "RecoveryLogGroup",
    "RecoverySchedule",
    "DeadExecutionRule",
    "RecoveryDeadLetterQueue",
    "RecoveryDeadLetterQueuePolicy",
    "AlarmTopic",
    "QuarantinedOperationsAlarm",
    "OverdueOperationsAlarm",
    "FailedExecutionsAlarm",
    "TimedOutExecutionsAlarm",
    "AbortedExecutionsAlarm",
    "ThrottledExecutionsAlarm",
    "FastFailedExecutionsAlarm",
    "FastTimedOutExecutionsAlarm",
    "RejectedRequestsAlarm",
    "RejectedRequestsAgeAlarm",
    "RecoveryFailingAlarm",
    "RecoveryDeadLetterAlarm",
    "OpenOperationsGrowthAlarm",
    "CacheResponseErrorsAlarm",
    "CacheResponseThrottlesAlarm",
    "TableThrottlesAlarm",
    "TableErrorsAlarm",
)
WHERE = {
    "EventTrigger": ("RequestRule", "EventDeadLetterQueue", "EventDeadLetterQueuePolicy", "EventDeadLetterAlarm"),
    "QueueTrigger": (
        "RequestQueue",
        "RequestQueuePolicy",
        "RequestDeadLetterQueue",
        "RequestDeadLetterQueuePolicy",
        "RequestPipe",
        "RequestPipeLogGroup",
        "RequestPipeFailingAlarm",
        "RequestDeadLetterAlarm",
        "RequestAgeAlarm",
    ),
    "HttpTrigger": ("RequestApi", "RequestApiRole", "RequestApiErrorsAlarm", "RequestApiLatencyAlarm"),
}
"""Logical ids that there are where the parameter is "true"."""
NEWER = ("HttpTrigger",)
"""Parameters that a stack of an earlier version does not have, nor what they switch on."""
Given = Mapping[str, str]
SOMETIMES: Mapping[str, Callable[[Given], bool]] = {
    "RequestBus": lambda given: (
        given.get("EventTrigger", "true") == "true" and given.get("EventBusName", "own") == "own"
    ),
    "OpenOperationsAlarm": lambda given: given.get("OpenOperationsThreshold", "0") != "0",
    "DeadExecutionsAlarm": lambda given: not given.get("EncryptionKeyArn"),
    "OperationRolloutAlarm": lambda given: given.get("Rollout", "AllAtOnce") != "AllAtOnce",
    "FastRolloutAlarm": lambda given: given.get("Rollout", "AllAtOnce") != "AllAtOnce",
    "CacheResponseRolloutAlarm": lambda given: given.get("Rollout", "AllAtOnce") != "AllAtOnce",
}
"""Logical ids that there are by what more than one switch, or another value, says."""
SETTLED = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


def checks(deployment: Deployment) -> Iterator[Check]:
    name = deployment.stack.name
    yield Check("stack.status", name, lambda: _status(deployment))
    yield Check("stack.resources", name, lambda: _resources(deployment))
    yield Check("stack.protection", name, lambda: _protection(deployment))


def expected(deployment: Deployment) -> list[str]:
    """The logical ids that a stack with these parameters has."""
    given = deployment.stack.parameters
    usual = {switch: "false" if switch in NEWER else "true" for switch in WHERE}
    switched_on = [each for switch, ids in WHERE.items() if given.get(switch, usual[switch]) == "true" for each in ids]
    return [*ALWAYS, *switched_on, *(each for each, there in SOMETIMES.items() if there(given))]


def _status(deployment: Deployment) -> Verdict:
    name, status = deployment.stack.name, deployment.stack.status
    if status in SETTLED:
        return ok(status)
    if status.endswith("_IN_PROGRESS"):
        return warning(
            f"{status}: what is found below may change",
            f"wait: `aws cloudformation wait stack-update-complete --stack-name {name}`",
        )
    return wrong(
        f"{status}: the last deployment did not come through",
        f"`aws cloudformation describe-stack-events --stack-name {name}` says what failed first; fix it and "
        "deploy again",
    )


def _resources(deployment: Deployment) -> Verdict:
    wanted = expected(deployment)
    missing = [each for each in wanted if each not in deployment.resources]
    failed = [logical_id for logical_id, each in deployment.resources.items() if each.status.endswith("_FAILED")]
    if missing:
        return wrong(
            f"not in the stack: {', '.join(missing)}",
            "deploy the whole template: `sam build && sam deploy`; add what it lacks",
        )
    if failed:
        return wrong(
            f"failed: {', '.join(failed)}",
            f"`aws cloudformation describe-stack-resources --stack-name {deployment.stack.name}` says why; fix "
            "it and deploy again",
        )
    return ok(f"{len(deployment.resources)} resources, all that Once needs among them")


def _protection(deployment: Deployment) -> Verdict:
    if deployment.stack.is_protected:
        return ok("it cannot be deleted by mistake")
    if not deployment.is_prod:
        return ok("not protected against deletion, as the stage is not prod")
    return deployment.absent(
        warning(
            "a prod stack can be deleted by mistake: table, bucket and refused requests are kept, all the rest is lost",
            "`aws cloudformation update-termination-protection --enable-termination-protection --stack-name "
            f"{deployment.stack.name}`",
        )
    )
