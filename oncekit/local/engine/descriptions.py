"""The description of an execution: the answer of DescribeExecution, without what it says of redrives."""

from __future__ import annotations

from typing import Any

from moto.stepfunctions.parser.api import ExecutionStatus

from oncekit.local.engine.limits import text_of
from oncekit.local.engine.views import Description

DEAD = (ExecutionStatus.FAILED, ExecutionStatus.ABORTED, ExecutionStatus.TIMED_OUT)
IN_A_LIST = (
    "executionArn", "stateMachineArn", "name", "status", "startDate", "stopDate", "redriveCount", "redriveDate",
)  # fmt: skip
"""The members of an entry of ListExecutions."""


def time_of(description: Description) -> Any:
    if description["status"] == ExecutionStatus.RUNNING:
        return description.get("redriveDate") or description["startDate"]
    return description["stopDate"]


def description(execution: Any) -> dict[str, Any]:
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
    return {key: value for key, value in answer.items() if value is not None}
