"""A world to break: the local cloud with its real template, functions in this process, in turns and virtual time.

One world serves many runs; `begin` empties it. Everything that is random is seeded, so that a run repeats exactly.
"""

from __future__ import annotations

import functools
import io
import math
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncekit.contract.lanes import DIRECT
from oncekit.local import LocalCloud
from oncekit.local.engine.boundaries import Boundary, boundaries
from oncekit.local.engine.interceptors import Proceed
from oncekit.local.engine.live import ABORTED, TIMED_OUT
from oncekit.local.engine.service_calls import Call, Interceptor
from oncekit.local.engine.views import behind
from oncekit.local.events import Delivery
from oncekit.local.execution import as_text
from oncekit.local.once_cloud import PREFIX
from oncekit.local.patching import replaced
from oncekit.promises import checker
from oncekit.promises.evidence import evidence_of
from oncekit.promises.journal import Fault, Journal, all_records
from oncekit.promises.owners import is_fast, status_of
from oncekit.proof.simulation import business
from oncekit.proof.simulation.announcements import Announcements
from oncekit.proof.simulation.direct import Direct
from oncekit.proof.simulation.functions import Functions, Point
from oncekit.proof.simulation.scheduler import Scheduler

ROOT = Path(__file__).parents[3]
BEGIN = 1_767_225_600.0  # 2026-01-01T00:00:00Z

OPERATIONS = (*business.OPERATIONS, "gone-work")
"""Besides the samples; the function of the last one is not there."""
PARAMETERS = {
    "FullLaneOperations": "place-order",  # comes through the fast lane to the full one
    "MaxAttempts": 3,  # of ten, the others would tell nothing new
    "Operations": ",".join(f"{operation}={PREFIX}{operation}:live" for operation in OPERATIONS),
}
TURN = 300.0
"""Seconds, for which time runs on before anybody looks whether recovery has done its work."""


@dataclass(frozen=True)
class Background:
    """What holds for a whole run, behind whatever fault its injector adds; nothing by default."""

    lag: float = 0.0
    """Seconds for which DescribeExecution, also for operators, does not see a change; AWS names no bound ("may not
    reflect very recent updates and changes")."""
    twice: str = ""
    """Part of the name of a machine each of whose executions runs twice, as Express ones that are asynchronous may."""
    after: float = 0.0
    """Seconds until the second run begins."""

    def of_run(self, arn: str) -> Sequence[float]:
        """After how many seconds an asynchronous execution runs once more."""
        return (self.after,) if self.twice and self.twice in arn else ()


AFTER_A_LEASE = 400.0
"""Seconds: longer than an owner in the fast lane keeps the lock."""
BACKGROUNDS = {
    "calm": Background(),
    "stale": Background(lag=20.0),
    "recovery twice": Background(twice="Recovery"),
    "recovery late": Background(twice="Recovery", after=AFTER_A_LEASE),
    "fast twice": Background(twice="Fast"),
    "fast soon": Background(twice="Fast", after=2.0),
    "fast late": Background(twice="Fast", after=AFTER_A_LEASE),
}


class Injector:
    """Is asked wherever something can go wrong, and lets everything go well. A subclass does not: see `faults`."""

    def at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        return proceed()

    def at_boundary(self, boundary: Boundary) -> None:
        pass

    def at_point(self, point: Point) -> None:
        pass

    def of_delivery(self, delivery: Delivery) -> Sequence[float]:
        """After how many seconds it comes."""
        return (0.0,)


@functools.cache
def opened() -> World:
    """The one of this process."""
    return World().__enter__()


class World:
    """The cloud and all that stands around it."""

    def __init__(self, template: Path = ROOT / "template.yaml", parameters: Mapping[str, object] | None = None) -> None:
        self.scheduler = Scheduler(BEGIN)
        self.dice = random.Random(0)  # noqa: S311 no secret
        self.injector = Injector()
        self.background = Background()
        self.behind: Interceptor | None = None
        """What else goes wrong at calls, behind the injector."""
        self.trace: list[str] = []
        self.sweeps = True
        self.announcements = Announcements(ROOT)
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
        self.direct = Direct(self.cloud, self.scheduler, self.journal, self.functions)
        self.functions.plain.update(self.business.handlers)
        stack.enter_context(self.functions.installed())
        stack.enter_context(self.direct.installed())
        stack.enter_context(business.pauses_in(self.scheduler))
        self.express = Express(self.scheduler)
        stack.enter_context(boundaries(self._at_boundary))
        stack.enter_context(replaced((uuid, "uuid4", lambda: uuid.UUID(int=self.dice.getrandbits(128), version=4))))

    def begin(self, seed: int = 0, background: str = "calm") -> None:
        """Everything empty, the clock at its beginning, and nothing that goes wrong."""
        self.scheduler.drop()
        self.scheduler.restart(BEGIN)
        self.cloud.reset()
        self.journal.clear()
        self.business.clear()
        self.direct.clear()
        self.trace.clear()
        self.dice.seed(seed)
        self.injector, self.behind = Injector(), None
        self.background = BACKGROUNDS[background]

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

    def start(self, request: Any, name: str, lane: str = "full") -> Callable[[], bool]:
        """Send a request, or a batch; whether it has its answer."""
        if lane == DIRECT:
            sender = self.direct.send(request if isinstance(request, tuple) else (request,), name)
            return lambda: sender.done
        if isinstance(request, tuple):
            have_ended = [self.start(each, f"{name}-{number}", lane) for number, each in enumerate(request)]
            return lambda: all(has_ended() for has_ended in have_ended)
        output = "StateMachineArn" if lane == "full" else "FastStateMachineArn"
        arn: str = self.cloud.client("stepfunctions").start_execution(
            stateMachineArn=self.cloud.outputs[output], name=name, input=as_text(request)
        )["executionArn"]
        execution = self.cloud.executions.find(arn)
        return lambda: execution.status != "RUNNING"

    def stop(self, arn: str) -> None:
        """Kill an execution; of an Express one the run that is at work. Nobody can do that to it, but it may happen."""
        if is_fast(arn):
            self.express.kill(self.cloud.executions.find(arn))
            return
        self.cloud.client("stepfunctions").stop_execution(executionArn=arn, error="Killed", cause="by the proof")

    def pass_time(self, seconds: float) -> None:
        """In the main thread."""
        self.scheduler.wait(until=self.scheduler.now() + seconds)

    def recover(self) -> None:
        """Let recovery have its time: an hour, or until nothing is open, nor waits for work elsewhere."""
        self.scheduler.rest()
        for _ in range(12):
            if not self.unfinished() and not any("pendingSince" in each for each in all_records(self.cloud).values()):
                return
            self.pass_time(TURN)
            self.scheduler.rest()

    def unfinished(self) -> list[Fault]:
        """What recovery should find, or should have found."""
        return list(checker.end_faults(evidence_of(self.journal)))

    def faults(self) -> list[Fault]:
        announced = self.announcements.faults(self.journal.writes)
        return [*checker.faults(self.journal), *self.business.faults(), *self.direct.faults(), *announced]

    # ---- where faults come in ----

    def note(self, what: str) -> None:
        self.trace.append(f"{self.scheduler.now() - BEGIN:10.1f}  {what}")

    def _at_call(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        def go_on() -> dict[str, Any]:
            # Half of what a sweep does, and nobody here reads it.
            return {"Count": 0} if call.state == "CountShard" else self.called(call.action, proceed)

        return self.injector.at_call(call, lambda: self.behind(call, go_on) if self.behind else go_on())

    def called(self, action: str, proceed: Proceed) -> dict[str, Any]:
        """A call in front of the background."""
        if self.background.twice:
            self.scheduler.wait()  # so that the other run goes on between any two calls
        with behind(self.background.lag if action == "describe_execution" else 0.0):
            return proceed()

    def _at_boundary(self, boundary: Boundary) -> None:
        if boundary.place == "enter":
            self.express.entered(boundary.execution)
        self.injector.at_boundary(boundary)

    def _at_point(self, point: Point) -> None:
        self.injector.at_point(point)

    def _of_delivery(self, delivery: Delivery) -> Sequence[float]:
        if delivery.kind == "schedule" and not (self.sweeps and self._sweep_would_find()):
            return ()
        return self.injector.of_delivery(delivery)

    def _sweep_would_find(self) -> bool:
        """A sweep that finds nothing overdue is left out: it costs a hundred calls and changes nothing but metrics.

        Of those that find a live owner only one comes in half an hour, and in half a day when its lease has been over
        for hours: it may try for three days to store an answer.
        """
        now = self.scheduler.now()
        overdue = [
            (record["owner"], now - float(record["leaseExpiresAt"]))
            for record in all_records(self.cloud).values()
            if record["status"] == "IN_PROGRESS" and record["leaseExpiresAt"] < now
        ]
        return any(
            int(now / 60) % (30 if since < 4 * 3600 else 720) == 0 or status_of(self.cloud, owner) != "RUNNING"
            for owner, since in overdue
        )


class Express:
    """Express executions: AWS ends each after 300 seconds, whatever it is doing, and it may die before that.

    A thread that sleeps in a call cannot see to that itself. So each run has a timer.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._at_work: dict[int, Any] = {}
        """Moto's execution by the number of a task: two runs can have one ARN."""

    def kill(self, latest: Any) -> None:
        """The run that this task is at work on; `latest` if it is at work on none with that ARN."""
        mine = self._at_work.get(self._scheduler.current.number)
        execution = mine if mine is not None and mine.arn == latest.arn else latest
        details = {"error": "Killed", "cause": "by the proof"}
        execution.run.end(ABORTED, details)

    def entered(self, execution: Any) -> None:
        """Call it whenever a state begins, in the task of the execution."""
        number = self._scheduler.current.number
        if self._at_work.get(number) is execution:
            return
        self._at_work[number] = execution
        run = execution.run
        if execution.machine.type == "EXPRESS" and run.deadline != math.inf and not getattr(run, "is_timed", False):
            run.is_timed = True
            self._scheduler.at(run.deadline, lambda: run.end(TIMED_OUT, {}))
