"""An execution from state to state, with the events of its history.

It makes no call and does not wait: its Surroundings do. Iterations of a Map run one after the other, as if every Map
had MaxConcurrency 1 (AWS runs up to 40 of an inline Map at a time), and the first failure is that of the state. All
results together are the state's result. Variables that are assigned inside are not visible outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from oncekit.asl.errors import TIMEOUT, QueryError, StateError
from oncekit.asl.fields import TimestampError
from oncekit.asl.history import History, iso
from oncekit.asl.sizes import MAX_BYTES, OF_A_TASK_BYTES, exceeded, is_within, text_of
from oncekit.asl.states import Again, Branches, Call, Frame, Machine, Pause, Way, within

WHOLE = {"truncated": False}
RETRIED = ("Task", "Map")
"""Types of states with a Retry and a Catch."""


class Abandoned(BaseException):
    """The execution is over. Not an Exception, since no state may handle it."""


class TimedOut(BaseException):
    """The machine's TimeoutSeconds are over. Not an Exception, since no state may handle it."""


class Surroundings(Protocol):
    """What an execution is handed. Everything may raise Abandoned or TimedOut."""

    history: History

    def call(self, frame: Frame, call: Call) -> Any:
        """The answer of a Task's resource, as JSON. Raises StateError, with States.Timeout when it takes too long."""

    def pause(self, seconds: float) -> None:
        """Wait."""

    def record(
        self, kind: str, details: Mapping[str, Any], *, after: int | None = None, is_followed: bool = True
    ) -> int:
        """Add an event to the history, as History.add does."""

    def entered(self, frame: Frame) -> None:
        """A state has begun."""

    def left(self, frame: Frame, way: Way, kind: str, details: Mapping[str, Any]) -> None:
        """A state leads this way: to be recorded as `record` does, with where a redrive would go on, in one piece."""


def run(machine: Machine, frame: Frame, around: Surroundings) -> Any:
    """From the frame's state to the end; the output. Raises the StateError that nothing handles."""
    while True:
        way = _State(machine, frame, around).way()
        if way.to is None:
            return way.output
        frame.state, frame.input = way.to, way.output
        frame.variables = {**frame.variables, **way.assigned}


class _State:
    """One state of an execution, from its entering to its end."""

    def __init__(self, machine: Machine, frame: Frame, around: Surroundings) -> None:
        self.machine = machine
        self.frame = frame
        self.around = around
        self.name = frame.state
        self.type = machine.type_of(frame.state)
        self.before = around.history.last
        """What the state's first event follows; so does that of an expression that fails, on AWS."""

    def way(self) -> Way:
        """Where it leads. Raises StateError."""
        given = {"name": self.name, "input": text_of(self.frame.input), "inputDetails": WHOLE}
        self.frame.entered = self.around.record(f"{self.type}StateEntered", given)
        self.frame.retries = {}
        self._enter()
        way = self._attempts()
        output = text_of(way.output)
        if not is_within(output, OF_A_TASK_BYTES if self.type == "Task" else MAX_BYTES):
            raise exceeded(f"The state/task '{self.name}' returned a result")
        assigned = {name: text_of(value) for name, value in way.assigned.items()}
        if not is_within("".join(assigned.values())):
            raise exceeded("The Assign field gave variables")
        told: dict[str, Any] = {"name": self.name, "output": output, "outputDetails": WHOLE}
        if assigned:
            told |= {"assignedVariables": assigned, "assignedVariablesDetails": WHOLE}
        self.around.left(self.frame, way, f"{self.type}StateExited", told)
        return way

    def _enter(self) -> None:
        own: dict[str, Any] = {"Name": self.name, "EnteredTime": iso(self.machine.now())}
        if self.type in RETRIED:
            own["RetryCount"] = 0
        self.frame.context = {**self.frame.context, "State": own}
        self.around.entered(self.frame)

    def _attempts(self) -> Way:
        while True:
            try:
                return self._attempt()
            except StateError as error:
                self._tell(error)
                if self.type not in RETRIED:
                    raise
                again = self._after(error)
            if isinstance(again, Way):
                return again
            self.around.pause(again.seconds)
            self.frame.context["State"]["RetryCount"] += 1

    def _attempt(self) -> Way:
        match self.machine.begin(self.frame):
            case Way() as way:
                return way
            case Pause(seconds):
                self.around.pause(seconds)
                return self.machine.waited(self.frame)
            case Call() as call:
                result = self._called(call)
            case Branches() as branches:
                result = self._iterated(branches)
        return self.machine.answered(self.frame, result)

    def _after(self, error: StateError) -> Again | Way:
        try:
            way = self.machine.failed(self.frame, error)
        except StateError as last:  # the same, or one of an expression in its Catch
            self._tell(last)
            self._map_failed()
            raise
        if isinstance(way, Way):
            self._map_failed()
        return way

    def _map_failed(self) -> None:
        if self.type == "Map":
            self.around.record("MapStateFailed", {})

    # ---- events of a failure ----

    def _tell(self, error: StateError) -> None:
        if error.told:
            return
        error.told = True
        if isinstance(error, QueryError):
            location = {} if error.location is None else {"location": error.location}
            after = self.frame.entered if isinstance(error, TimestampError) else self.before
            self.around.record("EvaluationFailed", {**error.details, **location, "state": self.name}, after=after)
        elif self.type == "Task":
            kind = "TimedOut" if error.error == TIMEOUT else "Failed"
            self.around.record(*_task_event(self._resource, kind, **error.details))

    # ---- tasks ----

    @property
    def _resource(self) -> str:
        return str(self.machine.states[self.name]["Resource"])

    def _called(self, call: Call) -> Any:
        times = {"timeoutInSeconds": call.timeout, "heartbeatInSeconds": call.heartbeat}
        scheduled: dict[str, Any] = {name: int(value) for name, value in times.items() if value is not None}
        given = text_of(call.arguments)
        if is_function(call.resource):
            scheduled |= {"input": given, "inputDetails": WHOLE}
        else:
            scheduled |= {"parameters": given, "region": self.frame.context["Execution"]["Id"].split(":")[3]}
        self.around.record(*_task_event(call.resource, "Scheduled", **scheduled))
        self.around.record(*_task_event(call.resource, "Started"))
        result = self.around.call(self.frame, call)
        answer = text_of(result)
        if not is_within(answer):
            raise exceeded(f"The state/task '{task_name(call.resource)}' returned a result")
        self.around.record(*_task_event(call.resource, "Succeeded", output=answer, outputDetails=WHOLE))
        return result

    # ---- iterations ----

    def _iterated(self, branches: Branches) -> list[Any]:
        self.around.record("MapStateStarted", {"length": len(branches.items)})
        results: list[Any] = []
        after = None
        for index, item in enumerate(branches.items):
            result, after = self._iteration(branches.machine, index, item, after)
            results.append(result)
        if not is_within(text_of(results)):
            raise exceeded(f"The state/task '{self.name}' returned a result")
        self.around.record("MapStateSucceeded", {}, is_followed=False)
        return results

    def _iteration(self, machine: Machine, index: int, item: Any, after: int | None) -> tuple[Any, int]:
        """The output of one, and the event that the next one's first event follows: this one's last but one."""
        about = {"name": self.name, "index": index}
        given = self.machine.selected(self.frame, index, item)
        inside = Frame(machine.start_at, given, self.frame.variables, within(self.frame.context, index, item))
        self.around.record("MapIterationStarted", about, after=after)
        try:
            result = run(machine, inside, self.around)
        except StateError as error:
            self.around.record("MapIterationFailed", about)
            raise StateError(error.error, error.cause) from error
        except (Abandoned, TimedOut):
            with suppress(Abandoned):
                self.around.record("MapIterationAborted", about)
            raise
        last = self.around.history.last
        self.around.record("MapIterationSucceeded", about)
        return result, last


def is_function(resource: str) -> bool:
    """Whether a Task's resource is a Lambda function by its own ARN."""
    return ":lambda:" in resource and ":states:::" not in resource


def task_name(resource: str) -> str:
    """As AWS names a Task whose result is too large: a function's ARN, or the service's name."""
    return resource if is_function(resource) else resource.rpartition(":::")[2].rpartition(":")[0]


def _task_event(resource: str, kind: str, **details: Any) -> tuple[str, dict[str, Any]]:
    """The type and details of an event of a Task."""
    if is_function(resource):
        return f"LambdaFunction{kind}", {**details, **({"resource": resource} if kind == "Scheduled" else {})}
    service, _, action = resource.rpartition(":::")[2].rpartition(":")
    return f"Task{kind}", {**details, "resource": action, "resourceType": service}
