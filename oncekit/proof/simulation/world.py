"""A world to break: the local cloud with its real template, functions in this process, in turns and virtual time.

One world serves many runs; `begin` empties it. Everything that is random is seeded, so that a run repeats exactly.
"""

from __future__ import annotations

import io
import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from oncekit.local import LocalCloud
from oncekit.local.boundaries import Boundary, boundaries
from oncekit.local.engine import Call
from oncekit.local.engine.patching import replaced
from oncekit.local.events import Delivery
from oncekit.local.execution import as_text
from oncekit.promises import checker
from oncekit.promises.evidence import all_records, executions_of
from oncekit.promises.faults import Fault
from oncekit.promises.journal import Actor, Journal
from oncekit.promises.owners import is_fast
from oncekit.proof.simulation import business
from oncekit.proof.simulation.background import BACKGROUNDS, Background
from oncekit.proof.simulation.express import Express
from oncekit.proof.simulation.functions import Functions, Point
from oncekit.proof.simulation.injector import Injector, Proceed
from oncekit.proof.simulation.scheduler import Scheduler, seeded_uuid

ROOT = Path(__file__).parents[3]
BEGIN = 1_767_225_600.0  # 2026-01-01T00:00:00Z

PARAMETERS = {"FullLaneOperations": "place-order"}
"""So that this operation comes through the fast lane to the full one."""

OWN_ENDS = (*checker.REFUSALS, "OperationInProgress", "OperationFailed", "NeedsAttention", "LockLost")
"""Errors of the operation machine's own ends: such an execution has said all there is to say."""


class World:
    """The cloud and all that stands around it."""

    def __init__(self, template: Path = ROOT / "template.yaml", parameters: Mapping[str, object] | None = None) -> None:
        self.scheduler = Scheduler(BEGIN)
        self.dice = random.Random(0)  # noqa: S311 no secret
        self.injector = Injector()
        self.background = Background(self.scheduler)
        self.trace: list[str] = []
        self._template, self._parameters = template, {**PARAMETERS, **(parameters or {})}
        self._stack = ExitStack()

    def __enter__(self) -> World:
        with self._stack as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.scheduler.drop()
        self._stack.close()

    def _open(self, stack: ExitStack) -> None:
        stack.enter_context(redirect_stdout(io.StringIO()))  # the functions' logs
        stack.enter_context(self.scheduler.installed())
        cloud = LocalCloud(self._template, parameters=self._parameters, clock=self.scheduler, dice=self.dice)
        self.cloud = stack.enter_context(cloud)
        self.journal = stack.enter_context(Journal(self.cloud).open())
        self.functions = Functions(self.cloud, self.scheduler, self.journal, self._at_point)
        self.business = business.Business(self.cloud, self.scheduler, self.functions)
        self.functions.plain.update(self.business.handlers)
        stack.enter_context(self.functions.installed())
        stack.enter_context(business.pauses_in(self.scheduler))
        self.express = Express(self.scheduler)
        stack.enter_context(boundaries(self._at_boundary))
        stack.enter_context(replaced((uuid, "uuid4", seeded_uuid(self.dice))))

    def begin(self, injector: Injector, seed: int = 0, background: str = "calm") -> None:
        """Everything empty, and the clock at its beginning."""
        self.scheduler.drop()
        self.scheduler.restart(BEGIN)
        self.cloud.reset()
        self.journal.clear()
        self.business.clear()
        self.trace.clear()
        self.dice.seed(seed)
        self.injector = injector
        self.background = BACKGROUNDS[background](self.scheduler)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Calls, deliveries and boundaries go through the injector while the context is open."""
        with (
            self.cloud.intercept(self._at_call, self.journal.interceptor, self.functions.interceptor),
            self.cloud.lose_events(self._of_delivery),
            self.cloud.repeating(lambda arn, _input: self.background.of_run(arn)),
        ):
            yield

    # ---- acts ----

    def start(self, request: Any, name: str, lane: str = "full") -> str:
        output = "StateMachineArn" if lane == "full" else "FastStateMachineArn"
        arn: str = self.cloud.client("stepfunctions").start_execution(
            stateMachineArn=self.cloud.outputs[output], name=name, input=as_text(request)
        )["executionArn"]
        return arn

    def stop(self, arn: str) -> None:
        """Kill an execution; of an Express one the run that is at work. Nobody can do that to it, but it may happen."""
        if is_fast(arn):
            self.express.kill(self.cloud.executions.find(arn))
            return
        self.cloud.client("stepfunctions").stop_execution(executionArn=arn, error="Killed", cause="by the proof")

    def pass_time(self, seconds: float) -> None:
        """In the main thread."""
        self.scheduler.wait(until=self.scheduler.now() + seconds)

    def leap(self, seconds: float) -> None:
        """In the main thread, while nothing goes on: time passes without any turn of the schedule."""
        self.scheduler.leap(seconds)

    def recover(self, periods: int = 12) -> None:
        """Let recovery have its time: the schedule, until nothing is open, for at most some turns of it."""
        self.scheduler.rest()
        for _ in range(periods):
            if not self.is_unfinished():
                return
            self.pass_time(self._period + 1)
            self.scheduler.rest()

    def unfinished(self) -> list[Fault]:
        """What recovery should find, or should have found."""
        records = all_records(self.cloud)
        return list(checker.end_faults(executions_of(self.cloud), records, self.cloud.rejected()))

    def is_unfinished(self) -> bool:
        return bool(self.unfinished())

    def set_recoveries(self, id: str, count: int) -> None:
        """As if it had been recovered this many times."""
        with operator(self):
            self.cloud.client("dynamodb").update_item(
                TableName=self.cloud.resources["IdempotencyTable"],
                Key={"id": {"S": id}},
                UpdateExpression="SET recoveries = :count",
                ExpressionAttributeValues={":count": {"N": str(count)}},
            )

    def faults(self) -> list[Fault]:
        return [*checker.faults(self.journal), *self.business.faults()]

    # ---- where faults come in ----

    def note(self, what: str) -> None:
        self.trace.append(f"{self.scheduler.now() - BEGIN:10.1f}  {what}")

    def _at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        return self.injector.at_call(call, lambda: self.background.at_call(call, proceed))

    def _at_boundary(self, boundary: Boundary) -> None:
        if boundary.place == "enter":
            self.express.entered(boundary.execution)
        self.injector.at_boundary(boundary)

    def _at_point(self, point: Point) -> None:
        self.injector.at_point(point)

    def _of_delivery(self, delivery: Delivery) -> Sequence[float]:
        if delivery.kind == "schedule" and not self._sweep_would_find():
            return ()
        return self.injector.of_delivery(delivery)

    def _sweep_would_find(self) -> bool:
        """A sweep that finds nothing dead is left out: it costs a hundred calls and changes nothing but metrics."""
        now = self.scheduler.now()
        for record in all_records(self.cloud).values():
            overdue = record["status"] == "IN_PROGRESS" and record["leaseExpiresAt"] < now
            if overdue and (is_fast(record["owner"]) or self.journal.status_of(record["owner"]) != "RUNNING"):
                return True
        return self.saw_death_lately()

    def saw_death_lately(self) -> bool:
        """Whether an execution died so recently that a sweep finds it without a record, with some time to spare."""
        return any(self.scheduler.now() - ended < 4 * self._period for ended in self._deaths())

    def _deaths(self) -> Iterator[float]:
        """When executions ended that did not come to one of their own ends."""
        for machine in self.cloud.executions.machines:
            for each in machine.executions:
                own_end = each.status == "FAILED" and each.error in OWN_ENDS
                if each.status in ("FAILED", "ABORTED", "TIMED_OUT") and not own_end and machine.name != self._fast:
                    yield each.stop_date.timestamp()

    @property
    def _fast(self) -> str:
        """The name of the machine whose deaths nobody finds: Express."""
        return self.cloud.outputs["FastStateMachineArn"].rpartition(":")[2]

    @property
    def _period(self) -> float:
        return 60.0 * float(self.cloud.parameters["RecoveryPeriodMinutes"])


def operator(world: World) -> Any:
    return world.journal.acting(Actor("operator"))
