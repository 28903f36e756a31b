"""The state machines of both lanes and of recovery, and the aliases that executions of operations are started at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.timeouts import Timeouts, timeouts_of
from oncekit.cli.doctor.verdict import Check, Gone, Verdict, ok, warning, wrong
from oncekit.local.lanes import FULL
from oncekit.local.quotas import EXPRESS_SECONDS

OPERATION, FAST, RECOVERY = "OperationStateMachine", "FastStateMachine", "RecoveryStateMachine"
ALIAS, FAST_ALIAS = "OperationStateMachineAlias", "FastStateMachineAlias"
ALIASES = {OPERATION: ALIAS, FAST: FAST_ALIAS}
"""Of the lanes: the full one, and the fast one."""
RUNS_BUSINESS_LOGIC = "ExecuteBusinessLogic"
EXPRESS = "EXPRESS"
TYPES = {OPERATION: "STANDARD", FAST: EXPRESS, RECOVERY: EXPRESS}
ROLES = {OPERATION: "OperationRole", FAST: "FastRole", RECOVERY: "RecoveryRole"}
AROUND = 65
"""Seconds that the fast lane leaves for what comes before and after business logic, as in its definition."""


def checks(deployment: Deployment) -> Iterator[Check]:
    for machine in TYPES:
        yield Check("machines.status", machine, partial(_status, deployment, machine))
        yield Check("machines.type", machine, partial(_type, deployment, machine))
        yield Check("machines.log", machine, partial(_log, deployment, machine))
        yield Check("machines.encryption", machine, partial(_encryption, deployment, machine))
        yield Check("machines.role", machine, partial(_role, deployment, machine))
    for machine, alias in ALIASES.items():
        yield Check("machines.alias", alias, partial(_alias, deployment, alias))
        yield Check("machines.timeouts", machine, partial(_timeouts, deployment, machine))


def routes(deployment: Deployment, alias: str) -> dict[str, int]:
    """The versions that executions run, by ARN, with their share in percent."""
    told = deployment.ask("stepfunctions", "describe_state_machine_alias", stateMachineAliasArn=deployment.id(alias))
    return {each["stateMachineVersionArn"]: each["weight"] for each in told["routingConfiguration"] if each["weight"]}


def timeouts(deployment: Deployment, machine: str) -> dict[str, Timeouts]:
    """Of each version that executions run, by its number, and of the machine itself, which the pipe starts."""
    try:
        arns = {arn.rpartition(":")[2]: arn for arn in routes(deployment, ALIASES[machine])}
    except Gone:  # which the check of the alias tells
        arns = {}
    arns["the newest"] = deployment.id(machine)
    ask = partial(deployment.ask, "stepfunctions", "describe_state_machine")
    is_fast = machine == FAST
    return {name: timeouts_of(ask(stateMachineArn=arn)["definition"], is_fast) for name, arn in arns.items()}


def _machine(deployment: Deployment, machine: str) -> Mapping[str, Any]:
    return deployment.ask("stepfunctions", "describe_state_machine", stateMachineArn=deployment.id(machine))


def _status(deployment: Deployment, machine: str) -> Verdict:
    status = _machine(deployment, machine)["status"]
    return (
        ok(status) if status == "ACTIVE" else wrong(f"it is {status}: nothing can be started", "deploy the stack again")
    )


def _type(deployment: Deployment, machine: str) -> Verdict:
    is_type = _machine(deployment, machine)["type"]
    if is_type == TYPES[machine]:
        return ok(is_type)
    return wrong(
        f"it is {is_type}, and should be {TYPES[machine]}",
        "deploy the newest template, as docs/upgrading.md says: CloudFormation creates it again",
    )


def _log(deployment: Deployment, machine: str) -> Verdict:
    told = _machine(deployment, machine).get("loggingConfiguration", {})
    level, data = (
        told.get("level", "OFF") if told.get("destinations") else "OFF",
        bool(told.get("includeExecutionData")),
    )
    given = deployment.stack.parameters
    meant, as_meant = given.get("ExecutionLog", "ALL"), given.get("IncludeExecutionData", "true") == "true"
    as_meant = as_meant and not deployment.is_prod  # the template gives no stack in prod a log of payloads
    unwanted = "the stack is prod" if deployment.is_prod else "IncludeExecutionData is false"
    turn = (
        f"`aws stepfunctions update-state-machine --state-machine-arn {deployment.id(machine)} "
        f"--logging-configuration ...`, or the console: Logging, level {meant}"
    )
    if level == "OFF":
        return _no_log(deployment, machine, meant, turn)
    if data and not as_meant:
        return wrong(
            f"its log holds payloads and results, though {unwanted}",
            turn + ", without execution data",
        )
    if level != meant:
        return warning(f"it logs {level}, and ExecutionLog is {meant}", turn)
    if as_meant and not data:
        return warning(
            "its log has no inputs and outputs, though IncludeExecutionData is true", turn + ", with execution data"
        )
    return ok(f"{level}, {'with' if data else 'without'} execution data")


def _no_log(deployment: Deployment, machine: str, meant: str, turn: str) -> Verdict:
    unseen = "it logs nothing: Express executions, and how they ended, cannot be seen"
    if meant != "OFF":
        return deployment.absent(
            wrong(unseen if TYPES[machine] == EXPRESS else "it logs nothing: failures are not found", turn)
        )
    if TYPES[machine] == EXPRESS:
        return deployment.absent(warning(unseen, "deploy with ExecutionLog=ERROR"))
    return ok("off, as ExecutionLog says")


def _encryption(deployment: Deployment, machine: str) -> Verdict:
    key = deployment.stack.parameters.get("EncryptionKeyArn", "")
    in_use = _machine(deployment, machine).get("encryptionConfiguration", {}).get("kmsKeyId", "")
    if in_use == key:
        return ok("with your key" if key else "with AWS's key")
    if not key:
        return warning(f"it is encrypted with {in_use}, and EncryptionKeyArn is empty", "deploy with EncryptionKeyArn")
    verdict = wrong(
        f"its executions are encrypted with {in_use or 'a key of AWS'}, not with EncryptionKeyArn",
        f"`aws stepfunctions update-state-machine --state-machine-arn {deployment.id(machine)} "
        f"--encryption-configuration type=CUSTOMER_MANAGED_KMS_KEY,kmsKeyId={key},kmsDataKeyReusePeriodSeconds=300`",
    )
    return verdict if in_use else deployment.absent(verdict)


def _role(deployment: Deployment, machine: str) -> Verdict:
    in_use, meant = str(_machine(deployment, machine)["roleArn"]), deployment.id(ROLES[machine])
    if in_use.rpartition("/")[2] == meant:
        return ok(meant)
    return wrong(
        f"its role is {in_use}, not {ROLES[machine]}: it may do less than it needs, or more than it should",
        f"`aws stepfunctions update-state-machine --state-machine-arn {deployment.id(machine)} --role-arn` with the "
        f"ARN of {meant}",
    )


def _alias(deployment: Deployment, alias: str) -> Verdict:
    shares = {arn.rpartition(":")[2]: weight for arn, weight in routes(deployment, alias).items()}
    if len(shares) == 1:
        return ok(f"every execution runs version {next(iter(shares))}")
    shown = " and ".join(f"{weight} % to version {version}" for version, weight in shares.items())
    return warning(
        f"a rollout is under way: {shown}",
        "wait for its end; if none is, `aws stepfunctions update-state-machine-alias --state-machine-alias-arn "
        f"{deployment.id(alias)} --routing-configuration stateMachineVersionArn=ARN,weight=100` ends it",
    )


def _timeouts(deployment: Deployment, machine: str) -> Verdict:
    for version, found in timeouts(deployment, machine).items():
        if fault := _not_nested(deployment, machine, found):
            return wrong(
                f"version {version}: {fault}" if version.isdigit() else fault,
                "change BusinessTimeoutSeconds or LeaseMarginSeconds within their bounds and deploy, which writes the "
                "definition again, also one that somebody changed outside CloudFormation",
            )
    found = timeouts(deployment, machine)["the newest"]
    task, lease = found.tasks[RUNS_BUSINESS_LOGIC], min(each or 0 for each in found.leases.values())
    if machine == FAST:
        return _fits(deployment, found.execution or 0) or ok(
            f"task {task:g} s < execution {found.execution:g} s < lease {lease:g} s"
        )
    return ok(f"task {task:g} s < lease {lease:g} s < execution {found.execution:g} s")


def _fits(deployment: Deployment, execution: float) -> Verdict | None:
    """A warning where requests start in a lane that has no time for their business logic."""
    business, lane = deployment.stack.number("BusinessTimeoutSeconds"), deployment.stack.parameters.get("Lane", FULL)
    if business + AROUND <= execution or lane == FULL:
        return None
    return warning(
        f"Lane is fast, and it hands over every new request: BusinessTimeoutSeconds is {business}, and an execution "
        f"ends after {execution:g} s",
        f"deploy with BusinessTimeoutSeconds={execution - AROUND:g} at most, or with Lane=full: this way "
        "both lanes are paid for",
    )


def _not_nested(deployment: Deployment, machine: str, found: Timeouts) -> str:
    """What is out of order; empty when nothing is.

    In the full lane business logic < task < lease < execution; in the fast lane, where nobody can ask whether an owner
    lives, a lease is longer than the execution and a task of it.
    """
    business, task = deployment.stack.number("BusinessTimeoutSeconds"), found.tasks.get(RUNS_BUSINESS_LOGIC)
    if task is None:
        return f"{RUNS_BUSINESS_LOGIC} has no TimeoutSeconds: an owner may wait forever"
    if task <= business:
        return f"{RUNS_BUSINESS_LOGIC} ends after {task:g} s, and business logic may take {business}: it works "
        "on while another attempt starts"
    if found.execution is None:
        return "an execution has no TimeoutSeconds: it may run for a year"
    if machine == FAST and found.execution > EXPRESS_SECONDS:
        return (
            f"an execution has {found.execution:g} s, and AWS ends it after {EXPRESS_SECONDS}: it relies on more time"
        )
    if not found.leases:
        return "no state sets leaseExpiresAt: this is not a definition of Once"
    for state, lease in found.leases.items():
        if lease is None:
            return f"the lease that {state} sets cannot be determined"
        if machine == FAST and lease <= found.execution + task:
            return (
                f"the lease that {state} sets is over after {lease:g} s, an execution with its last task after "
                f"{found.execution + task:g}: a live owner, which nobody can ask, is taken for dead"
            )
        if lease <= task:
            return f"the lease that {state} sets is over after {lease:g} s, {RUNS_BUSINESS_LOGIC} after "
            f"{task:g}: a live owner is taken for dead"
        if machine != FAST and lease >= found.execution:
            return (
                f"the lease that {state} sets lasts {lease:g} s, an execution {found.execution:g}: a lock outlives its "
                "owner"
            )
    return ""
