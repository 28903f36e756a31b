"""What AWS answers in the model: a Task's call, asked of the record, of executions and of the bucket.

Descriptions are eventually consistent: what an execution was before its last change is another possible answer. Its
history is taken to be complete; DescribeExecution's page of the API reference says "eventually consistent",
GetExecutionHistory's does not.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from oncekit.proof.model.machine import NOW, Machine, Next
from oncekit.proof.model.promises import Broken, Promises, begins_anew, was_failed
from oncekit.proof.model.record import Table, parsed, projected
from oncekit.proof.model.world import (
    DEAD,
    DEAD_AND_SEEN,
    FAILURE,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    Execution,
    Late,
    Life,
    World,
    as_json,
    is_fast,
    owner_of,
)

ENDED_WELL = (SUCCEEDED, DEAD, DEAD_AND_SEEN, RUNNING)
INPUT, PAGES, EVENTS = "input", "pages", "events"
"""What may be too large for a state: an owner's input, a page of several events, an event that is not an end."""


IN_FLIGHT = "in flight"
"""What may be gone: the request that an owner in the fast lane has kept in the bucket."""
KEPT = "kept"
"""Among the names that are taken: the request is in the queue of refused ones, also when its lock was given back."""
PREFIXES = {
    "dynamodb": "DynamoDB",
    "s3": "S3",
    "sfn": "Sfn",
    "states": "StepFunctions",
    "sqs": "Sqs",
    "lambda": "Lambda",
}
"""Of the errors of each service."""


class Error(NamedTuple):
    name: str
    cause: str


class Answer(NamedTuple):
    """The result of a call: the world afterwards, and an answer as JSON or an error."""

    world: World
    result: str | Error


class Call(NamedTuple):
    """A Task's call by a machine at some position."""

    machine: Machine
    position: str
    variables: str
    me: str
    given: str

    @property
    def resource(self) -> str:
        return self.machine.resource(self.position)

    def text(self) -> str:
        return self.machine.call(self.position, self.variables, self.me, self.given)

    def answered(self, result: str | Error) -> Next:
        """Where the machine goes on with a result or an error. Raises Uncaught."""
        where = (self.position, self.variables, self.me, self.given)
        if isinstance(result, str):
            return self.machine.succeed(*where, result)
        return self.machine.fail(*where, result.name, result.cause)

    @property
    def lost(self) -> Error:
        """What the machine hears when the answer never comes."""
        service = self.resource.partition(":")[0]
        prefix = PREFIXES[service]
        return Error(f"{prefix}.{prefix}Exception", "the answer was lost")


Begin = Callable[[World, int, str, int], World]
"""The execution that it begins is in the full lane."""


class Services:
    """The services of one setting."""

    def __init__(
        self, table: Table, promises: Promises, inputs: tuple[str, ...], unreadable: frozenset[str], begin: Begin
    ) -> None:
        self._table = table
        self._inputs = inputs
        self._requests = [json.loads(each) for each in inputs]
        self._promises = promises
        self._unreadable = unreadable
        self._begin = begin
        """Puts a new execution into a place, with this name and request."""

    def asked(self, world: World, call: Call, place: int | None) -> Answer | None:
        """The world after a Task's call; None while it cannot be made."""
        written = call.text()
        arguments = parsed(written)
        match call.resource:
            case "dynamodb:getItem":
                if arguments.get("ConsistentRead") is not True:
                    raise Broken(f"P3: {call.position} may read what was there before the last write")
                return Answer(world, "{}" if world.record is None else projected(world.record, written))
            case "dynamodb:updateItem":
                return self.updated(world, written, place)
            case "sfn:describeExecution":
                return Answer(world, self._described(world, arguments["ExecutionArn"], stale=False))
            case "sfn:getExecutionHistory":
                return Answer(world, self._history(world, arguments))
            case "sfn:redriveExecution":
                return self._redriven(world, arguments["ExecutionArn"])
            case "sfn:startExecution":
                return self._started(world, arguments["Name"], json.loads(arguments["Input"]), "Sfn")
            case "states:startExecution":
                return self._started(world, arguments["Name"], arguments["Input"], "StepFunctions")
            case "s3:getObject":
                return Answer(world, self._in_flight(world))
            case "lambda:invoke":
                return Answer(world, _cached(arguments["Payload"]))
            case "sqs:sendMessage" if call.position == "KeepRefused":
                return Answer(world._replace(names=tuple(sorted({*world.names, KEPT}))), "{}")
            case "s3:putObject" | "sqs:sendMessage":
                return Answer(world, "{}")
            case other:
                raise AssertionError(f"{call.position} calls {other}, which the model does not know")

    def stale(self, world: World, call: Call) -> str | None:
        """The answer that DescribeExecution gives when it does not know yet of the execution's last change."""
        if call.resource != "sfn:describeExecution":
            return None
        arn = parsed(call.text())["ExecutionArn"]
        found = execution_of(world, arn)
        if found is None or (found[1].status == RUNNING and not found[1].redriven):
            return None
        old = self._described(world, arn, stale=True)
        return old if isinstance(old, str) else None

    def updated(self, world: World, call: str, place: int | None, late: Late | None = None) -> Answer:
        record = self._table.update(world.record, call)
        if record is None:
            return Answer(world, Error("DynamoDB.ConditionalCheckFailedException", "The conditional request failed"))
        self._promises.written(world, record, place, late)
        after = world._replace(record=record)
        if begins_anew(world.record, record):
            # What recovery starts for the new life has names of its own.
            names = tuple(name for name in world.names if not name.startswith(("recover-", "handover-")))
            after = after._replace(ledger=0, life=Life(), names=names)
        elif was_failed(world.record) and not was_failed(record):
            after = after._replace(life=world.life._replace(started=False, decided=False))
        return Answer(after, _attributes(record))

    def _described(self, world: World, arn: str, *, stale: bool) -> str | Error:
        if is_fast(arn):
            raise Broken("P1: an owner in the fast lane was asked whether it lives")
        if (found := execution_of(world, arn)) is None:
            return Error("Sfn.ExecutionDoesNotExistException", arn)
        if INPUT in self._unreadable:
            return Error("States.DataLimitExceeded", arn)
        _, execution = found
        common = {"ExecutionArn": arn, "Name": execution.name, "Input": self._inputs[execution.request]}
        if stale:
            return as_json({**common, "Status": "ABORTED" if execution.status == RUNNING else RUNNING})
        error = {} if execution.status in ENDED_WELL else {"Error": execution.status}
        status = execution.status if execution.status in (RUNNING, SUCCEEDED) else "FAILED"
        return as_json({**common, "Status": "ABORTED" if execution.dead else status, **error})

    def _history(self, world: World, arguments: dict[str, Any]) -> str | Error:
        if (found := execution_of(world, arguments["ExecutionArn"])) is None:
            return Error("Sfn.ExecutionDoesNotExistException", arguments["ExecutionArn"])
        events = events_of(found[1])
        if arguments.get("ReverseOrder"):
            events.reverse()
        first, size = int(arguments.get("NextToken", "0")), int(arguments["MaxResults"])
        page = events[first : first + size]
        several = {PAGES, EVENTS} & self._unreadable and size > 2  # of two events one is an end, which is small
        if several or (EVENTS in self._unreadable and not page[0]["Type"].startswith("Execution")):
            return Error("States.DataLimitExceeded", arguments["ExecutionArn"])
        more = {"NextToken": str(first + size)} if first + size < len(events) else {}
        return as_json({"Events": page, **more})

    def _redriven(self, world: World, arn: str) -> Answer:
        found = execution_of(world, arn)
        if found is None or found[1].status in (RUNNING, SUCCEEDED):
            refused = world._replace(life=world.life._replace(refused=True))
            return Answer(refused, Error("Sfn.ExecutionNotRedrivableException", arn))
        place, execution = found
        done = as_json({"RedriveDate": NOW})
        if not execution.dead:  # it ended in an end of its own, and does so again
            return Answer(world, done)
        return Answer(world.put(place, execution._replace(status=RUNNING, redriven=True)), done)

    def _in_flight(self, world: World) -> str | Error:
        """What the owner in the fast lane has kept."""
        found = None if world.record is None else execution_of(world, parsed(world.record)["owner"]["S"])
        if found is None or IN_FLIGHT in self._unreadable:
            return Error("S3.NoSuchKeyException", "The specified key does not exist.")
        return as_json({"Body": self._inputs[found[1].request]})

    def _started(self, world: World, name: str, given: Any, prefix: str) -> Answer | None:
        if name in world.names:
            running = any(each and each.name == name and each.status == RUNNING for each in world.executions)
            done = as_json({"ExecutionArn": "again"})
            return Answer(world, done if running else Error(f"{prefix}.ExecutionAlreadyExistsException", name))
        place = world.free_place()
        if place is None:
            return None
        begun = self._begin(world, place, name, self._requests.index(given))
        return Answer(begun._replace(names=tuple(sorted((*world.names, name)))), as_json({"ExecutionArn": "new"}))


def events_of(execution: Execution) -> list[dict[str, Any]]:
    """Its history, oldest first."""
    events: list[dict[str, Any]] = [{"Type": "ExecutionStarted"}]
    for entry in execution.history:
        if entry == SUCCESS:
            events.append({"Type": "TaskSucceeded", "TaskSucceededEventDetails": {"ResourceType": "lambda"}})
        elif entry.startswith(FAILURE):
            details = {"ResourceType": "lambda", "Error": entry.removeprefix(FAILURE)}
            events.append({"Type": "TaskFailed", "TaskFailedEventDetails": details})
        else:
            events.append({"Type": "StateEntered", "StateEnteredEventDetails": {"Name": entry}})
    if execution.redriven:
        events.append({"Type": "ExecutionRedriven"})
    if execution.status != RUNNING:
        ends = {SUCCEEDED: "ExecutionSucceeded", DEAD: "ExecutionAborted", DEAD_AND_SEEN: "ExecutionAborted"}
        events.append({"Type": ends.get(execution.status, "ExecutionFailed")})
    return [{"Id": number, **event} for number, event in enumerate(events, 1)]


def execution_of(world: World, arn: str) -> tuple[int, Execution] | None:
    for place, execution in enumerate(world.executions):
        if execution is not None and owner_of(place, execution.lane) == arn:
            return place, execution
    return None


@functools.cache
def _attributes(record: str) -> str:
    return as_json({"Attributes": parsed(record)})


def _cached(payload: dict[str, Any]) -> str:
    kept = {"bucket": "b", "key": f"{payload['id']}/{payload['fence']}", "sha256": payload["text"], "bytes": 1}
    return as_json({"Payload": kept})
