"""What rings, and what waits for somebody: alarms, open operations, refused requests, dead-letter queues."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from oncekit.console.words import iso
from oncekit.contract.record_form import ODD, OPEN
from oncekit.stack import listing
from oncekit.stack.health.finding import Finding, Patient, Resource
from oncekit.stack.health.whole import function_of
from oncekit.stack.rejected import keys_of, time_of

MOST = 500
"""Open records that are read, the oldest lease first: those that wait come before those that go on."""
MOST_REJECTED = 5000
"""Refused requests that are counted."""
SWEPT_SECONDS = 300
"""There is a sweep every minute; five minutes after the first start that was in vain it makes another."""
MOVE = "`aws sqs start-message-move-task --source-arn {arn}` moves them back to their queue"
PUT = (
    "put each on its bus again, which its RULE_ARN names: `aws events put-events` with the source, detail-type and "
    "detail of its body; all rules of the bus get it"
)
"""SQS moves nothing back to a bus: "currently limited to supporting message redrive from queues that are configured as
dead-letter queues (DLQs) of other Amazon SQS queues only" (StartMessageMoveTask)."""


# ---- alarms ----


def alarms(patient: Patient) -> Iterator[Finding]:
    """Those that ring."""
    ours = {each.id: each.name for each in patient.of_type("AWS::CloudWatch::Alarm")}
    pages = patient.stack.client("cloudwatch").get_paginator("describe_alarms").paginate(StateValue="ALARM")
    ringing = [alarm for page in pages for alarm in page["MetricAlarms"] if alarm["AlarmName"] in ours]
    for alarm in ringing:
        since = alarm.get("StateTransitionedTimestamp") or alarm["StateUpdatedTimestamp"]
        message = f"it rings since {since:%Y-%m-%d %H:%M} UTC: {alarm.get('StateReason', '')}"
        yield Finding("alarms", "wrong", ours[alarm["AlarmName"]], message, alarm["AlarmDescription"])
    if not ringing and patient.stack.is_local:
        told = f"the local cloud evaluates none of its {len(ours)} alarms"
        yield Finding("alarms", "skipped", patient.stack.name, told)
    elif not ringing:
        yield Finding("alarms", "ok", patient.stack.name, f"none of {len(ours)} rings")


# ---- open operations ----


def operations(patient: Patient) -> Iterator[Finding]:
    """Those that are open: in progress, pending, overdue, quarantined, or without a function."""
    listed = listing.open_operations(patient.stack, OPEN, False, lambda _: True, MOST)
    found, or_more = listed.operations, "" if listed.is_complete else " or more"
    quarantined = [each for each in found if each["status"] == "QUARANTINED"]
    overdue = [each for each in found if each["overdue"]]
    going_on = len(found) - len(quarantined) - len(overdue)
    table = patient.stack.table
    yield Finding("open", "ok", table, f"{going_on}{or_more} in progress{_pending(found)}")
    for id in listed.odd:
        advice = "a function with fenced steps, or somebody with access to the table, wrote it: `aws dynamodb get-item`"
        yield Finding("open", "warning", id, ODD, advice)
    for operation in sorted({each["id"].split("#", 2)[1] for each in found}):
        yield from function_of(patient, operation)
    if overdue:
        yield _overdue(patient, overdue, or_more)
    else:
        yield Finding("overdue", "ok", table, "none")
    if quarantined:
        errors = Counter(each["error"]["name"] if each["error"] else "no error" for each in quarantined)
        shown = ", ".join(f"{count} × {name}" for name, count in errors.most_common(5))
        advice = f"{patient.once('ls --status QUARANTINED')} names them, {patient.once('show ID')} shows one; "
        message = f"{len(quarantined)}{or_more} wait for an operator: {shown}"
        yield Finding("quarantined", "wrong", table, message, advice + "then resolve or retry it")
    else:
        yield Finding("quarantined", "ok", table, "none")


def _pending(found: Sequence[dict[str, Any]]) -> str:
    """What waits for work elsewhere is in progress, and not stuck; what is overdue waits no more."""
    until = [each["leaseExpiresAt"] for each in found if each["pendingSince"] and not each["overdue"]]
    if not until:
        return ""
    last = iso(datetime.datetime.fromtimestamp(max(until), datetime.UTC))
    return f", {len(until)} of them pending: they wait for work elsewhere, the last until {last}"


def _overdue(patient: Patient, overdue: Sequence[dict[str, Any]], or_more: str) -> Finding:
    now = patient.stack.now()
    # 0 is a lease that the fast or the direct lane, or an operator ended: when, nobody notes.
    since = min((each["leaseExpiresAt"] for each in overdue if each["leaseExpiresAt"] > 0), default=now)
    pending = sum(each["pendingSince"] is not None for each in overdue)
    late = f", {pending} of them because work elsewhere did not end them in time" if pending else ""
    told = f"{len(overdue)}{or_more} open though the lease is over, for {listing.since(now, since)} at most{late}"
    is_late = now - since > SWEPT_SECONDS
    why = "recovery does not run, or cannot start their requests" if is_late else "recovery, every minute, comes soon"
    advice = (
        f"{patient.once('ls --overdue')} names them, {patient.once('show ID')} shows one; an owner that is RUNNING is "
        "slow, not dead"
    )
    return Finding("overdue", "wrong" if is_late else "warning", patient.stack.table, f"{told}: {why}", advice)


# ---- what was refused, or could not be started ----


def rejected(patient: Patient) -> Iterator[Finding]:
    """Requests that were refused, and are kept: a warning, for the alarms know how many, or how old ones, are wrong."""
    bucket = patient.stack.outputs["ResponseBucketName"]
    keys = list(islice(keys_of(patient.stack), MOST_REJECTED))
    if not keys:
        yield Finding("rejected", "ok", bucket, "none")
        return
    lists, starts = patient.once("ls --rejected"), patient.once("retry --rejected")
    deletes = patient.once("release --rejected --error NAME")
    or_more = " or more" if len(keys) == MOST_REJECTED else ""
    message = f"{len(keys)}{or_more} refused and kept, the oldest since {time_of(keys[0]) or keys[0]}"
    advice = (
        f"{lists} lists them with what is wrong; {starts} starts those again that can succeed now, {deletes} deletes "
        "the others"
    )
    yield Finding("rejected", "warning", bucket, message, advice)


def dead_letters(patient: Patient) -> Iterator[Finding]:
    """What could not be started: in Once's own queues, in those that `once new` made, and in those of other queues."""
    sqs, count, bad = patient.stack.client("sqs"), 0, False
    for queue in patient.of_type("AWS::SQS::Queue"):
        sources = sqs.list_dead_letter_source_queues(QueueUrl=queue.id)["queueUrls"]
        if sources or "DeadLetter" in queue.name:
            count += 1
            for finding in _dead_letter_queue(patient, queue, MOVE if sources else PUT):
                bad = True
                yield finding
    if not bad:
        yield Finding("dead-letters", "ok", patient.stack.name, f"none in {count} queues")


def _dead_letter_queue(patient: Patient, queue: Resource, usual: str) -> Iterator[Finding]:
    asked = {"QueueUrl": queue.id, "AttributeNames": ["All"]}
    attributes = patient.stack.client("sqs").get_queue_attributes(**asked)["Attributes"]
    # Those included that somebody is looking at.
    if count := sum(int(attributes[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible")):
        look = f"`aws sqs receive-message --queue-url {queue.id} --message-attribute-names All` shows some"
        outputs = patient.stack.outputs
        ours = {
            outputs.get("EventDeadLetterQueueUrl"): f"send each again with {patient.once('send EVENT')}",
            outputs.get("AnnouncementDeadLetterQueueUrl"): "announce those ends again (Once's docs/announcements.md)",
        }.get(queue.id, usual)
        advice = f"{look}; fix that, then {ours.format(arn=attributes['QueueArn'])}"
        message = f"{count} in it: they could not start anything, or failed again and again"
        yield Finding("dead-letters", "wrong", queue.name, message, advice)
