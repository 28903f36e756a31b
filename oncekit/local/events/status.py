"""The event "Step Functions Execution Status Change", in the form that was recorded on AWS.

Standard executions emit one when they start to run, also by a redrive, and one when they end; Express executions emit
none. Unknown values are null, not left out. Input and output are left out if they do not fit: if both together,
escaped, are over 248 KB, the input is left out; if the output alone is over 248 KB, it is left out, too.
"""

from __future__ import annotations

import json
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.engine.executions import why_not_redrivable
from oncekit.local.engine.limits import text_of
from oncekit.local.events.deliveries import Event, new_event

SOURCE = "aws.states"
DETAIL_TYPE = "Step Functions Execution Status Change"
MAX_BYTES = 248 * 1024


def is_express(arn: str) -> bool:
    """Whether an execution's ARN is one of an Express execution."""
    return arn.split(":")[5] == "express"


def status_event(execution: Any, now: float) -> Event:
    """The event of one of moto's executions as it is now."""
    status = str(execution.status)
    output = text_of(execution.output) if status == "SUCCEEDED" else None
    stays = output is None or _escaped(output) <= MAX_BYTES
    with_input = _escaped(execution.execution_input) + (_escaped(output) if output and stays else 0) <= MAX_BYTES
    reason = why_not_redrivable(execution, now)
    detail = {
        "executionArn": execution.exec_arn,
        "stateMachineArn": execution.state_machine_arn,
        "name": execution.name,
        "status": status,
        "startDate": _milliseconds(execution.start_date),
        "stopDate": _milliseconds(execution.stop_date),
        "input": execution.execution_input if with_input else None,
        "output": output if stays else None,
        "stateMachineVersionArn": None,
        "stateMachineAliasArn": None,
        "redriveCount": execution.redrive_count,
        "redriveDate": _milliseconds(execution.redrive_date),
        "redriveStatus": "REDRIVABLE" if reason is None else "NOT_REDRIVABLE",
        "redriveStatusReason": reason,
        "inputDetails": {"included": with_input},
        "outputDetails": None if output is None else {"included": stays},
        "error": execution.error,
        "cause": execution.cause,
    }
    return new_event(SOURCE, DETAIL_TYPE, detail, now, ACCOUNT, REGION, [execution.exec_arn])


def _escaped(text: str) -> int:
    """Bytes of a text inside another JSON text."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")) - 2


def _milliseconds(instant: Any) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1000)
