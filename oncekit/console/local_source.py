"""The local cloud as the console sees it: executions as they begin and end, told by its engine."""

from __future__ import annotations

import datetime
import functools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from oncekit.console.here import run_here
from oncekit.console.kept_result import kept_result
from oncekit.console.local_log import log_of
from oncekit.console.machine import Definition
from oncekit.console.requests import id_in, id_of
from oncekit.console.rows import Call, Log, Message, Row, Unknown, Waiting
from oncekit.console.run import RUNNING, Outcome, Run
from oncekit.console.run_view import attempt_in, kind_and_outcome
from oncekit.local.clock import VirtualClock
from oncekit.local.execution import execution_of
from oncekit.local.executions import NoSuchExecution
from oncekit.local.gateway.calls import Called
from oncekit.local.lanes import MACHINES, lane_of
from oncekit.local.once_cloud import LocalCloud

INDEX = "open-operations"
MOST_OPEN = 500


class LocalSource:
    """What the pages show. `watching` must be open while it is used. Every method may be called by several threads."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self.ticks = not isinstance(cloud.clock, VirtualClock)
        """Whether time there goes on by itself, as on a wall clock."""
        self.changed = threading.Condition()
        """The lock of what is listed, too."""
        self._version = 0
        self._known: dict[str, Any] = {}
        self._rows: dict[str, Row] = {}
        self._read_last: dict[tuple[str, str, int], Run] = {}
        self._ways: dict[str, Sequence[tuple[str, Outcome]]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        from oncekit.local.engine.runs import watchers

        for output in MACHINES.values():
            for execution in self._cloud.executions.of(self._cloud.outputs.get(output, "")):
                self.see(execution)
        watchers.append(self.see)
        self._cloud.http_calls.watchers.append(self.note)
        try:
            yield
        finally:
            watchers.remove(self.see)
            self._cloud.http_calls.watchers.remove(self.note)

    def see(self, execution: Any) -> None:
        """An execution began, ended or was redriven."""
        if execution.state_machine_arn not in {self._cloud.outputs.get(output) for output in MACHINES.values()}:
            return
        with self.changed:
            self._known[execution.exec_arn] = execution
            self._rows.pop(execution.exec_arn, None)
            self._ways.pop(execution.exec_arn, None)
            self.note()
        if str(execution.status) != RUNNING:
            self._row(execution.exec_arn, execution)  # now, so that the first page of many need not wait for all

    # ---- what is there ----

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._cloud.clock.now(), datetime.UTC)

    def rows(self) -> list[Row]:
        """Executions of both lanes, the newest first."""
        with self.changed:
            known = list(reversed(self._known.items()))
        return [self._rows.get(arn) or self._row(arn, execution) for arn, execution in known]

    def _row(self, arn: str, execution: Any) -> Row:
        status = str(execution.status)
        output = None if status != "SUCCEEDED" else json.dumps(execution.output)
        kind, outcome = kind_and_outcome(status, output, execution.error)
        id = id_of(execution.input_data) or ""
        tenant, operation, key = id.split("#", 2) if id else ("", "", "")
        row = Row(
            arn=arn,
            name=execution.name,
            id=id,
            operation=operation,
            tenant=tenant,
            key=key,
            lane=lane_of(arn),
            kind=kind,
            outcome=outcome,
            started_at=execution.start_date,
            ended_at=None if status == RUNNING else execution.stop_date,
            attempt=attempt_in(output),
        )
        with self.changed:
            if status != RUNNING and str(execution.status) == status:
                self._rows[arn] = row
        return row

    def way(self, arn: str) -> Sequence[tuple[str, Outcome]]:
        """The states that an execution entered, and what became of each."""
        if (known := self._ways.get(arn)) is not None:
            return known
        run, _ = self.run(arn)
        way = [(each.state, each.outcome) for each in run.visits]
        if run.status != RUNNING:
            self._ways[arn] = way
        return way

    def run(self, arn: str) -> tuple[Run, Definition]:
        """A run, and the definition that it follows. Raises Unknown."""
        execution = self._execution(arn)
        return self._read(arn, execution), _definition(str(execution.state_machine.definition))

    def _read(self, arn: str, execution: Any) -> Run:
        """The history of one that has ended is read once while its page is open: it may be long."""
        key = (arn, str(execution.status), self.size(arn))
        if (kept := self._read_last.get(key)) is not None:
            return kept
        run = run_here(execution_of(execution))
        if run.status != RUNNING:
            self._read_last = {key: run}
        return run

    def _execution(self, arn: str) -> Any:
        if (execution := self._known.get(arn)) is not None:
            return execution
        try:
            return self._cloud.executions.find(arn)
        except NoSuchExecution as error:
            raise Unknown(str(error)) from error

    def record(self, id: str) -> Mapping[str, Any] | None:
        return self._cloud.record(id)

    def result(self, id: str) -> str:
        """A result that is kept apart from its record. Raises Unknown."""
        return kept_result(self.record(id), self._cloud.client("s3"))

    def log(self, run: Run) -> Log:
        return log_of(self._cloud, run)

    def calls(self) -> list[Call] | None:
        """Calls of the HTTP API, the newest first; None where there is no API."""

        def told(each: Called) -> Call:
            at = datetime.datetime.fromtimestamp(each.at, datetime.UTC)
            return Call(at, each.seconds, each.method, each.path, each.status, each.key, each.execution)

        return list(map(told, reversed(list(self._cloud.http_calls.kept)))) if self._has_api() else None

    def _has_api(self) -> bool:
        return "RequestApiUrl" in self._cloud.outputs

    def waiting(self) -> Waiting:
        table = self._cloud.outputs["TableName"]
        pages = self._cloud.client("dynamodb").get_paginator("scan").paginate(TableName=table, IndexName=INDEX)
        ids = [item["id"]["S"] for page in pages for item in page["Items"]]
        records = [record for record in map(self._cloud.record, ids[:MOST_OPEN]) if record is not None]
        return Waiting(records, list(map(_message, self._cloud.rejected_texts())), self._queues())

    def _queues(self) -> dict[str, int]:
        sqs, name = self._cloud.client("sqs"), "ApproximateNumberOfMessages"
        made = self._cloud.deployed.resources
        return {
            logical_id: int(sqs.get_queue_attributes(QueueUrl=queue.ref, AttributeNames=[name])["Attributes"][name])
            for logical_id, queue in made.items()
            if queue.type == "AWS::SQS::Queue"
        }

    # ---- what changes ----

    def version(self) -> int:
        """A number that grows with every change of what is listed."""
        return self._version

    def wait(self, version: int, seconds: float) -> int:
        """The version, as soon as it is another one, or after this many seconds."""
        with self.changed:
            self.changed.wait_for(lambda: self._version != version, seconds)
            return self._version

    def note(self) -> None:
        """Something changed."""
        with self.changed:
            self._version += 1
            self.changed.notify_all()

    def size(self, arn: str) -> int:
        """How many events an execution has."""
        worker = self._execution(arn).exec_worker
        return 0 if worker is None or worker.env is None else len(worker.env.event_manager._history_event_list)


@functools.lru_cache(maxsize=8)
def _definition(text: str) -> Definition:
    found: Definition = json.loads(text)
    return found


def _message(text: str) -> Message:
    """What is in the queue; somebody may have put anything there."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return Message("", "it is not a message of Once, and nothing starts it again", "", "", text)
    request = body.get("inputText") or (json.dumps(body["input"], ensure_ascii=False) if "input" in body else "")
    said = {name: str(body.get(name) or "") for name in ("error", "message", "executionArn")}
    id = id_in(str(request)) if request else id_of(body)
    return Message(said["error"], said["message"], id or "", said["executionArn"], str(request))
