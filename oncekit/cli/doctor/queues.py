"""The queues: those that should be empty, and the one that requests come in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from oncekit.cli.doctor.deployment import Deployment
from oncekit.cli.doctor.policies import refuses_plain_http
from oncekit.cli.doctor.verdict import Check, Verdict, ok, wrong

REQUESTS, DEAD_REQUESTS = "RequestQueue", "RequestDeadLetterQueue"
LEAST_RECEIVES = 5
"""Fewer would give up on a message while Step Functions throttles."""
LEAST_VISIBILITY_S = 60
"""As the template has it: the pipe waits for the start of an execution only."""
LOOKS_BACK_S = 900
"""CloudWatch tells a queue's age some minutes late."""
TRIGGERS = {"EventDeadLetterQueue": "EventTrigger", REQUESTS: "QueueTrigger", DEAD_REQUESTS: "QueueTrigger"}
MEANS = {
    "RejectedRequestsQueue": "requests were refused and are kept",
    "EventDeadLetterQueue": "events could not start an operation",
    DEAD_REQUESTS: "messages could not start an operation, or failed again and again",
    "RecoveryDeadLetterQueue": "runs of recovery could not be started",
}


def checks(deployment: Deployment) -> Iterator[Check]:
    given = deployment.stack.parameters
    there = [each for each in (*MEANS, REQUESTS) if given.get(TRIGGERS.get(each, ""), "true") == "true"]
    for queue in there:
        if queue in MEANS:
            yield Check("queues.empty", queue, partial(_empty, deployment, queue))
    if REQUESTS in there:
        yield Check("queues.redrive", REQUESTS, partial(_redrive, deployment))
        yield Check("queues.visibility", REQUESTS, partial(_visibility, deployment))
        yield Check("queues.age", REQUESTS, partial(_age, deployment))
    for queue in there:
        yield Check("queues.tls", queue, partial(_tls, deployment, queue))


def _attributes(deployment: Deployment, queue: str) -> Mapping[str, str]:
    attributes: Mapping[str, str] = deployment.ask(
        "sqs", "get_queue_attributes", QueueUrl=deployment.id(queue), AttributeNames=["All"]
    )["Attributes"]
    return attributes


def _waiting(attributes: Mapping[str, str]) -> int:
    """Messages in it, those included that somebody is looking at."""
    return int(attributes["ApproximateNumberOfMessages"]) + int(attributes["ApproximateNumberOfMessagesNotVisible"])


def _empty(deployment: Deployment, queue: str) -> Verdict:
    count = _waiting(_attributes(deployment, queue))
    if not count:
        return ok("empty")
    return wrong(f"{count} in it: {MEANS[queue]}", _remedy(deployment, queue))


def _remedy(deployment: Deployment, queue: str) -> str:
    if queue == "RejectedRequestsQueue":
        lists = deployment.once("replay-rejected --dry-run")
        starts = deployment.once("replay-rejected --error NAME")
        return (
            f"{lists} lists them with what is wrong; {starts} starts those again that can succeed now, and with "
            "--discard deletes those that never can"
        )
    then = {
        "EventDeadLetterQueue": f"send each again with {deployment.once('send EVENT --via eventbridge')}",
        DEAD_REQUESTS: f"`aws sqs start-message-move-task --source-arn {_arn(deployment, queue)}` moves them back",
        "RecoveryDeadLetterQueue": f"purge it once {deployment.once('ls --overdue')} is empty",
    }
    look = f"`aws sqs receive-message --queue-url {deployment.id(queue)} --message-attribute-names All`"
    return f"{look} shows some, and why; fix that, then {then[queue]}"


def _arn(deployment: Deployment, queue: str) -> str:
    return _attributes(deployment, queue)["QueueArn"]


def _redrive(deployment: Deployment) -> Verdict:
    policy: Mapping[str, Any] = json.loads(_attributes(deployment, REQUESTS).get("RedrivePolicy", "{}"))
    wanted = _arn(deployment, DEAD_REQUESTS)
    times = int(policy.get("maxReceiveCount", 0))
    fixed = json.dumps(
        {"deadLetterTargetArn": wanted, "maxReceiveCount": deployment.stack.parameters.get("MaxReceiveCount", "5")}
    )
    fix = (
        f"`aws sqs set-queue-attributes --queue-url {deployment.id(REQUESTS)} "
        f"--attributes '{json.dumps({'RedrivePolicy': fixed})}'`"
    )
    if policy.get("deadLetterTargetArn") != wanted:
        return wrong(
            f"what cannot be started goes to {policy.get('deadLetterTargetArn', 'no other queue')}, not to "
            f"{DEAD_REQUESTS}",
            fix,
        )
    if times < LEAST_RECEIVES:
        return wrong(f"a message is given up after {times} tries: too few while Step Functions throttles", fix)
    return ok(f"after {times} tries to {DEAD_REQUESTS}")


def _visibility(deployment: Deployment) -> Verdict:
    seconds = int(_attributes(deployment, REQUESTS)["VisibilityTimeout"])
    if seconds >= LEAST_VISIBILITY_S:
        return ok(f"{seconds} s")
    return wrong(
        f"a message becomes visible again after {seconds} s, while the pipe may still be working on it: at least "
        f"{LEAST_VISIBILITY_S} s",
        f"`aws sqs set-queue-attributes --queue-url {deployment.id(REQUESTS)} "
        f"--attributes VisibilityTimeout={LEAST_VISIBILITY_S}`",
    )


def _age(deployment: Deployment) -> Verdict:
    count = int(_attributes(deployment, REQUESTS)["ApproximateNumberOfMessages"])
    now = datetime.fromtimestamp(deployment.stack.now(), UTC)
    points = deployment.ask(
        "cloudwatch",
        "get_metric_statistics",
        Namespace="AWS/SQS",
        MetricName="ApproximateAgeOfOldestMessage",
        Dimensions=[{"Name": "QueueName", "Value": _arn(deployment, REQUESTS).rpartition(":")[2]}],
        StartTime=now - timedelta(seconds=LOOKS_BACK_S),
        EndTime=now,
        Period=60,
        Statistics=["Maximum"],
    )["Datapoints"]
    age = max(points, key=lambda point: point["Timestamp"])["Maximum"] if points and count else 0
    longest = deployment.stack.number("RequestAgeThresholdSeconds")
    if age > longest:
        return wrong(
            f"{count} requests wait, the oldest for {age:.0f} s, and RequestAgeThresholdSeconds is {longest}",
            "see triggers.pipe; if it runs, Step Functions throttles it: raise the account's quota of starts",
        )
    return ok(f"{count} wait, the oldest for {age:.0f} s" if age else f"{count} wait")


def _tls(deployment: Deployment, queue: str) -> Verdict:
    policy = _attributes(deployment, queue).get("Policy", "")
    if refuses_plain_http(policy):
        return ok("only over TLS")
    verdict = wrong(
        "messages can be sent and read without TLS",
        f"put the statement OnlyOverTls of {queue}Policy in template.yaml back: "
        f"`aws sqs set-queue-attributes --queue-url {deployment.id(queue)} --attributes file://attributes.json`",
    )
    return verdict if policy else deployment.absent(verdict)
