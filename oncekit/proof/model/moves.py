"""Everything that can happen next in a world of the model.

A move is fair when it is the system's own doing: a call that works, time that passes, a sweep. The rest is bad luck and
people, of which a budget says how much there is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from oncekit.asl.history import iso
from oncekit.proof.model import operators, promises, tickets
from oncekit.proof.model.business import ELSEWHERE, LOST, charged, pending
from oncekit.proof.model.direct import BUSINESS, OVER, REFUSED, UNAVAILABLE, Library
from oncekit.proof.model.machine import NOW, At, End, Machine, Next, Uncaught
from oncekit.proof.model.promises import Broken
from oncekit.proof.model.record import Table, as_json, edited, is_open, number, parsed, projected, text, time_of
from oncekit.proof.model.record import with_number as timed
from oncekit.proof.model.world import (
    DIRECT,
    FAILED_AT,
    FAST,
    FULL,
    NEW,
    OLD,
    Budget,
    Execution,
    Function,
    Late,
    Sweep,
    World,
    ended,
    hash_of,
    tidied,
)
from oncekit.stack import decisions

LOST_ANSWERS = {
    "dynamodb": "DynamoDB.InternalServerErrorException",
    "s3": "S3.S3Exception",
    "sfn": "Sfn.SfnException",
    "states": "StepFunctions.AWSStepFunctionsException",
    "lambda": "Lambda.ServiceException",
}
"""What a machine hears when the answer of a service never comes."""


class Error(NamedTuple):
    name: str
    cause: str = "what Lambda or another service says"


class Move(NamedTuple):
    label: str
    fair: bool
    world: World


class Answer(NamedTuple):
    """The world after a call, and its result as JSON or an error."""

    world: World
    result: str | Error


@dataclass(frozen=True)
class Rules:
    """The machines, the requests in the order in which they arrive, each with its lane, and how much goes wrong."""

    full: Machine
    fast: Machine
    direct: Library
    sweep: Machine
    """The branch of the sweep that looks at one record."""
    table: Table
    requests: tuple[tuple[str, str], ...]
    budget: Budget
    max_attempts: int
    late: frozenset[str] = frozenset()
    """The writes that may come late; none named: all of them."""
    edits: tickets.Edits = ()

    def start(self) -> World:
        return World(self.budget)

    def moves(self, world: World) -> Iterator[Move]:
        """Raises Broken when one breaks a promise."""
        for move in self._all(world):
            yield move._replace(world=tidied(move.world))

    def is_over(self, world: World) -> bool:
        """Nobody is at work, and what somebody waits for has come to an end that is kept.

        A request that is gone from the bucket fails each sweep, which rings an alarm: an operator has it.
        """
        to_come = (*world.functions, *world.sweeps, *world.late, *world.again)
        at_work = any(each.is_running for each in world.executions) or to_come
        return not at_work and ((not is_open(world.record) and not world.owed) or self._is_alarm(world))

    def _is_alarm(self, world: World) -> bool:
        item = parsed(world.record) if world.record and is_open(world.record) else {}
        overdue = bool(item) and number(item, "leaseExpiresAt") < NOW
        return overdue and "requestRef" in item and promises.key_of(item) not in dict(world.kept)

    def _all(self, world: World) -> Iterator[Move]:
        yield from self._arrivals(world)
        yield from self._time(world)
        yield from self._sweeps(world)
        yield from self._operators(world)
        yield from self._forgetting(world)
        for late in set(world.late):
            left = list(world.late)
            left.remove(late)
            writer = world.execution(late.owner)
            assert writer is not None
            after = self._update(world._replace(late=tuple(left)), late.call, writer, late).world
            yield Move(f"{writer.name}: {late.position} comes late", True, after)
        for execution in world.executions:
            if execution.is_running:
                yield from self._of_execution(world, execution)
        for function in set(world.functions):
            yield from self._of_function(world, function)
        for ticket, of_try in world.elsewhere:
            yield from self._of_ticket(world, ticket, of_try)

    # ---- What comes from outside ----

    def _arrivals(self, world: World) -> Iterator[Move]:
        for name, given in set(world.again):
            left = tuple(each for each in world.again if each != (name, given))
            aged = _after_failure(world)._replace(again=left, released=False)
            again = Execution(name, 0, DIRECT, given, NEW, True, "", "", knows=_failure(aged))
            yield Move(f"{name} comes again", True, self._begun(aged, again))
        if world.arrived == len(self.requests):
            return
        given, lane = self.requests[world.arrived]
        name = f"order-{world.arrived}"
        aged = _after_failure(world)._replace(arrived=world.arrived + 1, released=False)
        knows = _failure(aged)
        there = self._begun(aged, Execution(name, 0, lane, given, NEW, True, "", "", knows=knows))
        yield Move(f"{name} arrives in the {lane} lane", False, there)
        if lane == FAST and world.budget.doubles:
            twice = self._begun(there, Execution(name, 1, lane, given, NEW, True, "", "", knows=knows))
            yield Move(f"{name} arrives, and runs twice", False, twice.spend("doubles"))

    def _begun(self, world: World, execution: Execution) -> World:
        step = self._machine(execution).enter(execution.me, execution.given)
        assert isinstance(step, At)
        return world.put(execution._replace(position=step.position, variables=step.variables))

    def _machine(self, execution: Execution) -> Machine | Library:
        if execution.lane == DIRECT:
            return self.direct
        return self.fast if execution.lane == FAST else self.full

    def _fingerprint(self, execution: Execution) -> str:
        return _fingerprint(self.full, execution.given)

    def _time(self, world: World) -> Iterator[Move]:
        """Leases and records come to their end; a record with a moment that is exactly on it."""
        record = world.record
        if record is None:
            return
        if world.sweeps or any(each.position == "HandOver" for each in world.executions):
            yield Move("a failure is a while ago", False, _after_failure(world))
        item, expiry = parsed(record), time_of(record, "expiresAt")
        owner = world.execution(world.holder)
        may_be_alive = owner is not None and owner.lane != FULL and promises.lives(world, item)
        if is_open(record) and number(item, "leaseExpiresAt") >= NOW and not may_be_alive:
            # One that was made longer under the same fence is another one, and ends later.
            over = NOW - 1000 + 100 * ("pendingSince" in item) - world.budget.extends
            yield Move("the lease ends", True, world._replace(record=timed(record, "leaseExpiresAt", over)))
        if expiry is not None and expiry >= NOW and world.budget.expiries:
            when = NOW if expiry > NOW else NOW - 1
            after = world._replace(
                record=timed(record, "expiresAt", when),
                late=tuple(late._replace(call=_sent_before(late.call)) for late in world.late),
            )
            yield Move("the record expires", False, after if when == NOW else after.spend("expiries"))
        elif expiry is not None and expiry < NOW and world.budget.expiries:
            yield Move("TTL deletes the record", False, world.spend("expiries")._replace(record=None))
        if world.budget.objects and world.kept and text(item, "status") in promises.OPEN:
            yield Move("the kept request is gone", False, world.spend("objects")._replace(kept=()))

    def _operators(self, world: World) -> Iterator[Move]:
        record = world.record
        if not world.budget.operators or record is None:
            return
        item, poorer = parsed(record), world.spend("operators")
        status, owner = text(item, "status"), world.execution(world.holder)
        kept = dict(world.kept).get(promises.key_of(item), "") if "requestRef" in item else ""

        def done(decide: operators.Decision) -> World:
            return poorer._replace(record=operators.done(self.table, record, kept, decide), owed=False)

        is_pending = "pendingSince" in item
        if status == "QUARANTINED" or is_pending:
            yield Move("once resolve", False, done(operators.complete)._replace(answer=operators.RESULT))
            yield Move("once resolve --failed", False, done(operators.fail))
        is_over = status == "QUARANTINED" or is_pending or (time_of(record, "leaseExpiresAt") or 0) < NOW
        has_ended = owner is None or not owner.is_running or is_pending or (owner.lane != FULL and is_over)
        if status in promises.OPEN and is_over and has_ended and (kept or "request" in item):
            yield Move("once retry", False, done(decisions.retry)._replace(begun=False, owed=True))
        if status in promises.OPEN and has_ended and (is_over or (owner is not None and owner.lane == FULL)):
            yield Move("once release", False, done(operators.release)._replace(released=True))

    def _forgetting(self, world: World) -> Iterator[Move]:
        """Of a record that has not expired; while it is held its owner is that operator, who goes on."""
        record = world.record
        if record is None or (not world.budget.forgets and not operators.is_held(record)):
            return

        def done(decide: operators.Decision) -> World:
            return world._replace(record=operators.done(self.table, record, "", decide), owed=False)

        if operators.is_held(record) and world.kept:
            yield Move("once release --forget deletes", True, world._replace(kept=()))
        elif operators.is_held(record):
            yield Move("once release --forget lets go", True, done(operators.let_go)._replace(answer=None))
        elif not promises.gone(record):
            owner = world.execution(world.holder)
            is_pending = "pendingSince" in parsed(record)
            is_over = is_pending or (time_of(record, "leaseExpiresAt") or 0) < NOW
            has_ended = owner is None or not owner.is_running or is_pending or (owner.lane != FULL and is_over)
            is_stopped = has_ended and (is_over or (owner is not None and owner.lane == FULL))
            if text(parsed(record), "status") in promises.CLOSED or is_stopped:
                held = done(operators.hold)._replace(released=True)
                yield Move("once release --forget holds", False, held.spend("forgets"))

    # ---- The sweep ----

    def _sweeps(self, world: World) -> Iterator[Move]:
        item = parsed(world.record) if world.record else {}
        overdue = is_open(world.record) and number(item, "leaseExpiresAt") < NOW
        busy = len(world.sweeps) + sum(each.is_recovery and each.is_running for each in world.executions)
        if overdue and (not busy or (busy == 1 and world.budget.buckets)):
            # A sweep looks at small requests first, and then at large ones: each is of one kind.
            kind = as_json({"kind": "LARGE" if "requestRef" in item else "SMALL"})
            step = self.sweep.enter("sweep", as_json(text(item, "id")), kind)
            assert isinstance(step, At)
            begun = Sweep(step.position, step.variables, bool(busy))
            poorer = world.spend("buckets") if busy else world
            yield Move("a sweep finds the record", not busy, _with_sweep(poorer, begun))
        for sweep in set(world.sweeps):
            yield from self._of_sweep(world, sweep)

    def _of_sweep(self, world: World, sweep: Sweep) -> Iterator[Move]:
        place = (sweep.position, sweep.variables, "sweep", "{}")
        resource, call = self.sweep.resource(sweep.position), self.sweep.call(*place)
        left = list(world.sweeps)
        left.remove(sweep)
        after, result = world._replace(sweeps=tuple(left)), "{}"
        failed = None
        if resource == "dynamodb:getItem":
            result = "{}" if world.record is None else projected(world.record, call)
        elif resource == "s3:getObject":
            body = dict(world.kept).get(parsed(call)["Key"])
            failed, result = (Error("S3.NoSuchKeyException"), "") if body is None else (None, as_json({"Body": body}))
        else:
            started = self._recovery(after, parsed(call)["Name"], parsed(call)["Input"], sweep.in_other_bucket)
            failed = None if started else Error("Sfn.ExecutionAlreadyExistsException")
            after = started or after
        step = self.sweep.fail(*place, *failed) if failed else self.sweep.succeed(*place, result)
        if isinstance(step, At):
            after = _with_sweep(after, sweep._replace(position=step.position, variables=step.variables))
        yield Move(f"sweep: {sweep.position}", True, after)

    def _recovery(self, world: World, name: str, given: str, in_other_bucket: bool) -> World | None:
        """The recovery under this name; None if it is there. Later, or by another sweep, it has another bucket."""
        base, _, bucket = name.rpartition("-")
        if not in_other_bucket and any(e.is_running and e.name.startswith(f"{base}-") for e in world.executions):
            return None
        taken = {each.name for each in world.executions}
        free = next(each for each in (f"{base}-{int(bucket) + later}" for later in range(9)) if each not in taken)
        return self._begun(world, Execution(free, 0, FULL, given, NEW, True, "", ""))

    # ---- Executions ----

    def _of_execution(self, world: World, execution: Execution) -> Iterator[Move]:
        label = f"{execution.name}: {execution.position}"
        budget, variables = world.budget, {} if execution.lane == DIRECT else parsed(execution.variables)
        if budget.crashes:
            yield Move(f"{label}: it is stopped", False, self._stopped(world, execution).spend("crashes"))
        if budget.hurry and execution.position == "ReadRecord" and variables.get("stopsAt", 0) > NOW + 60:
            late = edited(execution.variables, (("stopsAt", str(NOW + 60)),))
            yield Move(f"{label}: time is short", False, world.put(execution._replace(variables=late)).spend("hurry"))
        holds = is_open(world.record) and execution.owner == world.holder
        if budget.freezes and execution.lane == DIRECT and holds and not execution.is_late:
            yield Move(f"{label}: it stands still until its lease is over", False, self._late(world, execution))
        if execution.waits:
            if budget.errors and execution.lane != DIRECT:
                unknown = self._heard(world.spend("errors"), execution, Error("Lambda.Unknown"))
                yield Move(f"{label}: the answer is lost while the function works on", False, unknown)
            return
        if execution.position == BUSINESS:
            yield from self._invocations(world, execution, label)
            return
        waits = execution.position == "ReadRecord" and '"onConflict": "wait"' in execution.given
        if waits and variables.get("waiting", {}).get("deadline", 0) > NOW:
            over = edited(execution.variables, (("waiting", as_json({"deadline": NOW})),))
            yield Move(f"{label}: its deadline comes", True, world.put(execution._replace(variables=over)))
        yield from self._calls(world, execution, label)

    def _calls(self, world: World, execution: Execution, label: str) -> Iterator[Move]:
        machine, budget = self._machine(execution), world.budget
        call = machine.call(execution.position, execution.variables, execution.me, execution.given)
        resource = machine.resource(execution.position)
        lost = Error(LOST_ANSWERS[resource.partition(":")[0]])
        answer = self._asked(world, execution, resource, call)
        yield Move(label, True, self._heard(answer.world, execution, answer.result))
        again = machine.retries(execution.position, lost.name)
        if budget.losses and again and answer.world != world:
            yield Move(f"{label}: answer lost, tried again", False, answer.world.spend("losses"))
        if budget.losses and machine.catches(execution.position, lost.name):
            for after in {world, answer.world}:
                yield Move(f"{label}: given up", False, self._heard(after.spend("losses"), execution, lost))
        if budget.stale and resource == "sfn:describeExecution" and answer.result != (old := as_json(_RUNNING)):
            yield Move(f"{label}: told what was", False, self._heard(world.spend("stale"), execution, old))
        may_be_late = (
            again and resource == "dynamodb:updateItem" and (execution.position in (self.late or {execution.position}))
        )
        if budget.late and may_be_late:
            sent = Late(execution.owner, execution.position, call, execution.fence, execution.knows)
            after = world.spend("late")._replace(late=tuple(sorted((*world.late, sent))))
            yield Move(f"{label}: on its way, and tried again", False, after)

    def _asked(self, world: World, execution: Execution, resource: str, call: str) -> Answer:
        """The world after a Task's call."""
        arguments = parsed(call)
        match resource:
            case "dynamodb:updateItem":
                return self._update(world, call, execution)
            case "dynamodb:getItem":
                if arguments.get("ConsistentRead") is not True:
                    raise Broken(f"P3: {execution.position} may read what was there before the last write")
                item = {} if promises.gone(world.record) else parsed(world.record or "")
                mine = bool(item) and text(item, "fingerprint") == self._fingerprint(execution)
                saw = execution.saw or (mine and text(item, "status") == "IN_PROGRESS")
                read = "{}" if world.record is None else projected(world.record, call)
                return Answer(world.put(execution._replace(saw=saw)), read)
            case "s3:putObject" if execution.position == "KeepRequest":
                kept = dict(world.kept) | {arguments["Key"]: as_json(arguments["Body"])}
                return Answer(world._replace(kept=tuple(sorted(kept.items()))), "{}")
            case "s3:putObject":
                return Answer(world, "{}")
            case "sfn:describeExecution":
                found = world.execution(arguments["ExecutionArn"])
                if "StateMachine" not in arguments["ExecutionArn"] or ":express:" in arguments["ExecutionArn"]:
                    raise Broken("P5: an owner that is in the fast or the direct lane was asked whether it lives")
                if found is None:
                    return Answer(world, Error("Sfn.ExecutionDoesNotExistException"))
                return Answer(world, as_json(_RUNNING if found.is_running else {"Status": "ABORTED"}))
            case "states:startExecution":
                return self._handed_over(world, execution, arguments["Name"], as_json(arguments["Input"]))
            case "lambda:invoke":
                payload = arguments["Payload"]
                kept_at = {"bucket": "b", "key": f"{payload['id']}/{payload['fence']}", "bytes": 1}
                return Answer(world, as_json({"Payload": kept_at | {"sha256": payload["text"]}}))
        raise AssertionError(f"{execution.position} calls {resource}, which the model does not know")

    def _handed_over(self, world: World, sender: Execution, name: str, given: str) -> Answer:
        if not name.startswith("first-") and not name.startswith("refused-"):
            recovers = self._recovery(world, name, given, False)
            exists = Error("StepFunctions.ExecutionAlreadyExistsException")
            return Answer(recovers or world, as_json({"ExecutionArn": "new"}) if recovers else exists)
        if name in world.handed:
            running = any(each.name == name and each.is_running for each in world.executions)
            exists = Error("StepFunctions.ExecutionAlreadyExistsException")
            return Answer(world, as_json({"ExecutionArn": "again"}) if running else exists)
        assert hash_of(sender.id) in name
        if sender.fence:
            raise Broken("P2: a request is handed over as a new one after business logic was started")
        # What is refused once more counts as a request of its own.
        knows = sender.knows if name.startswith("first-") else _failure(world)
        begun = self._begun(world, Execution(name, 0, FULL, given, NEW, True, "", "", saw=sender.saw, knows=knows))
        return Answer(begun._replace(handed=tuple(sorted((*world.handed, name)))), as_json({"ExecutionArn": "new"}))

    def _update(self, world: World, call: str, writer: Execution, late: Late | None = None) -> Answer:
        before = world.record
        record = self.table.update(before, call)
        if record is None:
            there = {} if before is None else {"Item": parsed(before)}
            return Answer(world, Error(REFUSED, as_json(there)) if writer.lane == DIRECT else Error(REFUSED))
        promises.written(world, writer, record, self.max_attempts, late)
        new, is_new = parsed(record), promises.begins_anew(world, record, late)
        tries = world.tries + (is_new or promises.is_tried_again(before, record))
        after = world._replace(record=_plain(_of_its_try(record, tries), late is not None), tries=tries)
        if is_new:
            # Accepted: the very first acquisition, come late, takes the lock that an operator has released.
            released = world.released and late is None and writer.saw
            after = after._replace(ledger=0, life=world.life + 1, begun=False, answer=None, released=released)
        elif promises.is_tried_again(before, record):
            after = after._replace(begun=False)
        status = text(new, "status")
        if status == "COMPLETED" and is_open(before):
            given = text(new, "result") if "result" in new else new["resultRef"]["M"]["sha256"]["S"]
            after = after._replace(answer=given)
        if status != "IN_PROGRESS":
            after = after._replace(owed=False)
        if late is None:
            after = after.put(writer._replace(saw=True))
        return Answer(after, as_json({"Attributes": parsed(after.record or "")}))

    def _heard(self, world: World, execution: Execution, result: str | Error, again: bool = True) -> World:
        """The execution goes on with a result or an error; business logic is called again where there is a retry."""
        execution = world.execution(execution.owner) or execution
        place = (execution.position, execution.variables, execution.me, execution.given)
        machine = self._machine(execution)
        is_retried = isinstance(result, Error) and machine.retries(execution.position, result.name) > 0
        if again and execution.position == BUSINESS and is_retried:
            return world.put(execution._replace(waits=False))
        try:
            step: Next = machine.succeed(*place, result) if isinstance(result, str) else machine.fail(*place, *result)
        except Uncaught:
            return self._stopped(world, execution)
        if isinstance(step, End):
            return self._ended(world, execution, step)
        refuses = step.position == "RefuseRequest"
        if refuses and (execution.lane == DIRECT or parsed(step.variables).get("refusedAs") == "PayloadMismatch"):
            promises.refused(world, execution, self._fingerprint(execution))
        variables = step.variables
        if '"failure"' in variables and parsed(variables)["failure"]["name"] != LOST:
            variables = edited(variables, (("failure", as_json({"message": "", "name": "AnError"})),))
        has_looked = step.position == BUSINESS and execution.position in ("ReadRecord", "AcquireLock")
        execution = execution._replace(of_try=world.tries * has_looked, outrun=False, waits=False)
        return world.put(execution._replace(position=step.position, variables=variables))

    def _ended(self, world: World, execution: Execution, end: End) -> World:
        if end.state == UNAVAILABLE:
            return self._stopped(world, execution)
        promises.ended(world, execution, end, self._fingerprint(execution))
        after = world.put(ended(execution))
        if end.state in ("AcknowledgeDuplicate", "OperationInProgress"):
            waits = any(each.is_handed_over and each.is_running for each in after.executions)
            if not (is_open(world.record) or world.handed or world.life):
                raise Broken("P5: a request was told that it is in progress, and nobody has it")
            return after._replace(owed=world.owed or waits or is_open(world.record))
        handed_over_ends = execution.is_handed_over and not is_open(world.record)
        return after._replace(owed=False) if handed_over_ends and end.state != "LockLost" else after

    def _stopped(self, world: World, execution: Execution) -> World:
        """By a person, by AWS, or by time. Who stops what was handed over, before it has the lock, has it.

        In the direct lane its business logic dies with it, and its sender sends it again.
        """
        if execution.lane == DIRECT:
            functions = tuple(each for each in world.functions if each.owner != execution.owner)
            again = tuple(sorted((*world.again, (f"{execution.name}'", execution.given))))
            return world.put(ended(execution))._replace(functions=functions, again=again)
        owed = world.owed and not (execution.is_handed_over and not is_open(world.record))
        return world.put(ended(execution))._replace(owed=owed)

    def _late(self, world: World, execution: Execution) -> World:
        """It knows that its lease is over only if it looks, which it does before business logic begins."""
        record = timed(world.record or "", "leaseExpiresAt", OVER)
        after, execution = world.spend("freezes")._replace(record=record), execution._replace(is_late=True)
        if execution.position == BUSINESS and not execution.waits:
            step = self.direct.late(execution.variables, execution.me, execution.given)
            assert isinstance(step, At)
            execution = execution._replace(position=step.position, variables=step.variables)
        return after.put(execution)

    def _invocations(self, world: World, execution: Execution, label: str) -> Iterator[Move]:
        machine = self._machine(execution)
        call = parsed(machine.call(execution.position, execution.variables, execution.me, execution.given))
        given = call["Payload"]["payload"]
        payload = ELSEWHERE if ELSEWHERE.items() <= given.items() else {}
        event = call["Payload"] | {"lock": call["Payload"]["lock"] | {"leaseExpiresAt": 0}, "payload": payload}
        fence = int(event["lock"]["fence"])
        promises.started(world, execution, fence, self._fingerprint(execution))
        functions = tuple(
            sorted((*world.functions, Function(execution.owner, fence, as_json(event), execution.of_try)))
        )
        begun = world._replace(functions=functions, begun=world.begun or not execution.outrun)
        begun = begun.put(execution._replace(waits=True, fence=fence, began_in=execution.of_try))
        yield Move(f"{label}: business logic starts", True, begun)
        if world.budget.errors and execution.lane != DIRECT:
            for name in ("Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException"):
                # That it is called again before that changes nothing.
                gives_up = self._heard(world.spend("errors"), execution, Error(name), again=False)
                yield Move(f"{label}: {name}", False, gives_up)

    # ---- Business logic ----

    def _of_function(self, world: World, function: Function) -> Iterator[Move]:
        label = f"function of {function.owner.rpartition('StateMachine:')[2]} under fence {function.fence}"
        left = list(world.functions)
        left.remove(function)
        without = world._replace(functions=tuple(left))
        event, execution = parsed(function.event), world.execution(function.owner)
        is_heard = execution is not None and execution.waits and execution.fence == function.fence
        if event["payload"] == ELSEWHERE:
            ticket = event["lock"]["ticket"], function.of_try
            begun = world._replace(elsewhere=tuple(sorted({*world.elsewhere, ticket})))
            if tidied(begun).elsewhere != world.elsewhere:
                yield Move(f"{label} starts work elsewhere", True, begun)
            without = without._replace(elsewhere=begun.elsewhere)
            if execution is not None and is_heard:
                reply = as_json({"Payload": parsed(pending(function.event))})
                yield Move(f"{label} is pending", True, self._heard(without, execution, reply))
        record, ledger, reply = charged(self.table, world.record, world.ledger, function.event)
        after = without._replace(record=record, ledger=ledger)
        promises.effected(world, after, function.owner, function.fence)
        if execution is None or not is_heard:
            yield Move(f"{label} ends, unheard", True, after)
            return
        result = _raised(LOST) if reply == LOST else as_json({"Payload": parsed(reply)})
        yield Move(f"{label} ends", True, self._heard(after, execution, result))
        if world.budget.errors:
            poorer, done = without.spend("errors"), after.spend("errors")
            for name in ("PermanentError", "NeedsAttention"):
                yield Move(f"{label} raises {name}", False, self._heard(poorer, execution, _raised(name)))
            for name in ("PermanentError", "SomeError"):
                yield Move(f"{label} raises {name} at its end", False, self._heard(done, execution, _raised(name)))

    # ---- Work elsewhere ----

    def _of_ticket(self, world: World, ticket: str, of_try: int) -> Iterator[Move]:
        """It ends its operation, in either way, or says that it goes on; as often as the budget says."""
        record = world.record
        for what in tickets.CALLS:
            kind = "extends" if what.startswith("extend") else "tickets"
            if not getattr(world.budget, kind):
                continue
            after = tickets.done(self.table, record, ticket, what, self.edits)
            promises.told(world, after, of_try, what)
            done = world.spend(kind)._replace(record=after and _plain(after, is_late=False))
            if after != record and kind == "tickets":
                answer = tickets.RESULT if what == "complete" else world.answer
                done = _outrun(done, world.holder)._replace(owed=False, answer=answer)
            yield Move(f"{what} by the ticket of try {of_try}", False, done)


_RUNNING = {"Status": "A_STATUS_TO_COME"}
"""What is no known end counts as alive."""
_AN_ERROR = as_json({"M": {"name": {"S": "AnError"}, "message": {"S": ""}}})
A_LEASE = 100
"""Seconds."""


_NOW = as_json({"S": iso(NOW)})


@functools.cache
def _of_its_try(record: str, tries: int) -> str:
    """Every try is acquired at another time, by which its ticket is told from those of others."""
    is_acquired = as_json(parsed(record)["acquiredAt"]) == _NOW
    return edited(record, (("acquiredAt", as_json({"S": iso(NOW - 60 + tries)})),)) if is_acquired else record


@functools.cache
def _plain(record: str, is_late: bool) -> str:
    """Which error it was, and how long a lease is, makes no difference once it is written; a late one is another."""
    if "error" in parsed(record):
        record = edited(record, (("error", _AN_ERROR),))
    if (time_of(record, "leaseExpiresAt") or 0) > NOW:
        record = timed(record, "leaseExpiresAt", NOW + A_LEASE - is_late)
    return record


def _raised(name: str) -> Error:
    return Error(name, as_json({"errorMessage": "declined", "errorType": name}))


def _with_sweep(world: World, sweep: Sweep) -> World:
    return world._replace(sweeps=tuple(sorted((*world.sweeps, sweep))))


def _outrun(world: World, owner: str) -> World:
    """Whoever was about to start business logic, and has looked, starts it: no look is the last moment."""
    execution = world.execution(owner)
    if execution is None or execution.position != BUSINESS or execution.waits or not execution.of_try:
        return world
    return world.put(execution._replace(outrun=True))


def _failure(world: World) -> tuple[int, int] | None:
    if promises.gone(world.record) or text(parsed(world.record or ""), "status") != "FAILED":
        return None
    return world.life, number(parsed(world.record or ""), "fence")


def _after_failure(world: World) -> World:
    """A request comes: a failure that is recorded was before it, and after all that are at work."""
    if _failure(world) is None or world.record is None or text(parsed(world.record), "finishedAt") == FAILED_AT:
        return world
    if operators.is_held(world.record):  # it says that it failed in the future
        return world
    before = f'"startedAt": {(NOW - 20) * 1000}'
    executions = tuple(
        each._replace(start=OLD, variables=each.variables.replace(f'"startedAt": {NOW * 1000}', before))
        if each.is_running
        else each
        for each in world.executions
    )
    record = edited(world.record, (("finishedAt", as_json({"S": FAILED_AT})),))
    return world._replace(record=record, executions=executions)


@functools.cache
def _sent_before(call: str) -> str:
    """The same call by an earlier clock: what has expired since had not."""
    arguments = parsed(call)
    if ":now" not in arguments["ConditionExpression"]:
        return call
    before = arguments["ExpressionAttributeValues"] | {":now": {"N": str(NOW - 2000)}}
    return as_json(arguments | {"ExpressionAttributeValues": before})


@functools.cache
def _fingerprint(machine: Machine, given: str) -> str:
    at = machine.enter("arn:fingerprint", given)
    assert isinstance(at, At)
    call = machine.call(at.position, at.variables, "arn:fingerprint", given)
    fingerprint: str = parsed(call)["ExpressionAttributeValues"][":fingerprint"]["S"]
    return fingerprint
