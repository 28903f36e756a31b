"""Everything that can happen next in a world of the model.

A move is fair when it is the system's own doing: a call that works, time that passes, recovery that sweeps. The rest
is bad luck, of which a budget says how much there is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from oncekit.proof.model.logic import LOST, Calls, Raises, Returns, stage_of
from oncekit.proof.model.machine import NOW, At, End, Machine, Next, Uncaught
from oncekit.proof.model.promises import Broken, Promises, is_final, text
from oncekit.proof.model.record import Table, moved, parsed, time_of
from oncekit.proof.model.services import Call, Error, Services, execution_of
from oncekit.proof.model.world import (
    DEAD,
    DEAD_AND_SEEN,
    FAILURE,
    PLACES,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    Budget,
    Execution,
    Function,
    Late,
    Life,
    Worker,
    World,
    arn_of,
    as_json,
    in_order,
    tidied,
)

BUSINESS = "ExecuteBusinessLogic"
LOOK, RECOVER = "look", "recover"
DECISIONS = ("PermanentError", "NeedsAttention")
"""What business logic may say about how it ends."""
FINISHING = ("IsResponseLarge", "CacheResponse", "Finalize", "RecordFailure", "KeepRequest", "RecordQuarantine")
"""Where `once redrive` lets a dead owner go on."""


class Move(NamedTuple):
    label: str
    fair: bool
    world: World


@dataclass(frozen=True)
class Setting:
    """What is explored: the machines, the requests in the order in which they arrive, and how much goes wrong."""

    operation: Machine
    look: Machine
    recover: Machine
    table: Table
    requests: tuple[str, ...]
    budget: Budget
    workers: int
    """Recoveries at the same time. Without any, the source sends a request again until it is answered."""
    instants: bool
    """Whether there is a moment at which a lease or a record ends, between before and after."""
    promises: Promises
    unreadable: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    """The writes that may come late; none named: all of them."""


class Rules:
    """The moves of a setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        inputs, unreadable = setting.requests, setting.unreadable
        self._services = Services(setting.table, setting.promises, inputs, unreadable, self._begin)
        self._machines: Mapping[str, Machine] = {LOOK: setting.look, RECOVER: setting.recover}
        self.fingerprint = functools.cache(self._fingerprint)

    def start(self) -> World:
        return World(None, 0, (None,) * len(PLACES), (), (), (), Life(), self.setting.budget)

    def is_over(self, world: World) -> bool:
        """Nobody is at work and every request has come to an end that is kept."""
        quiet = not any(each and each.status in (RUNNING, DEAD) for each in world.executions) and not world.workers
        return quiet and (world.record is None or is_final(world.record))

    def moves(self, world: World) -> Iterator[Move]:
        """Raises Broken, with the label of the move in its message, when one breaks a promise."""
        for move in self._all(world):
            yield move._replace(world=self._canonical(move.world))

    def _canonical(self, world: World) -> World:
        heard = tuple(each for each in world.functions if self._attached(world, each) or self._calls(each))
        if len(heard) < len(world.functions):
            world = world._replace(functions=heard)
        return in_order(tidied(world))

    def _calls(self, function: Function) -> bool:
        return isinstance(stage_of(function.event, function.answers), Calls)

    def _attached(self, world: World, function: Function) -> bool:
        """Whether an execution waits for it."""
        execution = world.executions[function.place]
        return execution is not None and execution.waits and execution.fence == _fence(function.event)

    def _all(self, world: World) -> Iterator[Move]:
        yield from self._arrivals(world)
        yield from self._time(world)
        yield from self._recoveries(world)
        yield from self._late_calls(world)
        yield from self._operators(world)
        for place, execution in enumerate(world.executions):
            if execution is not None and execution.status == RUNNING:
                yield from self._of_execution(world, place, execution)
        for function in world.functions:
            yield from self._of_function(world, function)
        for worker in world.workers:
            yield from self._of_worker(world, worker)

    # ---- What comes from outside ----

    def _arrivals(self, world: World) -> Iterator[Move]:
        place = world.free_place()
        if place is None:
            return
        if world.budget.arrivals:
            number_ = len(self.setting.requests) - world.budget.arrivals
            yield Move(
                f"request {number_} arrives", False, self._begin(world, place, "order", number_).spend("arrivals")
            )
        working = any(each and each.status == RUNNING for each in world.executions)
        if not self.setting.workers and not working and world.record is not None and not is_final(world.record):
            owner = execution_of(world, text(parsed(world.record), "owner"))
            again = self._begin(world, place, "order", 0 if owner is None else owner[1].request)
            yield Move("the source sends the request again", True, again)

    def _begin(self, world: World, place: int, name: str, request: int) -> World:
        entered = self.setting.operation.enter(_me(place, name), self.setting.requests[request])
        assert isinstance(entered, At)
        request = self.setting.requests.index(self.setting.requests[request])  # equal requests are the same one
        execution = Execution(name, request, RUNNING, entered.position, entered.variables, False, 0, ())
        return world.put(place, execution)

    def _fingerprint(self, request: int) -> str:
        entered = self.setting.operation.enter(arn_of(0), self.setting.requests[request])
        assert isinstance(entered, At)
        call = json.loads(self.setting.operation.call(entered.position, entered.variables, arn_of(0), "{}"))
        fingerprint: str = call["ExpressionAttributeValues"][":fingerprint"]["S"]
        return fingerprint

    def _time(self, world: World) -> Iterator[Move]:
        """Leases and records come to their end; where there are instants, with a moment that is exactly on it."""
        record, budget = world.record, world.budget
        lease, expiry = time_of(record, "leaseExpiresAt"), time_of(record, "expiresAt")
        if record is not None and lease is not None and lease >= NOW and not self._redrives(world):
            if lease > NOW and self.setting.instants:
                yield Move(
                    "the lease is about to end", True, world._replace(record=moved(record, "leaseExpiresAt", NOW))
                )
            else:
                later = moved(record, "leaseExpiresAt", NOW - 1000 + world.life.leases)
                if time_of(record, "claimedUntil"):
                    later = moved(later, "claimedUntil", NOW - 1000)
                life = world.life._replace(leases=world.life.leases + 1)
                known = _known_as(world, lease, NOW - 1000 + world.life.leases)
                yield Move("the lease ends", True, known._replace(record=later, life=life))
        if record is not None and expiry is not None:
            if expiry > NOW and budget.expiries:
                expired = moved(record, "expiresAt", NOW if self.setting.instants else NOW - 1)
                older = tuple(sorted(late._replace(call=_aged(late.call)) for late in world.late))
                over = world._replace(record=expired, late=older).spend("expiries")
                yield Move("the record expires", False, over)
            elif expiry == NOW:
                yield Move("the record is over", True, world._replace(record=moved(record, "expiresAt", NOW - 1)))
            elif expiry < NOW:
                yield Move("TTL deletes the record", True, world._replace(record=None))

    def _redrives(self, world: World) -> bool:
        """Whether a redrive is under way that was claimed: its sends and their retries take less time than a lease.

        A redrive that came after its claim had ended could revive an owner that another has looked at and given up.
        """
        return any(each and each.status == RUNNING and each.position == "RedriveOwner" for each in world.executions)

    # ---- Recovery ----

    def _recoveries(self, world: World) -> Iterator[Move]:
        if len(world.workers) >= self.setting.workers:
            return
        for place, execution in enumerate(world.executions):
            if execution is None or execution.status != DEAD:
                continue
            if any(worker.about == place for worker in world.workers):
                continue
            for sweeps in (False, True):
                how = "the sweep" if sweeps else "the event"
                branch = self._branch(LOOK, as_json(arn_of(place)), sweeps, place)
                # Events are lost at times, so an end must be in reach without them.
                yield Move(f"{how} finds that {self._name(place)} died", sweeps, self._with(world, branch))
        lease = time_of(world.record, "leaseExpiresAt")
        if world.record and lease is not None and lease < NOW and not is_final(world.record):
            branch = self._branch(RECOVER, as_json({"id": text(parsed(world.record), "id")}), True, -1)
            if branch not in world.workers:
                yield Move("the sweep finds the record", True, self._with(world, branch))

    def _branch(self, machine: str, given: str, sweeps: bool, about: int) -> Worker:
        entered = self._machines[machine].enter("recovery", given, {"sweeps": sweeps})
        assert isinstance(entered, At)
        return Worker(machine, entered.position, entered.variables, about, sweeps and machine == LOOK)

    def _with(self, world: World, *workers: Worker, without: Worker | None = None) -> World:
        left = list(world.workers)
        if without is not None:
            left.remove(without)
        return world._replace(workers=tuple(sorted((*left, *workers))))

    def _of_worker(self, world: World, worker: Worker) -> Iterator[Move]:
        machine = self._machines[worker.machine]
        label = f"recovery: {worker.position}"

        def goes_on(after: World, step: Next) -> World:
            if isinstance(step, At):
                return self._with(
                    after, worker._replace(position=step.position, variables=step.variables), without=worker
                )
            after = self._with(after, without=worker)
            if step.state == "OwnerDied":
                return self._with(after, self._branch(RECOVER, as_json(step.output), worker.sweeps, -1))
            dead = after.executions[worker.about] if worker.about >= 0 else None
            if dead is not None and dead.status == DEAD and step.state == "NothingLeftToDo":
                return after.put(worker.about, dead._replace(status=DEAD_AND_SEEN))
            return after

        call = Call(machine, worker.position, worker.variables, "recovery", "{}")
        answer = self._services.asked(world, call, None)
        if answer is None:
            yield Move(
                f"{label}: no place is free, so it is left to the next sweep", True, self._with(world, without=worker)
            )
            return
        yield Move(label, True, goes_on(answer.world, _after(call, answer.result)))
        if world.budget.stale and (old := self._services.stale(world, call)):
            yield Move(f"{label}: told what was", False, goes_on(world.spend("stale"), _after(call, old)))
        yield from self._sent_late(world, call, -1, label)
        if not world.budget.losses:
            return
        poorer = answer.world.spend("losses")
        if answer.world != world:
            yield Move(f"{label}: answer lost", False, poorer)
        yield Move(f"{label}: recovery vanishes", False, self._with(world, without=worker).spend("losses"))

    # ---- Writes that come late ----

    def _sent_late(self, world: World, call: Call, place: int, label: str) -> Iterator[Move]:
        """The first send is still on its way when the call is made again."""
        wanted = not self.setting.late or call.position in self.setting.late
        if not (world.budget.late and wanted and call.resource == "dynamodb:updateItem"):
            return
        if call.machine.retries(call.position, _lost(call.resource).name):
            execution = None if place < 0 else world.executions[place]
            late = Late(place, call.position, call.text(), 0 if execution is None else execution.fence)
            sent = world._replace(late=tuple(sorted((*world.late, late))))
            yield Move(f"{label}: on its way, and tried again", False, sent.spend("late"))

    def _late_calls(self, world: World) -> Iterator[Move]:
        for late in world.late:
            left = list(world.late)
            left.remove(late)
            place = None if late.place < 0 else late.place
            after = self._services.updated(world._replace(late=tuple(left)), late.call, place, late).world
            who = "recovery" if place is None else self._name(place)
            yield Move(f"{who}: {late.position} comes late", True, after)

    # ---- Operators ----

    def _operators(self, world: World) -> Iterator[Move]:
        """`once redrive`: a new lease for the dead owner, and off it goes."""
        record = world.record
        if not world.budget.operators or record is None or is_final(record):
            return
        for place, execution in enumerate(world.executions):
            if execution and execution.dead and self._is_owner(world, place) and execution.position in FINISHING:
                revived = world.put(place, execution._replace(status=RUNNING, redriven=True)).spend("operators")
                leased = moved(moved(record, "leaseExpiresAt", NOW + 1), "claimedUntil", NOW + 1)
                old = time_of(record, "leaseExpiresAt") or 0
                if old > NOW:  # a claim that is overridden: no later lease is the same
                    revived = _known_as(revived, old, NOW - 5000)
                yield Move(f"an operator redrives {self._name(place)}", False, revived._replace(record=leased))

    # ---- Executions ----

    def _of_execution(self, world: World, place: int, execution: Execution) -> Iterator[Move]:
        label = f"{self._name(place)}: {execution.position}"
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
        machine, call = self.setting.operation, self._call(place, execution)
        answer = self._services.asked(world, call, place)
        if answer is None:
            return
        yield Move(label, True, self._heard(answer.world, place, answer.result))
        if world.budget.stale and (old := self._services.stale(world, call)):
            yield Move(f"{label}: told what was", False, self._heard(world.spend("stale"), place, old))
        yield from self._sent_late(world, call, place, label)
        lost = _lost(call.resource)
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
        event = json.loads(self._call(place, execution).text())["Payload"]
        event["lock"]["leaseExpiresAt"] = 0
        fence = int(event["lock"]["fence"])
        self.setting.promises.started(world, execution, fence)
        functions = tuple(sorted((*world.functions, Function(place, as_json(event), ()))))
        life = world.life._replace(started=True)
        begun = world.put(place, execution._replace(waits=True, fence=fence))
        yield Move(f"{label}: business logic starts", True, begun._replace(functions=functions, life=life))
        if world.budget.errors:
            throttled = Error("Lambda.TooManyRequestsException", "Rate exceeded")
            yield Move(f"{label}: throttled", False, self._heard(world.spend("errors"), place, throttled))

    def _died(self, world: World, place: int) -> World:
        execution = world.executions[place]
        assert execution is not None
        status = DEAD if self.setting.workers else DEAD_AND_SEEN
        return world.put(place, execution._replace(status=status, waits=False))

    def _heard(self, world: World, place: int, result: str | Error) -> World:
        """The execution goes on with a result or an error."""
        execution = world.executions[place]
        assert execution is not None
        call = self._call(place, execution)
        retried = execution.waits and isinstance(result, Error) and call.machine.retries(call.position, result.name)
        if retried:
            return world.put(place, execution._replace(waits=False))
        try:
            step = _after(call, result)
        except Uncaught:
            return self._died(world, place)
        told = _told(result) if call.resource == "lambda:invoke" else ()
        if execution.position == BUSINESS and told and told[0] != SUCCESS:
            world = world._replace(life=world.life._replace(decided=True))
        if isinstance(step, End):
            self.setting.promises.ended(world, step, execution.position, self.fingerprint(execution.request))
            ended = execution._replace(status=step.error or SUCCEEDED, position=step.state, variables="{}", waits=False)
            return world.put(place, ended)
        if step.position == "RefuseRequest":
            refusal = json.loads(step.variables)["refusal"]["error"]
            self.setting.promises.refused(world, refusal, self.fingerprint(execution.request))
        # What came before the lock, or after it was lost, nobody asks for.
        known = execution.history if self._is_owner(world, place) else execution.history[:0]
        if BUSINESS in execution.history and not known:
            known = (BUSINESS,)  # that it had the lock once is asked for
        before = (*known, *told)
        going = execution._replace(position=step.position, variables=step.variables, waits=False)
        return world.put(place, going._replace(history=(*before, *step.passed)))

    def _is_owner(self, world: World, place: int) -> bool:
        return world.record is not None and text(parsed(world.record), "owner") == arn_of(place)

    def _call(self, place: int, execution: Execution) -> Call:
        given = self.setting.requests[execution.request]
        me = _me(place, execution.name)
        return Call(self.setting.operation, execution.position, execution.variables, me, given)

    def _name(self, place: int) -> str:
        return PLACES[place]

    # ---- Business logic ----

    def _of_function(self, world: World, function: Function) -> Iterator[Move]:
        label = f"function of {self._name(function.place)}"
        stage = stage_of(function.event, function.answers)
        without = self._without(world, function)
        fence = _fence(function.event)
        attached = self._attached(world, function)
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
        if stage.action == "get_item" and not json.loads(stage.call).get("ConsistentRead"):
            raise Broken("P2: a step may read what was there before the last write")
        record, ledger, answer = self.setting.table.transact(world.record, world.ledger, stage.action, stage.call)
        after = world._replace(record=record, ledger=ledger)
        self.setting.promises.effected(world, after, function.place, fence)
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


@functools.cache
def _fence(event: str) -> int:
    return int(json.loads(event)["lock"]["fence"])


def _known_as(world: World, lease: int, now: int) -> World:
    """Whoever remembers this lease remembers it as what it is now: every lease has an end of its own."""

    def text(known: str) -> str:
        known = known.replace(f'"leaseExpiresAt": {{"N": "{lease}"}}', f'"leaseExpiresAt": {{"N": "{now}"}}')
        return known.replace(f'"lease": "{lease}"', f'"lease": "{now}"')

    def sent(late: Late) -> Late:
        if late.position != "RecordQuarantine":
            return late
        call = late.call.replace(f'":lease": {{"N": "{lease}"}}', f'":lease": {{"N": "{now}"}}')
        return late._replace(call=call)

    executions = tuple(each and each._replace(variables=text(each.variables)) for each in world.executions)
    return world._replace(executions=executions, late=tuple(sorted(map(sent, world.late))))


def _me(place: int, name: str) -> str:
    """An execution as its machine knows it: whether recovery started it, its name says."""
    return arn_of(place) + (" recover-" if name.startswith("recover-") else "")


def _told(result: str | Error) -> tuple[str, ...]:
    """What a history says of a function's result."""
    if isinstance(result, str):
        return (SUCCESS,)
    return (FAILURE + result.name,) if result.name in (*DECISIONS, "LockLostError") else ()


@functools.cache
def _aged(call: str) -> str:
    """A late call's clock is that of when it was sent."""
    arguments = json.loads(call)
    if ":now" in arguments["ConditionExpression"]:
        arguments["ExpressionAttributeValues"][":now"] = {"N": str(NOW - 2000)}
    return as_json(arguments)


def _after(call: Call, result: str | Error) -> Next:
    where = (call.position, call.variables, call.me, call.given)
    if isinstance(result, str):
        return call.machine.succeed(*where, result)
    return call.machine.fail(*where, result.name, result.cause)


def _lost(resource: str) -> Error:
    service = resource.partition(":")[0]
    prefix = {"dynamodb": "DynamoDB", "s3": "S3", "sfn": "Sfn", "sqs": "Sqs", "lambda": "Lambda"}[service]
    return Error(f"{prefix}.{prefix}Exception", "the answer was lost")
