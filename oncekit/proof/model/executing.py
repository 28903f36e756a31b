"""Executions in the model, and the functions that they start."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator

from oncekit.proof.model.late_writes import sent_late
from oncekit.proof.model.logic import LOST, Calls, Raises, Returns, stage_of
from oncekit.proof.model.machine import End, Uncaught
from oncekit.proof.model.promises import Broken
from oncekit.proof.model.record import parsed
from oncekit.proof.model.services import Error, Services
from oncekit.proof.model.setting import Move, Setting, is_owner
from oncekit.proof.model.world import (
    DEAD,
    DEAD_AND_SEEN,
    FAILURE,
    FAST,
    PLACES,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    Execution,
    Function,
    World,
    as_json,
)

BUSINESS, UNDO = "ExecuteBusinessLogic", "UndoLock"
DECISIONS = ("PermanentError", "NeedsAttention")
"""What business logic may say about how it ends."""


class Executing:
    """The moves of executions and of functions; `fingerprint` gives that of a request by its number."""

    def __init__(self, setting: Setting, services: Services, fingerprint: Callable[[int], str]) -> None:
        self._setting, self._services, self._fingerprint = setting, services, fingerprint

    def goes_on(self, world: World) -> Iterator[Move]:
        for place, execution in enumerate(world.executions):
            if execution is not None and execution.status == RUNNING:
                yield from self._of_execution(world, place, execution)
        for function in world.functions:
            yield from self._of_function(world, function)

    def _of_execution(self, world: World, place: int, execution: Execution) -> Iterator[Move]:
        label = f"{PLACES[place]}: {execution.position}"
        if world.budget.crashes:
            yield Move(f"{label}: the execution dies", False, self._died(world, place).spend("crashes"))
        if execution.waits:
            if world.budget.errors:
                lost = Error("Lambda.Unknown", "the answer was lost while the function works on")
                yield Move(f"{label}: {lost.cause}", False, self._heard(world.spend("errors"), place, lost))
            return
        if execution.position == BUSINESS:
            yield from self._invocations(world, place, execution, label)
            return
        call = self._setting.call(place, execution)
        machine = call.machine
        answer = self._services.asked(world, call, place)
        if answer is None:
            if execution.lane == FAST:
                full = self._heard(world, place, call.lost)
                yield Move(f"{label}: no place is free, so it is refused", True, full)
            return
        yield Move(label, True, self._heard(answer.world, place, answer.result))
        if world.budget.stale and (old := self._services.stale(world, call)):
            yield Move(f"{label}: told what was", False, self._heard(world.spend("stale"), place, old))
        yield from sent_late(self._setting, world, call, place, label)
        lost = call.lost
        if answer.world != world:
            if world.budget.crashes:
                yield Move(
                    f"{label}: done, and the execution dies", False, self._died(answer.world, place).spend("crashes")
                )
            if world.budget.losses and machine.retries(execution.position, lost.name):
                yield Move(f"{label}: answer lost, tried again", False, answer.world.spend("losses"))
        if world.budget.losses and machine.catches(execution.position, lost.name):
            for after in {world, answer.world}:
                yield Move(f"{label}: gives up", False, self._heard(after.spend("losses"), place, lost))

    def _invocations(self, world: World, place: int, execution: Execution, label: str) -> Iterator[Move]:
        event = json.loads(self._setting.call(place, execution).text())["Payload"]
        event["lock"]["leaseExpiresAt"] = 0
        fence = int(event["lock"]["fence"])
        self._setting.promises.started(world, execution, fence)
        functions = tuple(sorted((*world.functions, Function(place, as_json(event), ()))))
        life = world.life._replace(started=True)
        begun = world.put(place, execution._replace(waits=True, fence=fence))
        yield Move(f"{label}: business logic starts", True, begun._replace(functions=functions, life=life))
        if world.budget.errors:
            throttled = Error("Lambda.TooManyRequestsException", "Rate exceeded")
            yield Move(f"{label}: throttled", False, self._heard(world.spend("errors"), place, throttled))
            missing = Error("Lambda.ResourceNotFoundException", "Function not found")
            known = world.put(place, execution._replace(fence=fence))
            yield Move(f"{label}: there is no function", False, self._heard(known.spend("errors"), place, missing))

    def _died(self, world: World, place: int) -> World:
        execution = world.executions[place]
        assert execution is not None
        if execution.lane == FAST:  # no event reports it, no list has it, and nobody can ask what it did
            life = world.life._replace(succeeded=False, decided=False) if is_owner(world, place) else world.life
            return world.put(place, execution._replace(status=DEAD_AND_SEEN, waits=False))._replace(life=life)
        status = DEAD if self._setting.workers else DEAD_AND_SEEN
        return world.put(place, execution._replace(status=status, waits=False))

    def _heard(self, world: World, place: int, result: str | Error) -> World:
        """The execution goes on with a result or an error."""
        execution = world.executions[place]
        assert execution is not None
        call = self._setting.call(place, execution)
        retried = execution.waits and isinstance(result, Error) and call.machine.retries(call.position, result.name)
        if retried:
            return world.put(place, execution._replace(waits=False))
        try:
            step = call.answered(result)
        except Uncaught:
            return self._died(world, place)
        told = _told(result) if call.resource == "lambda:invoke" else ()
        if execution.position == BUSINESS and told and told[0] != SUCCESS:
            world = world._replace(life=world.life._replace(decided=True))
        if isinstance(step, End):
            self._setting.promises.ended(world, step, execution.position, self._fingerprint(execution.request))
            ended = execution._replace(status=step.error or SUCCEEDED, position=step.state, variables="{}", waits=False)
            return world.put(place, ended)
        if step.position == "RefuseRequest":
            refusal = json.loads(step.variables)["refusal"]["error"]
            self._setting.promises.refused(world, refusal, self._fingerprint(execution.request))
        # What came before the lock, or after it was lost, nobody asks for.
        known = execution.history if is_owner(world, place) else execution.history[:0]
        if BUSINESS in execution.history and not known:
            known = (BUSINESS,)  # that it had the lock once is asked for
        before = (*known, *told)
        fence = 0 if execution.position == UNDO else execution.fence  # nothing was started under it
        going = execution._replace(position=step.position, variables=step.variables, waits=False, fence=fence)
        return world.put(place, going._replace(history=(*before, *step.passed)))

    # ---- Business logic ----

    def _of_function(self, world: World, function: Function) -> Iterator[Move]:
        label = f"function of {PLACES[function.place]}"
        stage = stage_of(function.event, function.answers)
        without = self._without(world, function)
        fence = fence_of(function.event)
        attached = is_attached(world, function)
        if world.budget.errors and attached and (not function.answers or isinstance(stage, Returns)):
            for name in DECISIONS:
                refused = Error(name, "declined")
                poorer = without.spend("errors")
                yield Move(f"{label} raises {name}", False, self._heard(poorer, function.place, refused))
                yield from self._untaken(poorer, function.place, refused, f"{label} raises {name}")
        if isinstance(stage, Calls):
            yield from self._calls_of_function(world, function, stage, fence, label)
            return
        if isinstance(stage, Raises):
            raised = Error(stage.name, stage.message)
            yield Move(f"{label} raises {stage.name}", True, self._heard(without, function.place, raised))
            yield from self._untaken(without, function.place, raised, f"{label} raises {stage.name}")
            return
        succeeded = without._replace(life=world.life._replace(succeeded=True))
        answer = as_json({"Payload": json.loads(stage.payload)})
        yield Move(f"{label} succeeds", True, self._heard(succeeded, function.place, answer))
        yield from self._untaken(succeeded, function.place, answer, f"{label} succeeds")

    def _untaken(self, world: World, place: int, result: str | Error, label: str) -> Iterator[Move]:
        """The execution dies after it was told the result, and before its next state."""
        execution = world.executions[place]
        assert execution is not None
        if world.budget.crashes:
            told = _told(result)
            life = world.life._replace(decided=world.life.decided or (bool(told) and told[0] != SUCCESS))
            there = execution._replace(history=(*execution.history, *told))
            died = self._died(world.put(place, there)._replace(life=life), place)
            yield Move(f"{label}, and the execution dies there", False, died.spend("crashes"))

    def _calls_of_function(
        self, world: World, function: Function, stage: Calls, fence: int, label: str
    ) -> Iterator[Move]:
        if stage.action == "get_item" and not parsed(stage.call).get("ConsistentRead"):
            raise Broken("P2: a step may read what was there before the last write")
        record, ledger, answer = self._setting.table.transact(world.record, world.ledger, stage.action, stage.call)
        after = world._replace(record=record, ledger=ledger)
        self._setting.promises.effected(world, after, function.place, fence)
        yield Move(f"{label}: {stage.action}", True, self._answered(after, function, answer))
        if world.budget.losses:
            for each in {world, after}:
                lost = self._answered(each.spend("losses"), function, LOST)
                yield Move(f"{label}: {stage.action}, answer lost", False, lost)

    def _answered(self, world: World, function: Function, answer: str) -> World:
        on = function._replace(answers=(*function.answers, answer))
        return self._without(world, function)._replace(
            functions=tuple(sorted((*self._without(world, function).functions, on)))
        )

    def _without(self, world: World, function: Function) -> World:
        left = list(world.functions)
        left.remove(function)
        return world._replace(functions=tuple(left))


def is_attached(world: World, function: Function) -> bool:
    """Whether an execution waits for it."""
    execution = world.executions[function.place]
    return execution is not None and execution.waits and execution.fence == fence_of(function.event)


@functools.cache
def fence_of(event: str) -> int:
    return int(json.loads(event)["lock"]["fence"])


def _told(result: str | Error) -> tuple[str, ...]:
    """What a history says of a function's result."""
    if isinstance(result, str):
        return (SUCCESS,)
    return (FAILURE + result.name,) if result.name in (*DECISIONS, "LockLostError") else ()
