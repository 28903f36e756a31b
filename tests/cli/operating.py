"""An operator at work on the local cloud: commands as a user gives them, and what happens meanwhile."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from commands import Done, KeptSession, Sessions, once
from tickets import end_by_ticket

from oncekit.local import Execution, LocalCloud
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, connect

FUNCTION = Path(__file__).parent / "functions" / "told"
ID = "default#told#k"


class Operator:
    """Gives commands; something else may happen just before, or just after, one of their calls."""

    _sessions = Sessions()

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self.cloud = cloud
        self._folder = folder
        self._heard = contextlib.ExitStack()
        self._before: dict[str, Callable[[], object]] = {}
        self._after: dict[str, Callable[[], object]] = {}
        self._twice = False
        self.script({"return": 7})
        environment = {"LATCHES": str(folder), "ORDERS": cloud.outputs["OrdersTableName"]}
        cloud.add_function("told", FUNCTION, timeout=30, environment=environment)

    def script(self, *steps: dict[str, Any]) -> None:
        """What business logic does, start by start."""
        (self._folder / "script.json").write_text(json.dumps(steps))
        (self._folder / "starts").write_text("")

    def open(self, latch: str) -> None:
        (self._folder / latch).touch()

    def file(self, text: str, name: str = "result.json") -> str:
        (self._folder / name).write_text(text)
        return str(self._folder / name)

    @property
    def starts(self) -> int:
        return len((self._folder / "starts").read_text().splitlines())

    def request(self, on_crash: str = "quarantine") -> dict[str, Any]:
        return {"operation": "told", "idempotencyKey": "k", "payload": {"a": 1}, "onCrash": on_crash}

    @property
    def item(self) -> dict[str, Any]:
        """The record as DynamoDB has it."""
        table, client = self.cloud.outputs["TableName"], self.cloud.client("dynamodb")
        item: dict[str, Any] = client.get_item(TableName=table, Key={"id": {"S": ID}})["Item"]
        return item

    @property
    def record(self) -> dict[str, Any]:
        record = self.cloud.record(ID)
        assert record is not None
        return record

    def before(self, method: str, action: Callable[[], object]) -> None:
        """Once, just before the next call of this name, e.g. UpdateItem; when it raises, the call is not made."""
        self._before[method] = action

    def after(self, method: str, action: Callable[[], object]) -> None:
        """Once, just after it; when it raises, its answer is lost."""
        self._after[method] = action

    def once(self, *arguments: str, stdin: str = "", columns: int | None = None) -> Done:
        with self._heard:
            return once(self._connect, *arguments, stdin=stdin, columns=columns)

    def client(self, service: str) -> Any:
        """Moto's, for what somebody else does."""
        return self.cloud.client(service)

    @property
    def outputs(self) -> Mapping[str, str]:
        return self.cloud.outputs

    def hear(self, client: Any, event: str, handler: Callable[..., object]) -> None:
        """A handler of an event of a client, until the command has ended."""
        client.meta.events.register(event, handler)
        self._heard.callback(client.meta.events.unregister, event, handler)

    def open_session(self, place: Place) -> KeptSession:
        return self._sessions.at(place)

    def _connect(self, *place: Any, **needed: Any) -> Stack:
        found = connect(*place, **needed, open_session=self.open_session)
        stack = replace(found, now=self.cloud.clock.now)
        for service in ("dynamodb", "stepfunctions", "s3"):
            client = stack.client(service)
            self.hear(client, "before-call", lambda model, **_: self._pop(self._before, model.name))
            self.hear(client, "after-call", lambda model, **_: self._pop(self._after, model.name))
        self.hear(stack.client("dynamodb"), "provide-client-params.dynamodb.UpdateItem", self._send_first)
        return stack

    def _send_first(self, params: dict[str, Any], **_: Any) -> None:
        if self._twice:
            self.cloud.client("dynamodb").update_item(**params)

    def _pop(self, actions: dict[str, Callable[[], object]], name: str) -> None:
        if action := actions.pop(name, None):
            action()

    # ---- what there is to operate on ----

    def quarantined(self, on_crash: str = "quarantine") -> dict[str, Any]:
        """A record that its own owner quarantined: business logic crashed, or asked for it."""
        ended = self.cloud.run(self.request(on_crash))
        assert ended.error == "NeedsAttention", ended
        assert self.record["status"] == "QUARANTINED"
        return self.record

    def pending(self, seconds: int = 7200, on_crash: str = "quarantine", lane: Any = "full") -> dict[str, Any]:
        """A record that waits for work elsewhere, which business logic has started."""
        self.script({"pending": seconds}, {"return": 8})
        ended = self.cloud.run(self.request(on_crash), lane=lane)
        assert ended.output is not None and ended.output["disposition"] == "IN_PROGRESS"
        assert self.record["status"] == "IN_PROGRESS" and "pendingSince" in self.record
        return self.record

    def end_by_ticket(self, result: Any = None, *, failed: str = "") -> bool:
        """Work elsewhere ends the operation with its ticket; whether it does."""
        return end_by_ticket(self.cloud, ID, result, failed=failed)

    def died_in(self, state: str) -> Execution:
        """An owner that is stopped at its call in a state."""
        with self.cloud.intercept(self._stopping(state)):
            ended = self.cloud.run(self.request())
        assert ended.status == "ABORTED"
        assert self.record["status"] == "IN_PROGRESS"
        return ended

    def died_fast_in(self, state: str) -> Execution:
        """An owner in the fast lane that ends at its call in a state. AWS has no call that stops one."""

        def strike(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            if call.state == state:
                self.cloud.executions.find(call.execution_arn).stop("Died", "ended by a test")
                raise ConnectionError
            return proceed()

        with self.cloud.intercept(strike):
            ended = self.cloud.run(self.request(), lane="fast")
        assert ended.status == "ABORTED"
        assert self.record["status"] == "IN_PROGRESS" and self.record["owner"].startswith(f"{ended.arn}:")
        return ended

    def input_of(self, arn: str) -> str:
        described = self.cloud.client("stepfunctions").describe_execution(executionArn=arn)
        return str(described["input"])

    def sweep(self, settles: bool = True) -> None:
        """Recovery by its schedule, and what it starts."""
        machine = self.cloud.outputs["RecoveryStateMachineArn"]
        run = self.cloud.client("stepfunctions").start_execution(stateMachineArn=machine, input="{}")
        self.cloud.wait(run["executionArn"])
        if settles:
            self.cloud.settle()

    def lease_over(self) -> None:
        self.cloud.clock.advance(3600)  # type: ignore[attr-defined]

    def _stopping(self, state: str) -> Callable[..., Any]:
        def strike(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            if call.state == state:
                self.cloud.client("stepfunctions").stop_execution(executionArn=call.execution_arn)
                raise ConnectionError
            return proceed()

        return strike

    def change(self, attributes: dict[str, Any]) -> None:
        """Somebody else writes these attributes of the record."""
        from boto3.dynamodb.types import TypeSerializer

        self.cloud.client("dynamodb").update_item(
            TableName=self.cloud.outputs["TableName"],
            Key={"id": {"S": ID}},
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in attributes),
            ExpressionAttributeNames={f"#{name}": name for name in attributes},
            ExpressionAttributeValues={f":{name}": TypeSerializer().serialize(attributes[name]) for name in attributes},
        )

    @contextlib.contextmanager
    def holding(self, state: str) -> Iterator[threading.Event]:
        """Executions stand still at their call in a state while the context is open; the event: one does."""
        go, reached = threading.Event(), threading.Event()

        def hold(call: Any, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            if call.state == state:
                reached.set()
                assert go.wait(20)
            return proceed()

        with self.cloud.intercept(hold):
            try:
                yield reached
            finally:
                go.set()
                self.cloud.settle()

    @contextlib.contextmanager
    def every_write_sent_twice(self) -> Iterator[None]:
        """The answer of the commands' first update of a record is lost, and botocore sends it once more."""
        self._twice = True
        try:
            yield
        finally:
            self._twice = False

    def refuse_requests(self, *keys: str) -> None:
        """Requests that are refused, for their payload is no object."""
        for key in keys:
            self.cloud.run({"operation": "told", "idempotencyKey": key, "payload": 1})

    def keep_refused(self, name: str, error: str, **more: Any) -> None:
        """An object as the state machines write it of a refused request; `name` ends its key."""
        told = {"error": error, "message": "as a test says", "executionArn": "arn:x", "refusedAt": "now", **more}
        self.put_object(f"rejected/2025-01-01T00-00-00.000Z-{name}.json", json.dumps(told).encode())

    def put_object(self, key: str, body: bytes) -> None:
        self.cloud.client("s3").put_object(Bucket=self.cloud.outputs["ResponseBucketName"], Key=key, Body=body)

    def executions(self) -> dict[str, str]:
        """The status of each execution of the operation machine, by its ARN."""
        machine = self.cloud.outputs["StateMachineArn"]
        listed = self.cloud.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
        return {each["executionArn"]: each["status"] for each in listed}

    def execution(self, done: Done) -> Execution:
        return self.cloud.wait(done.answer["executionArn"])


def put(operator: Operator, id: str, status: str, lease: int, **more: Any) -> None:
    """A record, as an owner leaves it."""
    shard = f"{status}#{hashlib.sha256(id.encode()).hexdigest()[0]}"
    texts = {"status": status, "owner": "arn:gone", "acquiredAt": "2026-01-01T00:00:00Z", "openShard": shard}
    texts["fingerprint"] = "0" * 64
    numbers = {"leaseExpiresAt": lease, "fence": 1, "attempts": 1}
    item = {
        "id": {"S": id},
        **{key: {"S": value} for key, value in texts.items()},
        **{key: {"N": str(value)} for key, value in numbers.items()},
        **more,
    }
    operator.client("dynamodb").put_item(TableName=operator.outputs["TableName"], Item=item)
