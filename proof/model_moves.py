"""Everything that can happen next in a world of the model.

A move is fair when it is the system's own doing: a call that works, time that passes, recovery that sweeps. The rest
is bad luck, of which a budget says how much there is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from proof.model_logic import LOST, Calls, Raises, stage_of
from proof.model_machine import NOW, At, End, Machine, Next, Uncaught
from proof.model_promises import Broken, Promises, begins_anew, is_final, text
from proof.model_record import ConditionFailed, Table, moved, parsed, projected, time_of
from proof.model_world import (
    DEAD,
    DEAD_AND_SEEN,
    PLACES,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    Budget,
    Execution,
    Function,
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
ENDED_WELL = (SUCCEEDED, DEAD, DEAD_AND_SEEN, RUNNING)


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
    express: bool
    workers: int
    """Recoveries at the same time. Without any, the source sends a request again until it is answered."""
    instants: bool
    """Whether there is a moment at which a lease or a record ends, between before and after."""
    promises: Promises


class Error(NamedTuple):
    name: str
    cause: str


class Answer(NamedTuple):
    """What a call came to: the world afterwards, and a result as JSON or an error."""

    world: World
    result: str | Error


class Rules:
    """The moves of a setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
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
        express = self.setting.express
        heard = tuple(each for each in world.functions if self._attached(world, each) or self._calls(each))
        if len(heard) < len(world.functions):
            world = world._replace(functions=heard)
        return in_order(tidied(world, express=express), express=express)

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
            owner = self._of(world, text(parsed(world.record), "owner"))
            again = self._begin(world, place, "order", 0 if owner is None else owner[1].request)
            yield Move("the source sends the request again", True, again)

    def _begin(self, world: World, place: int, name: str, request: int) -> World:
        entered = self.setting.operation.enter(self._arn(place), self.setting.requests[request])
        assert isinstance(entered, At)
        request = self.setting.requests.index(self.setting.requests[request])  # equal requests are the same one
        execution = Execution(name, request, RUNNING, entered.position, entered.variables, False, 0, ())
        return world.put(place, execution)

    def _fingerprint(self, request: int) -> str:
        entered = self.setting.operation.enter(self._arn(0), self.setting.requests[request])
        assert isinstance(entered, At)
        call = json.loads(self.setting.operation.call(entered.position, entered.variables, self._arn(0), "{}"))
        fingerprint: str = call["ExpressionAttributeValues"][":fingerprint"]["S"]
        return fingerprint

    def _time(self, world: World) -> Iterator[Move]:
        """Leases and records come to their end; where there are instants, with a moment that is exactly on it."""
        record, budget = world.record, world.budget
        lease, expiry = time_of(record, "leaseExpiresAt"), time_of(record, "expiresAt")
        if record is not None and lease is not None and lease >= NOW:
            if lease > NOW and self.setting.instants:
                yield Move(
                    "the lease is about to end", True, world._replace(record=moved(record, "leaseExpiresAt", NOW))
                )
            else:
                later = moved(record, "leaseExpiresAt", NOW - 1000 + world.life.leases)
                life = world.life._replace(leases=world.life.leases + 1)
                yield Move("the lease ends", True, world._replace(record=later, life=life))
        if record is not None and expiry is not None:
            if expiry > NOW and budget.expiries:
                expired = moved(record, "expiresAt", NOW if self.setting.instants else NOW - 1)
                yield Move("the record expires", False, world._replace(record=expired).spend("expiries"))
            elif expiry == NOW:
                yield Move("the record is over", True, world._replace(record=moved(record, "expiresAt", NOW - 1)))
            elif expiry < NOW:
                yield Move("TTL deletes the record", True, world._replace(record=None))

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
                branch = self._branch(LOOK, as_json(self._arn(place)), sweeps, place)
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

        answer = self._asked(world, machine, worker.position, worker.variables, "recovery", "{}", None)
        if answer is None:
            yield Move(
                f"{label}: no place is free, so it is left to the next sweep", True, self._with(world, without=worker)
            )
            return
        common = (machine, worker.position, worker.variables, "recovery", "{}")
        yield Move(label, True, goes_on(answer.world, _after(*common, answer.result)))
        if not world.budget.losses:
            return
        poorer = answer.world.spend("losses")
        if answer.world != world:
            yield Move(f"{label}: answer lost", False, poorer)
        yield Move(f"{label}: recovery vanishes", False, self._with(world, without=worker).spend("losses"))

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
        machine, me, given = self.setting.operation, self._arn(place), self.setting.requests[execution.request]
        common = (machine, execution.position, execution.variables, me, given)
        answer = self._asked(world, *common, place, label=label)
        if answer is None:
            return
        yield Move(label, True, self._heard(answer.world, place, answer.result))
        lost = _lost(machine.resource(execution.position))
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
        call = self.setting.operation.call(
            BUSINESS, execution.variables, self._arn(place), self.setting.requests[execution.request]
        )
        event = json.loads(call)["Payload"]
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
        given = self.setting.requests[execution.request]
        common = (self.setting.operation, execution.position, execution.variables, self._arn(place), given)
        retried = execution.waits and isinstance(result, Error) and common[0].retries(execution.position, result.name)
        if retried:
            return world.put(place, execution._replace(waits=False))
        try:
            step = _after(*common, result)
        except Uncaught:
            return self._died(world, place)
        invoked = self.setting.operation.resource(execution.position) == "lambda:invoke"
        success = (SUCCESS,) if invoked and isinstance(result, str) else ()
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
        before = (*known, *success)
        going = execution._replace(position=step.position, variables=step.variables, waits=False)
        return world.put(place, going._replace(history=(*before, *step.passed)))

    # ---- Business logic ----

    def _of_function(self, world: World, function: Function) -> Iterator[Move]:
        label = f"function of {self._name(function.place)}"
        stage = stage_of(function.event, function.answers)
        without = self._without(world, function)
        execution = world.executions[function.place]
        fence = _fence(function.event)
        attached = self._attached(world, function)
        if isinstance(stage, Calls):
            yield from self._calls_of_function(world, function, stage, fence, label)
            if world.budget.errors and attached:
                refused = Error("PermanentError", "declined")
                if not function.answers:
                    yield Move(
                        f"{label}: fails for good", False, self._heard(without.spend("errors"), function.place, refused)
                    )
            return
        assert execution is not None
        if isinstance(stage, Raises):
            yield Move(
                f"{label} raises {stage.name}",
                True,
                self._heard(without, function.place, Error(stage.name, stage.message)),
            )
            return
        succeeded = without._replace(life=world.life._replace(succeeded=True))
        answer = as_json({"Payload": json.loads(stage.payload)})
        yield Move(f"{label} succeeds", True, self._heard(succeeded, function.place, answer))
        if world.budget.crashes:
            there = execution._replace(history=(*execution.history, SUCCESS))
            died = self._died(succeeded.put(function.place, there), function.place)
            yield Move(f"{label} succeeds, and the execution dies there", False, died.spend("crashes"))

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

    # ---- Services ----

    def _asked(
        self,
        world: World,
        machine: Machine,
        position: str,
        variables: str,
        me: str,
        given: str,
        place: int | None,
        label: str = "",
    ) -> Answer | None:
        """The world after a Task's call; None while it cannot be made."""
        call = machine.call(position, variables, me, given)
        arguments: dict[str, Any] = json.loads(call)
        match machine.resource(position):
            case "dynamodb:getItem":
                if arguments.get("ConsistentRead") is not True:
                    raise Broken(f"P3: {position} may read what was there before the last write")
                return Answer(world, "{}" if world.record is None else projected(world.record, call))
            case "dynamodb:updateItem":
                return self._updated(world, call, place)
            case "sfn:describeExecution":
                return Answer(world, self._described(world, arguments["ExecutionArn"]))
            case "sfn:getExecutionHistory":
                return Answer(world, self._history(world, arguments["ExecutionArn"]))
            case "sfn:redriveExecution":
                return self._redriven(world, arguments["ExecutionArn"])
            case "sfn:startExecution":
                return self._started(world, arguments["Name"], arguments["Input"])
            case "lambda:invoke":
                payload = arguments["Payload"]
                kept = {
                    "bucket": "b",
                    "key": f"{payload['id']}/{payload['fence']}",
                    "sha256": payload["text"],
                    "bytes": 1,
                }
                return Answer(world, as_json({"Payload": kept}))
            case "s3:putObject" | "sqs:sendMessage":
                return Answer(world, "{}")
            case other:
                raise AssertionError(f"{position} calls {other}, which the model does not know")

    def _updated(self, world: World, call: str, place: int | None) -> Answer:
        try:
            record = self.setting.table.update(world.record, call)
        except ConditionFailed:
            return Answer(world, Error("DynamoDB.ConditionalCheckFailedException", "The conditional request failed"))
        self.setting.promises.written(world, record, place)
        after = world._replace(record=record)
        if begins_anew(world.record, record):
            after = after._replace(ledger=0, life=Life())
        return Answer(after, as_json({"Attributes": parsed(record)}))

    def _of(self, world: World, arn: str) -> tuple[int, Execution] | None:
        for place, execution in enumerate(world.executions):
            if execution is not None and self._arn(place) == arn:
                return place, execution
        return None

    def _described(self, world: World, arn: str) -> str | Error:
        if (found := self._of(world, arn)) is None:
            return Error("Sfn.ExecutionDoesNotExistException", arn)
        _, execution = found
        error = {} if execution.status in ENDED_WELL else {"Error": execution.status}
        status = execution.status if execution.status in (RUNNING, SUCCEEDED) else "FAILED"
        return as_json(
            {
                "ExecutionArn": arn,
                "Name": execution.name,
                "Status": "ABORTED" if execution.dead else status,
                "Input": self.setting.requests[execution.request],
                **error,
            }
        )

    def _history(self, world: World, arn: str) -> str | Error:
        if (found := self._of(world, arn)) is None:
            return Error("Sfn.ExecutionDoesNotExistException", arn)
        events: list[dict[str, Any]] = []
        for number_, entry in enumerate(found[1].history, 1):
            entered = {"Type": "StateEntered", "StateEnteredEventDetails": {"Name": entry}}
            succeeded = {"Type": "TaskSucceeded", "TaskSucceededEventDetails": {"ResourceType": "lambda"}}
            events.append({"Id": number_, **(succeeded if entry == SUCCESS else entered)})
        return as_json({"Events": events[::-1]})

    def _is_owner(self, world: World, place: int) -> bool:
        return world.record is not None and text(parsed(world.record), "owner") == self._arn(place)

    def _redriven(self, world: World, arn: str) -> Answer:
        found = self._of(world, arn)
        if found is None or not found[1].dead or self.setting.express:
            return Answer(world, Error("Sfn.ExecutionNotRedrivableException", arn))
        place, execution = found
        return Answer(world.put(place, execution._replace(status=RUNNING)), as_json({"RedriveDate": NOW}))

    def _started(self, world: World, name: str, given: str) -> Answer | None:
        if name in world.names:
            running = any(each and each.name == name and each.status == RUNNING for each in world.executions)
            done = as_json({"ExecutionArn": "again"})
            return Answer(world, done if running else Error("Sfn.ExecutionAlreadyExistsException", name))
        place = world.free_place()
        if place is None:
            return None
        begun = self._begin(world, place, name, self.setting.requests.index(given))
        return Answer(begun._replace(names=tuple(sorted((*world.names, name)))), as_json({"ExecutionArn": "new"}))

    def _arn(self, place: int) -> str:
        return arn_of(place, express=self.setting.express)

    def _name(self, place: int) -> str:
        return PLACES[place]


@functools.cache
def _fence(event: str) -> int:
    return int(json.loads(event)["lock"]["fence"])


def _after(machine: Machine, position: str, variables: str, me: str, given: str, result: str | Error) -> Next:
    if isinstance(result, str):
        return machine.succeed(position, variables, me, given, result)
    return machine.fail(position, variables, me, given, result.name, result.cause)


def _lost(resource: str) -> Error:
    service = resource.partition(":")[0]
    prefix = {"dynamodb": "DynamoDB", "s3": "S3", "sfn": "Sfn", "sqs": "Sqs", "lambda": "Lambda"}[service]
    return Error(f"{prefix}.{prefix}Exception", "the answer was lost")
