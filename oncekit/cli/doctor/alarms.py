"""The alarms: whether they ring, whom they would wake, and which of them ring now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from oncekit.cli.doctor.deployment import NOT_LOCAL, Deployment
from oncekit.cli.doctor.verdict import Check, Gone, Verdict, ok, skipped, warning, wrong

KIND = "AWS::CloudWatch::Alarm"
BATCH = 100
"""Names that one DescribeAlarms takes."""


def checks(deployment: Deployment) -> Iterator[Check]:
    names = deployment.of_type(KIND)
    for logical_id, name in names.items():
        yield Check("alarms.state", logical_id, partial(_state, deployment, name))
        yield Check("alarms.action", logical_id, partial(_action, deployment, name))
    yield Check("alarms.topic", "AlarmTopic", partial(_topic, deployment))


def every(deployment: Deployment) -> Iterator[Mapping[str, Any]]:
    """The stack's alarms, as far as there are any."""
    names = sorted(deployment.of_type(KIND).values())
    for at in range(0, len(names), BATCH):
        told = deployment.ask("cloudwatch", "describe_alarms", AlarmNames=names[at : at + BATCH], MaxRecords=BATCH)
        yield from told["MetricAlarms"]


def _alarm(deployment: Deployment, name: str) -> Mapping[str, Any]:
    for alarm in every(deployment):
        if alarm["AlarmName"] == name:
            return alarm
    raise Gone("DescribeAlarms")


def _state(deployment: Deployment, name: str) -> Verdict:
    alarm = _alarm(deployment, name)
    if alarm["StateValue"] != "ALARM":
        return ok(alarm["StateValue"])
    return wrong(
        f"it has been in ALARM since {alarm.get('StateTransitionedTimestamp') or alarm.get('StateUpdatedTimestamp')}: "
        f"{alarm.get('AlarmDescription', '').rstrip('.')}",
        f"do what it says; {alarm.get('StateReason') or 'the console says since when'}",
    )


def _action(deployment: Deployment, name: str) -> Verdict:
    alarm = _alarm(deployment, name)
    if not alarm["ActionsEnabled"]:
        return wrong(
            "its actions are switched off: nobody is notified",
            f"`aws cloudwatch enable-alarm-actions --alarm-names {name}`",
        )
    actions: list[str] = alarm.get("AlarmActions", [])
    topic = deployment.resources["AlarmTopic"].id if "AlarmTopic" in deployment.resources else "the stack's topic"
    advice = f"in the console: edit the alarm, Configure actions, In alarm, {topic}"
    if not actions:
        return wrong("it has no action: nobody is notified", advice)
    dead = [arn for arn in actions if ":sns:" in arn and not _exists(deployment, arn)]
    if len(dead) == len(actions):
        return wrong(f"it notifies {', '.join(dead)}, which does not exist: nobody is notified", advice)
    return ok(f"notifies {', '.join(arn.rpartition(':')[2] for arn in actions if arn not in dead)}")


def _exists(deployment: Deployment, topic: str) -> bool:
    try:
        deployment.ask("sns", "get_topic_attributes", TopicArn=topic)
    except Gone:
        return False
    return True


def _topic(deployment: Deployment) -> Verdict:
    topic = deployment.id("AlarmTopic")
    deployment.ask("sns", "get_topic_attributes", TopicArn=topic)
    subscribed = deployment.ask_all("sns", "list_subscriptions_by_topic", "Subscriptions", TopicArn=topic)
    # One that is not confirmed has PendingConfirmation, one that ended Deleted, in place of its ARN.
    hearing = [each for each in subscribed if each["SubscriptionArn"].startswith("arn:")]
    pending = [each["Endpoint"] for each in subscribed if each["SubscriptionArn"] == "PendingConfirmation"]
    if hearing:
        return ok(f"{len(hearing)} subscribed")
    if pending:
        return warning(
            f"nobody is notified of the alarms yet: {', '.join(pending)} has not confirmed",
            "follow the link in the e-mail from AWS Notifications; if there is none, subscribe again",
        )
    if deployment.is_local:
        return skipped(NOT_LOCAL)
    return warning(
        "nobody is notified of the alarms: the topic has no subscription",
        f"deploy with AlarmEmail, or `aws sns subscribe --topic-arn {topic} --protocol email "
        "--notification-endpoint ADDRESS`",
    )
