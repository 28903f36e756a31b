"""Runs of the local cloud, of both lanes: it keeps the history of an Express execution, too, which AWS does not."""

from __future__ import annotations

import json

from oncekit.console.run import Run, run_of
from oncekit.local.execution import Execution


def run_here(execution: Execution) -> Run:
    times = [each["timestamp"] for each in (*execution.events[:1], *execution.events[-1:])]
    description = {
        "executionArn": execution.arn,
        "status": execution.status,
        "startDate": times[0] if times else None,
        "stopDate": times[-1] if times else None,
        "input": json.dumps(execution.input, ensure_ascii=False),
        "output": None if execution.output is None else json.dumps(execution.output, ensure_ascii=False),
        "error": execution.error,
        "cause": execution.cause,
    }
    return run_of(description, execution.events)
