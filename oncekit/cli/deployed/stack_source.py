"""A deployed stack as the console sees it, read-only.

It calls ListExecutions, DescribeExecution, GetExecutionHistory and DescribeStateMachineForExecution, and reads records;
stack_log.py reads the log of a function when somebody asks for it. Step Functions keeps no executions of the fast lane:
what is known of them is in their records.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from oncekit.cli.deployed import records
from oncekit.cli.deployed.runs import definition_of, run_on
from oncekit.cli.deployed.stack import Stack, clear_aws_errors
from oncekit.cli.deployed.stack_log import StackLog
from oncekit.cli.problem import Problem
from oncekit.console.changes import Changes
from oncekit.console.kept_result import kept_result
from oncekit.console.machine import Definition
from oncekit.console.requests import id_in
from oncekit.console.run import Outcome, Run
from oncekit.console.run_view import attempt_in, kind_and_outcome
from oncekit.console.source import Log, LogReader, Row, Unknown, Waiting
from oncekit.local.lanes import FULL

MOST = 1000
"""Executions that are listed: the newest; one call of ListExecutions."""
LOOK_S = 3.0
"""How often the stack is looked at while a page is open."""
DESCRIBED_AT_ONCE = 40
"""Executions that one look describes: DescribeExecution has 15 calls a second in most regions, and 300 in a bucket
(https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html)."""


class StackSource(Changes):
    """Implements `Source`. Looks at the stack from time to time while `watching` is open."""

    read_only = True
    ticks = True

    def __init__(self, stack: Stack, pause: Callable[[float], object] = time.sleep) -> None:
        super().__init__()
        self.name = f"stack {stack.name}, read-only"
        self._stack = stack
        self._pause = pause
        self._rows: dict[str, Row] = {}
        self._described: dict[str, tuple[Any, Row]] = {}
        """By execution how it was listed when it was last described, and what that told."""
        self._ways: dict[str, Sequence[tuple[str, Outcome]]] = {}
        self._calls = threading.Lock()
        self.log_reader: LogReader | None = StackLog(stack)
        self._stopping = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.look()  # what is wrong with the stack is said before anything is served
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        try:
            yield
        finally:
            self._stopping = True

    def _watch(self) -> None:
        while not self._stopping:
            self._pause(LOOK_S)
            try:
                self.look()
            except Problem:  # the next look may reach it again; pages say what they cannot read
                continue

    def look(self) -> None:
        """List executions, and describe those that are new or were running. Raises Problem."""
        with clear_aws_errors(), self._calls:
            client = self._stack.client("stepfunctions")
            machine = self._stack.outputs["StateMachineArn"]
            listed = client.list_executions(stateMachineArn=machine, maxResults=MOST)["executions"]
            asked = 0
            rows: dict[str, Row] = {}
            for each in listed:
                arn = each["executionArn"]
                listed_as = (each["status"], each.get("stopDate"))  # a redrive may end as what it repeats did
                known_as, row = self._described.get(arn, (None, None))
                if row is None or known_as != listed_as:
                    asked += 1
                    row = self._row(client, each, asked <= DESCRIBED_AT_ONCE)
                    if row.is_read:
                        self._described[arn] = (listed_as, row)
                rows[arn] = row
        with self.changed:
            if rows != self._rows:
                self._rows = rows
                self.note()

    def _row(self, client: Any, listed: Mapping[str, Any], describe: bool) -> Row:
        """As it is listed, which tells neither id nor outcome, or as it is described."""
        about = client.describe_execution(executionArn=listed["executionArn"]) if describe else listed
        id = id_in(about.get("input", "")) or ""
        tenant, operation, key = id.split("#", 2) if id else ("", "", "")
        kind, outcome = kind_and_outcome(about["status"], about.get("output"), about.get("error"))
        return Row(
            arn=listed["executionArn"],
            name=listed["name"],
            id=id,
            operation=operation,
            tenant=tenant,
            key=key,
            lane=FULL,
            kind=kind,
            outcome=outcome,
            started_at=listed["startDate"],
            ended_at=listed.get("stopDate"),
            attempt=attempt_in(about.get("output")),
            is_read=describe,
        )

    # ---- what is there ----

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._stack.now(), datetime.UTC)

    def rows(self) -> list[Row]:
        with self.changed:
            return list(self._rows.values())

    def way(self, arn: str) -> Sequence[tuple[str, Outcome]]:
        """Of those whose page was opened: a history is a call for each."""
        return self._ways.get(arn, ())

    def run(self, arn: str) -> tuple[Run, Definition | None]:
        try:
            with clear_aws_errors(), self._calls:
                run = run_on(self._stack, arn)
                definition = definition_of(self._stack, run)
        except Problem as problem:
            raise Unknown(str(problem)) from problem
        self._ways[arn] = [(each.state, each.outcome) for each in run.visits]
        return run, definition

    def record(self, id: str) -> Mapping[str, Any] | None:
        try:
            with clear_aws_errors(), self._calls:
                return records.find(self._stack, id)
        except records.Missing:
            return None
        except Problem as problem:
            raise Unknown(str(problem)) from problem

    def result(self, id: str) -> str:
        return kept_result(self.record(id), self._stack.client("s3"))

    def log(self, run: Run) -> Log:
        """None that nobody asked for: a look into CloudWatch Logs costs."""
        return {}

    def calls(self) -> None:
        """API Gateway keeps them in its own log."""

    def waiting(self) -> Waiting:
        raise Unknown("`once ls` and `once doctor` say what waits")

    # ---- what changes ----

    def size(self, arn: str) -> int:
        """Nobody knows without a call: a page of a run asks once a second while it goes on."""
        return 0
