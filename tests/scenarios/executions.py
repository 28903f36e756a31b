"""A run's executions: those that it started, and in the full lane those that triggers and recovery did."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from scenarios.fast_lane import FastLane

from oncekit.stack.stack import Stack

MOST_EXECUTIONS = 1_000
"""Of the stack since the run began; beyond that others are at work, and the rest is not looked at."""


@dataclass
class Executions:
    """An execution is the run's when the run's id is in its input: a trigger or recovery gives it a name of its own."""

    stack: Stack
    run_id: str
    since: float
    """Epoch seconds: the run began then."""
    fast: FastLane
    """Those in the fast lane. They are in no list, and what they cost is little: nobody counts it here."""
    _inputs: dict[str, str] = field(default_factory=dict)

    def all(self, running: bool = False) -> list[str]:
        """The ARNs of the run's executions in the full lane, the newest first."""
        return self.about(self.run_id, running)

    def about(self, what: str, running: bool = False) -> list[str]:
        """The ARNs of those with `what` in their input, the newest first."""
        listed = (str(each["executionArn"]) for each in self._listed(running))
        return [arn for arn in listed if what in self._input(arn)]

    def _listed(self, running: bool) -> Iterator[Mapping[str, Any]]:
        asked = {"stateMachineArn": self.stack.outputs["StateMachineArn"]}
        if running:
            asked["statusFilter"] = "RUNNING"
        pages = self.stack.client("stepfunctions").get_paginator("list_executions").paginate(**asked)
        began = datetime.datetime.fromtimestamp(self.since, datetime.UTC)
        for number, each in enumerate(entry for page in pages for entry in page["executions"]):
            if each["startDate"] < began or number >= MOST_EXECUTIONS:
                return
            yield each

    def _input(self, arn: str) -> str:
        """Asked for once: DescribeExecution is limited to some ten a second, for everybody in the account."""
        if arn not in self._inputs:
            found = self.stack.client("stepfunctions").describe_execution(executionArn=arn)
            self._inputs[arn] = found.get("input", "")
        return self._inputs[arn]
