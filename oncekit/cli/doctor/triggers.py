"""What starts executions: rules, pipe and schedule; each on, aimed right, with a place for what it cannot start."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.machines import ALIASES, FAST, OPERATION, RECOVERY
from oncekit.cli.doctor.verdict import Check, Verdict, ok, warning, wrong
from oncekit.local import lanes

PIPE, SCHEDULE = "RequestPipe", "RecoverySchedule"
REQUEST_RULE = "RequestRule"
RULES = {
    REQUEST_RULE: ("EventDeadLetterQueue", "requests that come as events start nothing"),
    "DeadExecutionRule": ("RecoveryDeadLetterQueue", "a death is noticed only by the next sweep"),
}
"""Where a rule puts what it cannot start, and what its absence means."""


def checks(deployment: Deployment) -> Iterator[Check]:
    for rule in RULES:
        if rule != REQUEST_RULE or deployment.stack.parameters.get("EventTrigger", "true") == "true":
            yield Check("triggers.rule", rule, partial(_rule, deployment, rule))
            yield Check("triggers.target", rule, partial(_target, deployment, rule))
    if deployment.stack.parameters.get("QueueTrigger", "true") == "true":
        yield Check("triggers.pipe", PIPE, partial(_pipe, deployment))
    yield Check("triggers.schedule", SCHEDULE, partial(_schedule, deployment))


def _named(deployment: Deployment, rule: str) -> tuple[str, str]:
    """Name and bus; the physical id of a rule on a bus of its own is `bus|name`."""
    bus, _, name = deployment.id(rule).rpartition("|")
    own = deployment.stack.outputs.get("EventBusName", "default") if rule == REQUEST_RULE else "default"
    return name, bus or own


def _rule(deployment: Deployment, rule: str) -> Verdict:
    name, bus = _named(deployment, rule)
    state = deployment.ask("events", "describe_rule", Name=name, EventBusName=bus)["State"]
    if state.startswith("ENABLED"):
        return ok("enabled")
    return wrong(f"it is {state}: {RULES[rule][1]}", f"`aws events enable-rule --name {name} --event-bus-name {bus}`")


def _lane(deployment: Deployment) -> tuple[str, str]:
    """The state machine that requests should start, and its alias: that of the stack's parameter Lane."""
    machine = FAST if deployment.stack.parameters.get("Lane") == lanes.FAST else OPERATION
    return machine, ALIASES[machine]


def _of_the_other_lane(deployment: Deployment, arns: Collection[str]) -> bool:
    """Whether one is started that Lane does not name: the requests are done all the same."""
    others = {name for pair in ALIASES.items() for name in pair} - set(_lane(deployment))
    return any(name in deployment.resources and deployment.id(name) in arns for name in others)


def _other_lane(deployment: Deployment, advice: str) -> Verdict:
    other = OPERATION if _lane(deployment)[0] == FAST else FAST
    lane = deployment.stack.parameters.get("Lane", lanes.FULL)
    return warning(f"it starts {other}, and Lane is {lane}: requests are executed, but in the other lane", advice)


def _target(deployment: Deployment, rule: str) -> Verdict:
    queue, means = RULES[rule]
    machines = _lane(deployment) if rule == REQUEST_RULE else (RECOVERY,)
    name, bus = _named(deployment, rule)
    targets = deployment.ask("events", "list_targets_by_rule", Rule=name, EventBusName=bus)["Targets"]
    wanted = {deployment.id(each) for each in machines}
    mine = [each for each in targets if each["Arn"] in wanted]
    show = (
        f"`aws events list-targets-by-rule --rule {name} --event-bus-name {bus}` shows its targets; "
        "`put-targets` sets them"
    )
    if not mine and rule == REQUEST_RULE and _of_the_other_lane(deployment, [each["Arn"] for each in targets]):
        return _other_lane(deployment, show)
    if not mine:
        shown = ", ".join(each["Arn"] for each in targets) or "nothing"
        return wrong(f"it starts {shown}, not {machines[-1]}: {means}", show)
    return _dead_letters(deployment, mine[0].get("DeadLetterConfig", {}), queue, show)


def _dead_letters(deployment: Deployment, configured: Mapping[str, Any], queue: str, advice: str) -> Verdict:
    url = deployment.id(queue)
    arn = deployment.ask("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]["QueueArn"]
    if configured.get("Arn") == arn:
        return ok(f"what it cannot start goes to {queue}")
    return wrong(
        f"what it cannot start goes to {configured.get('Arn') or 'nowhere, and is lost'}, not to {queue}", advice
    )


def _pipe(deployment: Deployment) -> Verdict:
    name = deployment.id(PIPE)
    pipe = deployment.ask("pipes", "describe_pipe", Name=name)
    state, reason = pipe["CurrentState"], pipe.get("StateReason", "")
    waits = "requests wait in the queue"
    template = pipe.get("TargetParameters", {}).get("InputTemplate", "").strip()
    if template == "<$.body>":
        return wrong(
            "its input template is the bare path <$.body>: a body that is JSON loses its quotes, and starts nothing",
            "deploy the newest template; its pipe gives the body as a member",
        )
    machine, alias = _lane(deployment)
    if pipe["Target"] not in (deployment.id(machine), deployment.id(alias)):
        aim = (
            f"`aws pipes update-pipe --name {name} --role-arn {pipe.get('RoleArn')} --target {deployment.id(machine)}`"
        )
        if _of_the_other_lane(deployment, [pipe["Target"]]):
            return _other_lane(deployment, aim)
        return wrong(f"it starts {pipe['Target']}, not {machine}", aim)
    if state == "RUNNING":
        return ok("running")
    if state == "STOPPED":
        return wrong(f"it is stopped: {waits}", f"`aws pipes start-pipe --name {name}`")
    if state.endswith("_FAILED"):
        return wrong(
            f"it is {state}: {reason or 'no reason is given'}; {waits}",
            f"fix that, then `aws pipes start-pipe --name {name}`; usual causes: its role, the queue, a key's policy",
        )
    return warning(f"it is {state}: {waits}", "look again in a minute")


def _schedule(deployment: Deployment) -> Verdict:
    name = deployment.id(SCHEDULE)
    schedule = deployment.ask("scheduler", "get_schedule", Name=name)
    show = f"`aws scheduler get-schedule --name {name}` shows it; "
    means = "an owner whose death was not reported is never found, and its lock never freed"
    if schedule["State"] != "ENABLED":
        return wrong(
            f"it is {schedule['State']}: {means}",
            show + "`aws scheduler update-schedule` with all of that and --state ENABLED",
        )
    target = schedule["Target"]
    if target["Arn"] != deployment.id(RECOVERY):
        return wrong(
            f"it starts {target['Arn']}, not {RECOVERY}: {means}",
            show + "`aws scheduler update-schedule` sets its target",
        )
    dead_letters = _dead_letters(deployment, target.get("DeadLetterConfig", {}), "RecoveryDeadLetterQueue", show)
    return ok(schedule["ScheduleExpression"]) if dead_letters.outcome == "ok" else dead_letters
