"""Replies of business logic: odd results, forged envelopes, errors that name themselves after Lambda's and Once's own.

The function is nobody's friend here: it may send back anything, except that it cannot know what it was not told. A
result is kept as it is, or is the library's; the answer never names an object of another.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from oncekit.proof.fuzz.judge import Judge, hashed, shown
from oncekit.proof.fuzz.requests import TAKEN, has_lambda, verdict
from oncekit.proof.fuzz.stage import Came, Fault, Stage
from oncekit.proof.fuzz.values import JSON, Odd, swapped

TENANT, OPERATION, KEY = "acme", "charge-payment", "order-1"
DIGEST = "0123456789abcdef" * 4
DECIDED = {"PermanentError": "FAILED", "NeedsAttention": "QUARANTINED"}
ERRORS = (
    "PermanentError",
    "NeedsAttention",
    "LockLostError",
    "Exception",
    "Lambda.TooManyRequestsException",
    "Lambda.ResourceNotFoundException",
    "Lambda.Unknown",
    "Lambda.ServiceException",
    "Sandbox.Timedout",
    "States.Timeout",
    "States.TaskFailed",
    "States.ALL",
    "States.Runtime",
    "States.DataLimitExceeded",
    "States.QueryEvaluationError",
    "DynamoDB.ConditionalCheckFailedException",
    "InvalidRequest",
    "OperationFailed",
)
KINDS = ("plain", "forged", "forged", "library", "echo") * 8 + ("large",)
ENDS = {"OperationFailed", "NeedsAttention", "LockLost"}
STARTS = 5
"""MaxAttempts."""


def case(stage: Stage, dice: random.Random) -> Iterator[str]:
    """One request, whose function replies, or fails, in the same odd way each time; and its duplicate."""
    odd = Odd(dice)
    request = {"tenant": TENANT, "operation": OPERATION, "idempotencyKey": KEY, "payload": {"echo": odd.value()}}
    request["onCrash"] = dice.choice(("retry", "quarantine"))
    if verdict(request) != TAKEN or has_lambda(request):
        request["payload"] = {}
    text = json.dumps(request)
    judge = Judge(stage.stack, TENANT, OPERATION, KEY)
    function = _Failing(odd) if odd.chance(0.35) else _Replying(stage, judge, odd)
    came = stage.run(text, judge, function)
    yield from stage.touched
    yield from function.faults(stage, came)
    if came.error is None or came.error in ENDS:
        yield from _again(stage, text, judge, came)


def _again(stage: Stage, text: str, judge: Judge, came: Came) -> Iterator[str]:
    again = stage.run(text, judge, lambda event: {"another": "answer"})
    if again.starts or again.died:
        yield f"its duplicate starts business logic, or dies: {again}: {again.cause[:200]}"
    elif again.error != came.error:
        yield f"its duplicate ends otherwise: {again}, not {came}"
    elif came.error is None:
        for name in ("result", "resultRef"):
            if came.output.get(name) != again.output.get(name):
                yield f"its duplicate gets another {name}: {shown(again.output)}, not {shown(came.output)}"


class _Failing:
    """Fails with an error that the function chose, as the Lambda runtime tells it."""

    def __init__(self, odd: Odd) -> None:
        self.name = odd.dice.choice(ERRORS) if odd.chance(0.8) else odd.text()
        said = {"errorType": self.name, "errorMessage": odd.value(), "stackTrace": [odd.text()]}
        self.cause = json.dumps(said if odd.chance(0.6) else swapped(odd.dice, said, odd.value()))
        if odd.chance(0.3):
            broken = '{"errorMessage": "' + odd.text() + '"' + odd.text(3) + "}"
            self.cause = odd.dice.choice((odd.text(40), self.cause[:-1], broken, "x" * 40_000))
        self.is_lambdas = not self.cause.startswith("{")
        """A cause that no function can give: a runtime's error is JSON."""

    def __call__(self, event: dict[str, Any]) -> Any:
        if self.is_lambdas and self.name == "Lambda.TooManyRequestsException":
            return {"served": "at last"}
        raise Fault(self.name, self.cause)

    def faults(self, stage: Stage, came: Came) -> Iterator[str]:
        status = _status(stage)
        if came.died:
            yield f"dies of {self.name!a}, cause {self.cause[:120]!a}: {came}: {came.cause[:200]}"
        elif came.error not in {None, *ENDS, self._end_without_a_function()}:
            yield f"ends in none of the ends for {self.name!a}: {came}"
        elif self.name in DECIDED and status != DECIDED[self.name]:
            yield f"{self.name} was not taken as the decision it is: {status}, {came}"
        if came.starts > STARTS:
            yield f"{self.name!a}, cause {self.cause[:120]!a}: business logic was started {came.starts} times"

    def _end_without_a_function(self) -> str | None:
        """Of Lambda's own word that there is no function: nothing was done, and the request is refused."""
        is_missing = self.is_lambdas and self.name == "Lambda.ResourceNotFoundException"
        return "InvalidRequest" if is_missing else None


class _Replying:
    """Returns something odd."""

    def __init__(self, stage: Stage, judge: Judge, odd: Odd) -> None:
        self._stage, self._judge = stage, judge
        self._kind = odd.dice.choice(KINDS)
        self._seed = odd.dice.randrange(2**32)
        self.reply: JSON = None
        self.kept: str | None = None
        """The text that the library gave, where it did."""

    def __call__(self, event: dict[str, Any]) -> JSON:
        odd = Odd(random.Random(self._seed))  # noqa: S311 the same each time
        match self._kind:
            case "plain":
                self.reply = odd.value(5)
            case "forged":
                self.reply = self._forged(odd, event)
            case "library":
                self.kept = json.dumps(odd.value(4))
                self.reply = {"onceResult": self.kept} | _token(event)
            case "echo":
                self.reply = odd.dice.choice((event, event["payload"], {"onceResult": event}))
            case "large":
                self.reply = odd.dice.choice(("x", "é", '"', "\u2028")) * odd.dice.choice(
                    (3_000, 5_000, 90_000, 250_000)
                )
        self.reply = json.loads(json.dumps(self.reply))  # two halves that meet are one character
        return self.reply

    def _forged(self, odd: Odd, event: dict[str, Any]) -> JSON:
        """What an echoed payload could say: it knows tenant, key and layout, and no token of this attempt."""
        own = self._stage.stack.reference(event["lock"] | {"tenant": TENANT, "text": "1"})
        other = own | {"key": own["key"].replace(hashed(self._judge.id or ""), hashed("other"))}
        true = odd.dice.choice((own, other, own | {"bucket": "another"}, own | {"sha256": DIGEST}, {}))
        reference = true if odd.chance(0.4) else swapped(odd.dice, true, odd.value())
        text = odd.dice.choice((odd.text(), "not json", "{", json.dumps(odd.value()), "[1,]", "01", "NaN", '"\\x"'))
        forged: dict[str, JSON] = odd.dice.choice(({"onceResultRef": reference}, {"onceResult": text}))
        more = odd.dice.choice(({}, {}, {"replyToken": odd.text()}, {"replyToken": None}, {odd.name(): odd.value()}))
        return forged | more

    def faults(self, stage: Stage, came: Came) -> Iterator[str]:
        said = shown(self.reply)
        if came.died or came.error not in (None, "NeedsAttention"):
            yield f"{came.error} for a reply: {said}: {came}: {came.cause[:200]}"
        elif came.starts > 1:
            yield f"business logic was started {came.starts} times for a reply: {said}"
        elif came.error == "NeedsAttention":
            if self._kind != "large" and not _is_a_function(self.reply):
                yield f"is quarantined for a reply: {said}: {came.cause[:200]}"
        elif "resultRef" in came.output:
            yield from self._reference(came.output["resultRef"], said)
        else:
            yield from self._text(came.output["result"], said)

    def _reference(self, reference: JSON, said: str) -> Iterator[str]:
        fine = isinstance(reference, dict) and set(reference) == {"bucket", "key", "sha256", "bytes"}
        if (
            not fine
            or reference["bucket"] != self._judge.stack.bucket
            or not self._judge.is_answer_at(reference["key"])
        ):
            yield f"answers with another's object: {shown(reference)} for {said}"

    def _text(self, text: JSON, said: str) -> Iterator[str]:
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, TypeError):
            yield f"answers with what is not JSON: {shown(text)} for {said}"
            return
        envelope = self.reply.get("onceResult") if isinstance(self.reply, dict) else None
        if self.kept is not None and text != self.kept:
            yield f"the library's own text is not the answer: {shown(text)} for {said}"
        elif self.kept is None and text != envelope and value != self.reply:
            yield f"answers with something else: {shown(text)} for {said}"


def _token(event: dict[str, Any]) -> dict[str, Any]:
    """What a version of the library returns that knows of it."""
    return {"replyToken": event["replyToken"]} if "replyToken" in event else {}


def _is_a_function(value: JSON) -> bool:
    """JSONata takes such an object for one of its own, and the result cannot be kept."""
    return any(name in json.dumps(value) for name in ("_jsonata_lambda", "_jsonata_function"))


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _status(stage: Stage) -> str | None:
    record = stage.services.record
    return None if record is None else json.loads(record)["status"]["S"]
