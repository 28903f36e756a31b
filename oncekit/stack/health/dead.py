"""Executions that ended without an end of their machine and left no record: no sweep continues their operations.

An end of a machine's own is a success, or an error whose name has no dot. Else somebody stopped the execution, its time
was over, or it died of an error of AWS's, such as States.Runtime or DynamoDB.ThrottlingException.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from oncekit.console.parts import RECOVERY
from oncekit.console.starts import WORK
from oncekit.contract.lanes import FAST, FULL, MACHINES, Lane
from oncekit.contract.requests import id_in
from oncekit.problem import Problem
from oncekit.stack.executions import where_its_path_is
from oncekit.stack.health.finding import Finding, Patient
from oncekit.stack.records import Missing, find, has_expired
from oncekit.stack.stack import Stack

DAYS = 7
"""How far back is looked; no further than records are kept, for what has expired may be gone."""
MOST = 25
"""Executions of each of three statuses, and of the log, that are looked at, the newest: recoveries need
DescribeExecution as well, 300 at once and 15 a second."""
MOST_PAGES = 20
"""Of what a log is searched for; one that has every state is large."""
DIED = {"ExecutionFailed": "FAILED", "ExecutionTimedOut": "TIMED_OUT", "ExecutionAborted": "ABORTED"}
"""By the type of the event in a machine's log, which every level of it has, the status."""
LOGS: Mapping[Lane, str] = {FULL: "operation", FAST: "fast"}


class Logged(NamedTuple):
    """What a log says of a lane: by execution how it ended, where that is no end of its own, the oldest first."""

    died: Mapping[str, str]
    is_complete: bool


def stopped(patient: Patient) -> Iterator[Finding]:
    """Of both lanes, of the fast one what its log has."""
    stack = patient.stack
    days = min(DAYS, stack.number("RetentionDays"))
    full, fast = (_in_log(stack, lane, days) for lane in (FULL, FAST))
    count = 0
    for finding in (*_in_full_lane(patient, days, full), *_in_fast_lane(patient, days, fast)):
        count += 1
        yield finding
    if not count:
        yield Finding("stopped", "ok", stack.name, f"no request in the last {days} days")


def _in_full_lane(patient: Patient, days: int, logged: Logged) -> Iterator[Finding]:
    stack = patient.stack
    client, machine = stack.client("stepfunctions"), stack.outputs[MACHINES[FULL]]
    known, is_cut = dict.fromkeys([*logged.died][: -MOST - 1 : -1]), len(logged.died) > MOST
    for status in DIED.values():
        listed = client.list_executions(stateMachineArn=machine, statusFilter=status, maxResults=MOST + 1)["executions"]
        ended = [each for each in listed if each["stopDate"].timestamp() > _since(stack, days)]
        known |= dict.fromkeys(each["executionArn"] for each in ended[:MOST])
        is_cut |= len(ended) > MOST and not (status == "FAILED" and logged.is_complete)
    # A recovery acts on the record that it was started for.
    for arn in (arn for arn in known if not arn.rpartition(":")[2].startswith(RECOVERY)):
        yield from _without_record(patient, client.describe_execution(executionArn=arn))
    if is_cut:
        told = f"only the newest {MOST} of each status were looked at: the saved log query `failures` shows all"
        yield Finding("stopped", "skipped", machine, told)


def _without_record(patient: Patient, ended: Mapping[str, Any]) -> Iterator[Finding]:
    """Nothing, where the machine ended it by itself, or the sweep continues its operation."""
    arn, error = ended["executionArn"], str(ended.get("error", ""))
    if ended["status"] not in DIED.values() or (ended["status"] == "FAILED" and "." not in error):
        return
    id = id_in(ended["input"])
    if (id and _has_record(patient.stack, id, ended["startDate"])) or _had_lock(patient.stack, arn):
        return
    how = ended["status"] + (f" ({error})" if "." in error else "")
    describe = f"aws stepfunctions describe-execution --query input --output text --execution-arn {arn}"
    again = f"`{describe}` piped into {patient.once('send -')}"
    if error == "States.QueryEvaluationError":
        kept = f"`{describe} > request.json`"
        again = f"{kept}, correct in it what cannot be evaluated, then {patient.once('send request.json')}"
    advice = f"{patient.once(f'show {arn}')} shows how far it came; to send it again: {again}"
    yield Finding("stopped", "warning", id or arn, f"{how} before it had a lock: {arn}", advice)


def _has_record(stack: Stack, id: str, began: datetime.datetime) -> bool:
    """Whether a record answers for it: not one that has expired, nor a failure from before, which it may try again."""
    try:
        record = find(stack, id)
    except Missing:
        return False
    except Problem:  # an odd one, which is told where records are looked at
        return True
    ended = datetime.datetime.fromisoformat(record.get("finishedAt", record["acquiredAt"]))
    return not has_expired(stack, record) and not (record["status"] == "FAILED" and ended < began)


def _had_lock(stack: Stack, arn: str) -> bool:
    """Whether an execution without a record once had one, which somebody released, or deleted. A history has at most
    25,000 events, and is read until business logic starts."""
    pages = stack.client("stepfunctions").get_paginator("get_execution_history")
    asked = {"executionArn": arn, "includeExecutionData": False}
    events = (event for page in pages.paginate(**asked) for event in page["events"])
    return any(event.get("stateEnteredEventDetails", {}).get("name") == WORK for event in events)


def _in_fast_lane(patient: Patient, days: int, logged: Logged) -> Iterator[Finding]:
    stack, place = patient.stack, _log_group(patient.stack, FAST)
    if logged.died:
        *_, last = logged.died
        kinds = ", ".join(f"{count} × {how}" for how, count in Counter(logged.died.values()).most_common(5))
        message = f"{len(logged.died)} died in the fast lane in the last {days} days: {kinds}; the last one: {last}"
        advice = (
            "the sweep continues those that had a lock; of the others nothing is kept, so let their senders send them "
            f"again with the same key, and nothing is done twice; {where_its_path_is(stack, last)}"
        )
        yield Finding("stopped", "warning", place, message, advice)
    if not logged.is_complete and not stack.is_local:
        told = "its log is off (ExecutionLog)" if _is_off(stack) else "its log has more than was searched"
        more = "" if _is_off(stack) else ": the saved log query `failures` shows all"
        yield Finding("stopped", "skipped", place, told + more)


def _in_log(stack: Stack, lane: Lane, days: int) -> Logged:
    client, died = stack.client("logs"), dict[str, str]()
    if _is_off(stack):
        return Logged(died, False)
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=_log_group(stack, lane),
        startTime=int(_since(stack, days) * 1000),
        filterPattern="{ " + " || ".join(f'$.type = "{each}"' for each in DIED) + " }",
    )
    page: Mapping[str, Any] = {}
    try:
        for page in islice(pages, MOST_PAGES):
            for told in (json.loads(event["message"]) for event in page["events"]):
                error = str(told.get("details", {}).get("error", ""))
                if told["type"] in DIED and (told["type"] != "ExecutionFailed" or "." in error):
                    died[told["execution_arn"]] = error or DIED[told["type"]]
    except client.exceptions.ResourceNotFoundException:
        if not stack.is_local:  # which writes none
            raise
        return Logged(died, False)
    return Logged(died, "nextToken" not in page)


def _log_group(stack: Stack, lane: Lane) -> str:
    return f"/aws/vendedlogs/states/{stack.given_name}-{LOGS[lane]}"


def _is_off(stack: Stack) -> bool:
    return stack.parameters.get("ExecutionLog") == "OFF"


def _since(stack: Stack, days: int) -> float:
    return stack.now() - days * 86_400
