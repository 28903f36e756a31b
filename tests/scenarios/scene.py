"""What a scenario does and sees: requests, their results, their records, and their effects."""

from __future__ import annotations

import hashlib
import itertools
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from botocore.config import Config
from commands import Done
from scenarios.backend import Backend
from scenarios.executions import Executions
from scenarios.latch import open_latch
from scenarios.own_function import OPERATION
from scenarios.queues import Queues
from scenarios.rejected import rejected_of
from scenarios.tables import rows_with

from oncekit.problem import Problem
from oncekit.stack import ways
from oncekit.stack.records import Record, find

Found = TypeVar("Found")
Request = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """An execution that has ended."""

    arn: str
    status: str
    output: Mapping[str, Any]
    """Empty unless it succeeded."""
    error: str | None
    cause: Mapping[str, Any]
    """Empty unless it failed by one of the machine's own ends."""

    @property
    def disposition(self) -> str:
        assert self.status == "SUCCEEDED", (self.status, self.error, self.cause)
        return str(self.output["disposition"])


@dataclass
class Scene:
    """One scenario's view of a run. Every key, order, article and message of it has the run's id in it."""

    backend: Backend
    run_id: str
    """`e2e-` and eight hexadecimal digits: the tenant of every request."""
    queues: Queues
    executions: Executions
    longest: float
    """Seconds that each wait of this scenario may take."""
    lane: str
    """Where its executions start: `full`, `fast`, or by turns in one and the other: `mixed`, the fast one first."""
    _starts: Iterator[int] = field(default_factory=itertools.count)

    # ---- requests ----

    def key(self) -> str:
        """A new idempotency key."""
        return f"{self.run_id}-{uuid.uuid4().hex[:12]}"

    def request(self, operation: str, payload: Mapping[str, Any], **more: Any) -> Request:
        return {"operation": operation, "tenant": self.run_id, "idempotencyKey": self.key(), "payload": payload, **more}

    def charge(self, amount: int = 4200, **more: Any) -> Request:
        """A charge of an order of its own."""
        payload = {"orderId": self.key(), "amount": amount, "currency": "EUR"}
        return self.request("charge-payment", payload, **more)

    def scripted(self, *script: Mapping[str, Any], **more: Any) -> Request:
        """A request whose business logic does `script[n - 1]` at its nth start; see function/app.py."""
        return self.request(OPERATION, {"script": list(script)}, **more)

    # ---- executions ----

    def start(self, request: Any) -> str:
        """What it is known by: in the full lane its ARN, in the fast lane its name."""
        if self.lane == "fast" or (self.lane == "mixed" and next(self._starts) % 2 == 0):
            name = self.key()
            self.executions.fast.start(name, json.dumps(request))
            return name
        started = self.backend.stack.client("stepfunctions").start_execution(
            stateMachineArn=self.backend.stack.start_at, name=self.key(), input=json.dumps(request)
        )
        return str(started["executionArn"])

    def end_of(self, arn: str) -> Ended:
        return self.backend.until(lambda: self._ended(arn), self.longest, f"the end of {arn}")

    def run(self, request: Any) -> Ended:
        return self.end_of(self.start(request))

    def came_of(self, request: Request, at_least: int) -> list[Ended]:
        """The results of a request that triggers delivered this many times or more, after all executions have ended."""

        def look() -> list[Ended] | None:
            found = [self._ended(arn) for arn in self.executions.about(request["idempotencyKey"])]
            ended = [each for each in found if each is not None]
            return ended if len(found) == len(ended) >= at_least else None

        return self.until(look, f"{at_least} executions of {id_of(request)}")

    def stop(self, arn: str) -> None:
        self.backend.stack.client("stepfunctions").stop_execution(executionArn=arn, error="Aborted", cause=self.run_id)

    def send(self, via: str, body: str, times: int = 1) -> None:
        """By `eventbridge` or `sqs`."""
        ways.send(self.backend.stack, body, via, times)

    def sweep(self) -> str:
        """The status that the recovery machine ends with, told to look for all that is overdue."""
        arn = self.backend.stack.outputs["RecoveryStateMachineArn"]
        config = Config(inject_host_prefix=self.backend.has_host_prefixes)
        client = self.backend.stack.session.client("stepfunctions", config=config)
        return str(client.start_sync_execution(stateMachineArn=arn, name=self.key(), input="{}")["status"])

    def once(self, *arguments: str) -> Done:
        return self.backend.once(*arguments)

    def until(self, look: Callable[[], Found | None], what: str) -> Found:
        return self.backend.until(look, self.longest, what)

    def _ended(self, arn: str) -> Ended | None:
        found = self.executions.fast.end_of(arn) if self.executions.fast.has(arn) else self._described(arn)
        if found is None or found["status"] in ("RUNNING", "PENDING_REDRIVE"):
            return None
        output, cause = json.loads(found.get("output") or "{}"), found.get("cause", "")
        return Ended(
            found["executionArn"],
            found["status"],
            output,
            found.get("error"),
            json.loads(cause) if cause.startswith("{") else {},
        )

    def _described(self, arn: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.backend.stack.client("stepfunctions").describe_execution(executionArn=arn)
        return found

    def is_owner(self, started: str, owner: str) -> bool:
        """Whether what a record or an error calls the owner is the execution that was started as `started`."""
        return owner == started or owner.startswith(f"{started}:") or f":{started}:" in owner

    # ---- records and answers ----

    def record(self, request: Request) -> Record | None:
        try:
            return find(self.backend.stack, id_of(request))
        except Problem:
            return None

    def record_in(self, request: Request, *statuses: str) -> Record:
        """The record once it has one of these statuses."""

        def look() -> Record | None:
            record = self.record(request)
            return record if record is not None and record["status"] in statuses else None

        return self.until(look, f"{id_of(request)} to be {' or '.join(statuses)}; it is {self.record(request)}")

    def answer(self, ended: Ended) -> bytes:
        """The bytes of a result, from the output or from the bucket, where their SHA-256 must be the one promised."""
        assert ended.status == "SUCCEEDED", ended
        if "result" in ended.output:
            return str(ended.output["result"]).encode()
        ref = ended.output["resultRef"]
        body: bytes = self.backend.stack.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"].read()
        assert (hashlib.sha256(body).hexdigest(), len(body)) == (ref["sha256"], ref["bytes"])
        return body

    def kept_request(self, record: Record) -> Any:
        """The request of an open record, from where it says that it is kept: operation, tenant, key and payload."""
        if "request" in record:
            return json.loads(record["request"])
        ref = record["requestRef"]
        got = self.backend.stack.client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])
        return json.loads(got["Body"].read())

    # ---- effects ----

    def charges(self, request: Request) -> int:
        """Times that the provider moved money for the order of a charge."""
        return len(self._rows("ProviderLedgerTableName", "orderId", request["payload"]["orderId"]))

    def starts(self, request: Request) -> int:
        """Starts of scripted business logic."""
        return len(self._notes(request, "start"))

    def ends(self, request: Request) -> list[str]:
        """How each start of scripted business logic that has ended did: an error's name, or nothing."""
        return [row["error"] for row in self._notes(request, "end")]

    def orders(self, request: Request) -> int:
        """Orders that scripted business logic wrote in its step."""
        return len(self._notes(request, "order"))

    def placed(self, request: Request) -> int:
        """Orders that place-order wrote for a request."""
        return len(self._rows("OrdersTableName", "requestId", id_of(request)))

    def available(self, sku: str) -> int:
        """Pieces of an article that place-order has left on the shelf."""
        [row] = self._rows("StockTableName", "sku", sku)
        return int(row["available"])

    def taken(self, sku: str) -> int:
        """Pieces of an article that scripted business logic took from stock."""
        return sum(int(row["taken"]) for row in self._rows("StockTableName", "sku", sku))

    def _notes(self, request: Request, what: str) -> list[Mapping[str, Any]]:
        start = f"{id_of(request)}/{what}/"
        found = self._rows("OrdersTableName", "requestId", id_of(request))
        return sorted((row for row in found if row["orderId"].startswith(start)), key=lambda row: row["orderId"])

    def _rows(self, output: str, attribute: str, value: str) -> Sequence[Mapping[str, Any]]:
        stack = self.backend.stack
        return rows_with(stack, stack.outputs[output], attribute, "=", value)

    # ---- what is kept for the operator ----

    def refused(self, what: str) -> list[dict[str, Any]]:
        """What is kept of refused requests with `what` in it, once there is one."""

        def look() -> list[dict[str, Any]] | None:
            bodies = rejected_of(self.backend.stack, self.run_id, self.executions.since).values()
            return [json.loads(body) for body in bodies if what in body] or None

        return self.until(look, f"a refused request with {what}")

    def never_started(self, what: str) -> list[str]:
        """The messages with `what` in them in the dead-letter queue of requests, once there is one."""

        def look() -> list[str] | None:
            return [body for body in self.queues.own("RequestDeadLetterQueueUrl") if what in body] or None

        return self.until(look, f"a dead letter with {what}")

    # ---- latches of scripted business logic ----

    def open(self, request: Request, latch: str) -> None:
        place = f"{request['tenant']}/latches/{request['idempotencyKey']}/{latch}"  # as function/app.py has it
        open_latch(self.backend.stack, place)

    def started(self, request: Request) -> str:
        """Start a request, and return its execution's ARN when its business logic is at work."""
        arn = self.start(request)
        self.until(lambda: self.starts(request) or None, f"the start of {id_of(request)}")
        return arn


def id_of(request: Request) -> str:
    return f"{request['tenant']}#{request['operation']}#{request['idempotencyKey']}"


def without_policies(request: Request) -> Request:
    """What is kept of it: the rest is in the record, or is its sender's."""
    return {name: request[name] for name in ("operation", "tenant", "idempotencyKey", "payload")}
