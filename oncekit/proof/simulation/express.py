"""Express executions in turns: AWS ends each after 300 seconds, whatever it is doing, and it may die before that.

A thread that sleeps in a call cannot see to that itself. So each run has a timer.
"""

from __future__ import annotations

import math
from typing import Any

from moto.stepfunctions.parser.api import ExecutionStatus

from oncekit.proof.simulation.scheduler import Scheduler


class Express:
    """Knows which run a task of the scheduler is at work on."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._at_work: dict[int, Any] = {}
        """Moto's execution by the number of a task: two runs can have one ARN."""

    def kill(self, latest: Any) -> None:
        """The run that this task is at work on; `latest` if it is at work on none with that ARN."""
        mine = self._at_work.get(self._scheduler.current.number)
        execution = mine if mine is not None and mine.exec_arn == latest.exec_arn else latest
        details = {"error": "Killed", "cause": "by the proof"}
        execution.exec_worker.env.run.end(ExecutionStatus.ABORTED, details)

    def entered(self, execution: Any) -> None:
        """Call it whenever a state begins, in the task of the execution."""
        number = self._scheduler.current.number
        if self._at_work.get(number) is execution:
            return
        self._at_work[number] = execution
        run = execution.exec_worker.env.run
        if execution.sm_type == "EXPRESS" and run.deadline != math.inf and not getattr(run, "is_timed", False):
            run.is_timed = True
            self._scheduler.at(run.deadline, lambda: run.end(ExecutionStatus.TIMED_OUT, {}))
