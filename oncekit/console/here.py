"""Runs of the local cloud, of both lanes: it keeps the history of an Express execution, too, which AWS does not."""

from __future__ import annotations

from oncekit.asl.sizes import text_of
from oncekit.console.run import Run, run_of
from oncekit.local.execution import Execution


def run_here(execution: Execution) -> Run:
    times = [each["timestamp"] for each in (*execution.events[:1], *execution.events[-1:])]
    description = {
        "executionArn": execution.arn,
        "status": execution.status,
        "startDate": times[0] if times else None,
        "stopDate": times[-1] if times else None,
        "input": text_of(execution.input),
        "output": None if execution.output is None else text_of(execution.output),
        "error": execution.error,
        "cause": execution.cause,
    }
    return run_of(description, execution.events)
