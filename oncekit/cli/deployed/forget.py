"""`once release --forget`: what is kept of a request goes, in the record and in the bucket; what AWS keeps is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oncekit.cli.deployed import decisions
from oncekit.cli.deployed.records import Missing, Record, find, hash_of
from oncekit.cli.deployed.rejected import refused
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.terminal import Entry

HISTORY_DAYS, BACKUP_DAYS, QUEUE_DAYS = 90, 35, 14
"""Step Functions keeps an execution in the full lane so long after its end; 35 days and 14 are in the template, as
point-in-time recovery and MessageRetentionPeriod."""
STREAMS = (
    "aws logs filter-log-events --log-group-name GROUP --filter-pattern '\"KEY\"' --query 'events[].logStreamName'",
    "aws logs delete-log-stream --log-group-name GROUP --log-stream-name STREAM  # with all that it has",
)
MESSAGES = (
    "aws sqs receive-message --queue-url URL --max-number-of-messages 10 --visibility-timeout 600",
    "aws sqs delete-message --queue-url URL --receipt-handle HANDLE",
)
QUEUES = ("RequestQueueUrl", "RequestDeadLetterQueueUrl", "EventDeadLetterQueueUrl")


def shown(stack: Stack, id: str) -> Record | None:
    """The record of an id, None where there is none. Raises Changed when it has an owner that may be alive."""
    try:
        record = find(stack, id)
    except Missing:
        return None
    decisions.may_be_forgotten(stack, record)
    return record


def forget(stack: Stack, id: str, record: Record | None) -> dict[str, Any]:
    """{id, status, fence, removed: {requests, responses, rejected}, withoutId, left}: keys of objects that are deleted.

    `fence` is None where there was no record, `withoutId` counts the refused requests that do not say whose they are.
    Raises Missing when nothing was kept, and Changed when the record is not as it was shown.
    """
    held = record and decisions.hold(stack, record)
    try:
        removed = {
            "requests": [*_delete_below(stack, f"requests/{id.partition('#')[0]}/{hash_of(id)}/")],
            "responses": [key for days in _days(stack) for key in _delete_below(stack, _answers(days, id))],
        }
    finally:
        fence = held and decisions.let_go(stack, held)
    removed["rejected"], without_id = _delete_refused(stack, id)
    if record is None and not any(removed.values()):
        raise Missing(f"{id}: nothing is kept under this id in the stack {stack.name}; look at how it is written")
    return {
        "id": id,
        "status": "FORGOTTEN",
        "fence": fence,
        "removed": removed,
        "withoutId": without_id,
        "left": _left(stack),
    }


def lines(forgotten: dict[str, Any]) -> Iterator[str | Entry]:
    """The same for people."""
    removed = forgotten["removed"]
    yield Entry("✓ ", f"{forgotten['id']}: forgotten; the next request with this id starts afresh.")
    if forgotten["fence"] is None:
        yield Entry("  record      ", "there was none")
    else:
        kept = "DynamoDB deletes what is left, id, fence and times, by itself within a few days"
        yield Entry("  record      ", f"request, result, steps, error and fingerprint are removed; {kept}")
    for name in ("requests", "responses"):
        yield Entry(f"  {name:<12}", f"{len(removed[name])} deleted in the bucket")
    unread = forgotten["withoutId"]
    more = f"; of those that do not say whose they are, there are {unread}: `once ls --rejected`" if unread else ""
    yield Entry("  rejected    ", f"{len(removed['rejected'])} deleted in the bucket{more}")
    yield Entry(
        "",
        "If an attempt of it may still run (15 minutes at most), repeat this afterwards: it can change no record any "
        "more, but it may still store a large answer, to which nothing refers.",
    )
    yield Entry("", "AWS keeps, and this command cannot remove:")
    for each in forgotten["left"]:
        yield Entry("- ", f"for {each['days']} days {each['what']}:")
        yield from (f"    {line}" for line in (*each["where"], *(f"$ {command}" for command in each["commands"])))


def _days(stack: Stack) -> list[str]:
    """The folders of answers, one for each RetentionDays under which some were given."""
    pages = stack.client("s3").get_paginator("list_objects_v2")
    asked = {"Bucket": stack.bucket, "Prefix": "responses/", "Delimiter": "/"}
    return [each["Prefix"] for page in pages.paginate(**asked) for each in page.get("CommonPrefixes", ())]


def _answers(days: str, id: str) -> str:
    tenant, operation = id.split("#", 2)[:2]
    return f"{days}{tenant}/{operation}/{hash_of(id)}/"


def _delete_below(stack: Stack, prefix: str) -> Iterator[str]:
    for key in list(stack.objects(prefix)):
        stack.client("s3").delete_object(Bucket=stack.bucket, Key=key)
        yield key


def _delete_refused(stack: Stack, id: str) -> tuple[list[str], int]:
    """The keys of those that are deleted; how many do not say whose they are."""
    deleted, without_id = list[str](), 0
    for each in refused(stack):
        if each.id == id:
            stack.client("s3").delete_object(Bucket=stack.bucket, Key=each.key)
            deleted.append(each.key)
        without_id += each.id is None
    return deleted, without_id


def _left(stack: Stack) -> list[dict[str, Any]]:
    """What AWS keeps, for how many days at most, where, and the commands that delete it: none where nothing does."""
    inputs = "inputs and results of its executions in the full lane, of duplicates too, and nothing deletes one earlier"
    has_data = stack.parameters.get("ExecutionLog") == "DATA" and stack.parameters.get("Stage") != "prod"
    told = "payloads and results, for ExecutionLog is DATA" if has_data else "ids and messages of errors"
    logs = f"logs with {told}, and the log of its function (`once show` names it) with what that prints"
    groups = [f"/aws/vendedlogs/states/{stack.given_name}-{machine}" for machine in ("operation", "fast", "recovery")]
    backups = "backups of the table; in one that is restored, forget the id again"
    queues = [stack.outputs[each] for each in QUEUES if each in stack.outputs]
    messages = "messages that wait and dead letters, with their requests"
    left = (
        (inputs, HISTORY_DAYS, [stack.outputs["StateMachineArn"]], ()),
        (backups, BACKUP_DAYS, [stack.table], ()),
        (logs, stack.number("LogRetentionDays"), groups, STREAMS),
        (messages, QUEUE_DAYS, queues, MESSAGES),
    )
    return [dict(zip(("what", "days", "where", "commands"), each, strict=True)) for each in left if each[2]]
