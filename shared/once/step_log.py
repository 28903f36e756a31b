"""The fenced steps of one attempt: each is one transaction with the writes of business logic *and* a note of the step.

The note is in the record of the lock, at `steps.<name>`: M {"meaning": S, "result": S (JSON text)}. The transaction
is applied only if the record says that this attempt has the lock (owner, fence, IN_PROGRESS) and that the step was not
done. So a step happens once, however often and however late it is tried; no clock is involved.

The map `steps` does not exist before the first step, and DynamoDB cannot set a member of a map that does not exist. So
the first step sets the whole map, on the condition that there is none; the others set their member, on the condition
that there is a map. If two threads both try to be the first, one is refused, reads the record again and sets a member.

After a lost answer or a refusal, the record is read, with a consistent read. If it has the step, the transaction was
applied. If not, and this attempt still has the lock, the transaction may be sent again: if the first one is applied
after all, the second one is refused, and the record shows why. This is true at any time later. The token of a
transaction only saves work during the ten minutes for which DynamoDB remembers it; correctness does not depend on it.

Business logic acts on a failed condition: it answers "out of stock". So before a refusal is reported, it must be
impossible that a send whose answer was lost is still applied. `#closings` in the map counts how often late sends were
closed out, which means made impossible. Each transaction has the count that was read as a condition. Closing out
increases the count, so a send that arrives later is refused.
"""

import json
import random
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from once.errors import InvalidWriteError, LockLostError, StepMismatchError
from once.lock import Lock
from once.logs import logger
from once.result import JSON, json_text
from once.step import CLOSINGS, Step
from once.step_answers import answer_to, may_still_happen

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef, UpdateTypeDef

Write: TypeAlias = "Callable[[Step], JSON]"

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
MEANING_LIMIT: Final = 200
"""Characters."""
RESULT_LIMIT: Final = 4_096
"""Bytes of one step's result as JSON text. In the full lane, each duplicate pays for a refused write of the record."""
ALL_STEPS_LIMIT: Final = 16_384
"""Bytes of all steps of a record together: names, meanings and results."""
LONGEST_PAUSES: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between two sends of a transaction; the pause is random, up to this. About 3 in total, 6.35 at most."""
HOLDS_LOCK: Final = "#owner = :owner AND fence = :fence AND #status = :inProgress"


@dataclass(frozen=True, slots=True)
class DoneStep:
    """What the record says about a step."""

    name: str
    meaning: str
    result: str
    """JSON text."""

    @property
    def bytes(self) -> int:
        return len(self.name) + len(self.meaning.encode()) + len(self.result)


@dataclass(frozen=True, slots=True)
class Sending:
    """A transaction that is sent once or several times."""

    token: str
    record: "TransactWriteItemTypeDef"
    closings: int | None
    """The count that it has as a condition; None when its condition is that there is no map."""


class StepLog:
    """Does the steps of one attempt, and knows which ones earlier attempts did."""

    def __init__(
        self,
        lock: Lock,
        dynamodb: "DynamoDBClient",
        pause: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._lock = lock
        self._dynamodb = dynamodb
        self._pause = pause
        self._uniform = uniform
        self._was_read = False
        self._done: dict[str, DoneStep] | None = None
        """The record's steps; None when it has no map. Only the attempt that has the lock adds to the map."""
        self._closings = 0
        self._begun: set[str] = set()
        self._in_doubt: dict[str, int | None] = {}
        """By step: the count in its last send whose answer was lost."""

    def run(self, name: str, write: Write, meaning: str) -> JSON:
        """See Request.step."""
        if not NAME.fullmatch(name):
            raise InvalidWriteError(f"a step's name must match ^{NAME.pattern}$; {name[:60]!r} does not")
        if name in self._begun:
            raise InvalidWriteError(f"step {name!r} is used twice in one attempt: every step needs a name of its own")
        self._begun.add(name)
        try:
            done = self._stored(name) or self._write(name, write, meaning[:MEANING_LIMIT])
        except BaseException:
            self._begun.discard(name)  # it was not done, so business logic may use its name again
            raise
        if done.meaning != meaning[:MEANING_LIMIT]:
            raise StepMismatchError(
                f"step {name!r} was done by an earlier attempt as {done.meaning!r}, and is {meaning!r} now: give it "
                "another name, or, if it is the same step, set meaning= to the earlier value"
            )
        result: JSON = json.loads(done.result)
        return result

    def _stored(self, name: str) -> DoneStep | None:
        if not self._was_read:
            self._read()
        return (self._done or {}).get(name)

    def _read(self) -> None:
        """What the record says now. Raises LockLostError unless it says that this attempt has the lock."""
        record = self._dynamodb.get_item(
            TableName=self._lock.table,
            Key={"id": {"S": self._lock.id}},
            ConsistentRead=True,
            ProjectionExpression="#owner, fence, #status, #steps",
            ExpressionAttributeNames={"#owner": "owner", "#status": "status", "#steps": "steps"},
        ).get("Item", {})
        held = {"owner": {"S": self._lock.owner}, "fence": {"N": str(self._lock.fence)}, "status": {"S": "IN_PROGRESS"}}
        if any(record.get(name) != value for name, value in held.items()):
            raise LockLostError(
                f"the lock under fence {self._lock.fence} belongs to another owner or is gone; nothing more is written"
            )
        steps = record.get("steps", {}).get("M")
        noted = {
            name: DoneStep(name, meaning=step["M"]["meaning"]["S"], result=step["M"]["result"]["S"])
            for name, step in (steps or {}).items()
        }
        closings = noted.pop(CLOSINGS, None)
        self._was_read = True
        self._closings = int(closings.result) if closings else 0
        self._done = None if steps is None else noted

    def _write(self, name: str, write: Write, meaning: str) -> DoneStep:
        step = Step(name, self._lock.table)
        wanted = self._within_limits(name, meaning, write(step))
        pauses = iter(LONGEST_PAUSES)
        sending = self._prepared(wanted)
        while True:
            try:
                self._send(sending, step)
            except (ClientError, BotoCoreError) as error:
                answer = answer_to(error, step)
                self._read()
                if stored := self._stored(name):
                    return stored
                longest_pause = next(pauses, None)
                if answer.is_final or longest_pause is None:
                    if answer.nothing_happened and (stored := self._late_sends_closed_out(name)):
                        return stored
                    raise answer.error from error
            else:
                self._done = {**(self._done or {}), name: wanted}
                logger().info("step done", extra={"step": name})
                return wanted
            if answer.nothing_happened:
                sending = self._prepared(wanted)
            self._pause(self._uniform(0, longest_pause))

    def _prepared(self, wanted: DoneStep) -> Sending:
        """If the record has changed, the write to it is another one, and so the transaction gets a token of its own."""
        return Sending(str(uuid.uuid4()), {"Update": self._noted(wanted)}, self._closings_read())

    def _send(self, sending: Sending, step: Step) -> None:
        try:
            self._dynamodb.transact_write_items(
                TransactItems=[sending.record, *(action.as_dynamodb() for action in step.actions)],
                ClientRequestToken=sending.token,
            )
        except (ClientError, BotoCoreError) as error:
            if may_still_happen(error):
                self._in_doubt[step.name] = sending.closings
            raise

    def _late_sends_closed_out(self, name: str) -> DoneStep | None:
        """Makes sure that no send of the step can still be applied; returns the step if one was applied.

        Costs nothing unless an answer was lost. Raises LockLostError; then late sends are refused, too. Also raises
        errors of the connection to DynamoDB: then the result is unknown until another attempt or an operator continues.
        """
        pauses = iter(LONGEST_PAUSES)
        while name in self._in_doubt and self._in_doubt[name] == self._closings_read():
            counted = DoneStep(CLOSINGS, "late sends were closed out", str(self._closings + 1))
            try:
                self._dynamodb.update_item(**self._noted(counted))
            except ClientError as error:
                code = error.response["Error"]["Code"]
                longest_pause = next(pauses, None)
                if code == "TransactionConflictException" and longest_pause is not None:  # a late send is at work
                    self._pause(self._uniform(0, longest_pause))
                elif code != "ConditionalCheckFailedException":
                    raise
            self._read()
            if stored := self._stored(name):
                return stored
        return None

    def _closings_read(self) -> int | None:
        return None if self._done is None else self._closings

    def _within_limits(self, name: str, meaning: str, result: JSON) -> DoneStep:
        try:
            done = DoneStep(name, meaning, json_text(result))
        except ValueError as error:
            raise InvalidWriteError(f"the result of step {name!r} is not JSON: {error}") from error
        advice = "store large data in an item of its own, and return its key as the step's result"
        if len(done.result) > RESULT_LIMIT:
            raise InvalidWriteError(
                f"the result of step {name!r} has {len(done.result)} bytes, over the limit of {RESULT_LIMIT}: {advice}"
            )
        together = sum(step.bytes for step in (*(self._done or {}).values(), done))
        if together > ALL_STEPS_LIMIT:
            raise InvalidWriteError(
                f"with step {name!r}, all steps have {together} bytes, over the limit of {ALL_STEPS_LIMIT}: {advice}"
            )
        return done

    def _noted(self, done: DoneStep) -> "UpdateTypeDef":
        """Notes the step in the record, if this attempt has the lock and the step was not done.

        And only if nothing was closed out since the record was read.
        """
        note: AttributeValueTypeDef = {"M": {"meaning": {"S": done.meaning}, "result": {"S": done.result}}}
        names = {"#owner": "owner", "#status": "status", "#steps": "steps"}
        values: dict[str, AttributeValueTypeDef] = {
            ":owner": {"S": self._lock.owner},
            ":fence": {"N": str(self._lock.fence)},
            ":inProgress": {"S": "IN_PROGRESS"},
        }
        if self._done is None:
            expression, not_done = "SET #steps = :steps", "attribute_not_exists(#steps)"
            note = {"M": {done.name: note}}
        else:
            expression = "SET #steps.#name = :steps"
            not_done = "attribute_exists(#steps) AND attribute_not_exists(#steps.#name)"
            names |= {"#name": done.name, "#closings": CLOSINGS}
            unclosed = "attribute_not_exists(#steps.#closings)"
            if self._closings:
                unclosed = "#steps.#closings.#result = :closings"
                names["#result"] = "result"
                values[":closings"] = {"S": str(self._closings)}
            not_done = unclosed if done.name == CLOSINGS else f"{not_done} AND {unclosed}"
        return {
            "TableName": self._lock.table,
            "Key": {"id": {"S": self._lock.id}},
            "UpdateExpression": expression,
            "ConditionExpression": f"{HOLDS_LOCK} AND {not_done}",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {**values, ":steps": note},
        }


def meaning_of(write: Write) -> str:
    """The qualified name of a function; for a functools.partial, that of the function in it."""
    inner = getattr(write, "func", write)
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))
