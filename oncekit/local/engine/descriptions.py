"""The description of an execution: the answer of DescribeExecution, and whether the execution can be redriven.

It cannot be redriven if it succeeded, ended more than 14 days ago, was started more than a year ago, or has a history
of 24,999 events (API Reference, RedriveExecution). The reasons are in the words of the API's model (DescribeExecution,
redriveStatusReason).
"""

from __future__ import annotations

from typing import Any

from moto.stepfunctions.parser.api import ExecutionStatus

from oncekit.local.engine.limits import text_of
from oncekit.local.engine.views import Description

REDRIVABLE_SECONDS = 14 * 86_400
OPEN_SECONDS = 365 * 86_400
LAST_REDRIVABLE_EVENTS = 24_998
DEAD = (ExecutionStatus.FAILED, ExecutionStatus.ABORTED, ExecutionStatus.TIMED_OUT)
IN_A_LIST = (
    "executionArn", "stateMachineArn", "name", "status", "startDate", "stopDate", "redriveCount", "redriveDate",
)  # fmt: skip
"""The members of an entry of ListExecutions."""


def time_of(description: Description) -> Any:
    if description["status"] == ExecutionStatus.RUNNING:
        return description.get("redriveDate") or description["startDate"]
    return description["stopDate"]


def description(execution: Any, now: float) -> dict[str, Any]:
    """DescribeExecution's answer."""
    answer = {
        "executionArn": execution.exec_arn,
        "stateMachineArn": execution.state_machine_arn,
        "name": execution.name,
        "status": execution.status,
        "startDate": execution.start_date,
        "stopDate": execution.stop_date,
        "redriveCount": execution.redrive_count,
        "redriveDate": execution.redrive_date,
        "input": execution.execution_input,
        "inputDetails": {"included": True},
        "error": execution.error,
        "cause": execution.cause,
    }
    if execution.exec_status == ExecutionStatus.SUCCEEDED:
        answer |= {"output": text_of(execution.output), "outputDetails": {"included": True}}
    told = {key: value for key, value in answer.items() if value is not None}
    return {**told, **redrivability(told, execution, now)}


def redrivability(told: Description, execution: Any, now: float) -> dict[str, str]:
    """Whether it can be redriven depends on the time as well."""
    reason = why_not_redrivable(execution, now)
    if told["status"] != execution.status:
        reason = None if told["status"] in DEAD else f"Execution is {told['status']} and cannot be redriven"
    status = "REDRIVABLE" if reason is None else "NOT_REDRIVABLE"
    return {"redriveStatus": status, **({} if reason is None else {"redriveStatusReason": reason})}


def why_not_redrivable(execution: Any, now: float) -> str | None:
    """AWS's reason, None when it can be redriven."""
    if execution.exec_status == ExecutionStatus.RUNNING:
        return "Execution is RUNNING and cannot be redriven"
    if execution.exec_status not in DEAD:
        return f"Execution is {execution.status} and cannot be redriven"
    if now - execution.stop_date.timestamp() > REDRIVABLE_SECONDS:
        return "Execution redrivable period exceeded"
    if now - execution.start_date.timestamp() > OPEN_SECONDS:
        return "Execution has exceeded the max execution time"
    if len(execution.exec_worker.env.event_manager._history_event_list) > LAST_REDRIVABLE_EVENTS:
        return "Execution history event limit exceeded"
    return None
