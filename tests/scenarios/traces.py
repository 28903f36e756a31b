"""What a run leaves behind in a stack: found by its id, and deleted. Nothing of anybody else is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scenarios import own_function
from scenarios.backend import Backend, TooLateError
from scenarios.executions import Executions
from scenarios.latch import open_latch
from scenarios.queues import Queues
from scenarios.rejected import rejected_of
from scenarios.tables import rows_with

from oncekit.stack.stack import Stack

SECONDS_TO_END = 90
"""For executions that a scenario left at work; what is not over by then is stopped."""
TABLES = (
    ("records", "TableName", "id", "id"),
    ("charges", "ProviderLedgerTableName", "chargeId", "orderId"),
    ("rows of orders", "OrdersTableName", "orderId", "requestId"),
    ("rows of stock", "StockTableName", "sku", "sku"),
)
"""Of each table: what is in it, its output, its key, and the attribute that begins with the run's id."""
QUEUES = ("RequestDeadLetterQueueUrl",)


@dataclass
class Traces:
    """Of one run."""

    backend: Backend
    run_id: str
    queues: Queues
    executions: Executions
    leaves_function: bool

    @property
    def stack(self) -> Stack:
        return self.backend.stack

    def left(self) -> dict[str, int]:
        """How much there is of each kind; looking at messages takes them away."""
        counts = {what: len(self._rows(output, attribute)) for what, output, _, attribute in TABLES}
        counts["objects"] = len(list(self._objects()))
        counts["executions at work"] = len(self.executions.all(running=True)) + len(self.executions.fast.running())
        counts["messages"] = sum(map(self.queues.take, self._queues()))
        counts["messages on their way to a dead-letter queue"] = len(self.queues.missing())
        counts["functions"] = int(not self.leaves_function and own_function.exists(self.stack))
        return counts

    def delete(self) -> None:
        """Delete all of it. What is still at work ends first, at whatever latch a scenario left it."""
        open_latch(self.stack, f"{self.run_id}/latches/all")
        try:
            self.backend.until(self._nothing_runs, SECONDS_TO_END, f"the end of the executions of {self.run_id}")
        except TooLateError:
            # Without its record, an owner that is stopped is nobody's to recover.
            self._delete_rows()
            for arn in self.executions.all(running=True):
                self.stack.client("stepfunctions").stop_execution(executionArn=arn, error="Aborted", cause=self.run_id)
        if not self.leaves_function:
            own_function.remove(self.stack)
        self._delete_rows()
        for key in self._objects():
            self.stack.client("s3").delete_object(Bucket=self.stack.outputs["ResponseBucketName"], Key=key)
        for output in self._queues():
            self.queues.take(output)

    def _queues(self) -> list[str]:
        return [output for output in QUEUES if output in self.stack.outputs]

    def _nothing_runs(self) -> bool | None:
        return not (self.executions.fast.running() or self.executions.all(running=True)) or None

    def _rows(self, output: str, attribute: str) -> list[Mapping[str, Any]]:
        return list(rows_with(self.stack, self.stack.outputs[output], attribute, "begins_with", self.run_id))

    def _delete_rows(self) -> None:
        for _, output, key, attribute in TABLES:
            for row in self._rows(output, attribute):
                self.stack.client("dynamodb").delete_item(
                    TableName=self.stack.outputs[output], Key={key: {"S": row[key]}}
                )

    def _objects(self) -> Iterator[str]:
        bucket = self.stack.outputs["ResponseBucketName"]
        kept_for = f"responses/{self.stack.number('RetentionDays')}d/"
        yield from rejected_of(self.stack, self.run_id, self.executions.since)
        for prefix in ("responses/", kept_for, "requests/"):
            pages = self.stack.client("s3").get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=bucket, Prefix=prefix + self.run_id):
                yield from (each["Key"] for each in page.get("Contents", ()))
