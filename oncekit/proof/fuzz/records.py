"""Records: what a function with fenced steps could have written into its own, met by duplicates and by recovery.

A record is genuine, and then some of its attributes are not. Whatever stands there, only this record is touched, only
this request is started, and an execution ends by a name.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from oncekit.proof.fuzz.judge import Judge, Stack, hashed
from oncekit.proof.fuzz.replies import KEY, OPERATION, TENANT
from oncekit.proof.fuzz.stage import DIED, Came, Fault, Stage
from oncekit.proof.fuzz.values import Odd

ATTRIBUTES = (
    "status",
    "fingerprint",
    "owner",
    "fence",
    "attempts",
    "onCrash",
    "leaseExpiresAt",
    "openShard",
    "result",
    "resultRef",
    "error",
    "requestRef",
    "recoveries",
    "steps",
    "expiresAt",
    "acquiredAt",
    "finishedAt",
)
NAMED = {
    "PayloadMismatch",
    "InvalidRequest",
    "Unavailable",
    "OperationInProgress",
    "OperationFailed",
    "NeedsAttention",
    "LockLost",
}
LAWLESS = (
    DIED,
    "DynamoDB.AmazonDynamoDBException",
    "DynamoDB.ConditionalCheckFailedException",
    "States.DataLimitExceeded",
)
"""Named errors that an execution may die of over a record that nobody of Once wrote."""
OTHERS = {"tenant": "other", "operation": OPERATION, "idempotencyKey": "theirs", "payload": {"amount": 1}}


def genuine(stage: Stage, dice: random.Random) -> tuple[str, Judge]:
    """The text of a request that has left a record: in progress, completed, failed or quarantined."""
    request = {"tenant": TENANT, "operation": OPERATION, "idempotencyKey": KEY, "payload": {"a": 1}}
    request |= {"onCrash": dice.choice(("retry", "quarantine")), "onFailed": dice.choice(("replay", "retry"))}
    text, judge = json.dumps(request), Judge(stage.stack, TENANT, OPERATION, KEY)
    match dice.randrange(4):
        case 0:
            stage.run(text, judge, _returns, stop_at=dice.choice(("ExecuteBusinessLogic", "Finalize")))
        case 1:
            stage.run(text, judge, _returns)
        case 2:
            stage.run(text, judge, _raises("PermanentError"))
        case _:
            stage.run(text, judge, _raises("NeedsAttention"))
    return text, judge


def _returns(_event: dict[str, Any]) -> Any:
    return {"paid": 1}


def _raises(name: str) -> Any:
    def function(_event: dict[str, Any]) -> Any:
        raise Fault(name, '{"errorMessage": "no"}')

    return function


# ---- oddities ----


def spoiled(stack: Stack, record: dict[str, Any], odd: Odd) -> dict[str, Any]:
    """The record with one to three attributes that nobody of Once has written."""
    spoilt = copy.deepcopy(record)
    for _ in range(odd.dice.randint(1, 3)):
        name = odd.dice.choice(ATTRIBUTES)
        if odd.chance(0.1):
            spoilt.pop(name, None)
        else:
            spoilt[name] = _odd_attribute(stack, name, odd)
    return spoilt


def _odd_attribute(stack: Stack, name: str, odd: Odd) -> Any:
    if odd.chance(0.6):
        return _likely(stack, name, odd)
    return attribute(odd, 2)


def attribute(odd: Odd, depth: int) -> dict[str, Any]:
    """An attribute value of DynamoDB, of any type."""
    if depth > 0 and odd.chance(0.2):
        return {"L": [attribute(odd, depth - 1) for _ in range(odd.dice.randint(0, 2))]}
    if depth > 0 and odd.chance(0.3):
        return {"M": {odd.plain(5) or "a": attribute(odd, depth - 1) for _ in range(odd.dice.randint(0, 3))}}
    number = odd.dice.choice(("0", "-1", "1", "2", "9007199254740993", "1E+30", "0.5", "99999999999"))
    sets = {"B": "/xs="}, {"SS": ["a", "\x1b"]}, {"NS": ["1", "2"]}, {"BS": ["/xs="]}
    return odd.dice.choice(({"S": odd.plain()}, {"N": number}, {"NULL": True}, {"BOOL": True}, {"S": ""}, *sets))


def _likely(stack: Stack, name: str, odd: Odd) -> dict[str, Any]:
    """Of the right type, and somebody else's."""
    choice = odd.dice.choice
    match name:
        case "status":
            return {"S": choice(("IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED", "GONE"))}
        case "owner":
            strange = "arn:aws:states:us-east-1:999999999999:execution:Other:theirs"
            return {"S": choice((stack.execution("theirs"), stack.execution("none"), strange, "operator-x"))}
        case "fence" | "attempts" | "recoveries":
            return {"N": choice(("0", "1", "2", "6", "100", "-1"))}
        case "leaseExpiresAt" | "expiresAt":
            return {"N": choice(("0", "1", "1767225599", "1767229200", "99999999999"))}
        case "resultRef" | "requestRef":
            return {"M": _reference(stack, odd)}
        case "error":
            return {"M": {"name": {"S": odd.plain()}, "message": {"S": odd.plain(60)}}}
        case "onCrash":
            return {"S": choice(("retry", "quarantine"))}
        case "openShard":
            return {"S": choice(("IN_PROGRESS#0", "QUARANTINED#f"))}
        case _:
            return {"S": odd.plain()}


def _reference(stack: Stack, odd: Odd) -> dict[str, Any]:
    own = hashed(f"{TENANT}#{OPERATION}#{KEY}")
    key = odd.dice.choice(
        (
            f"requests/{TENANT}/{own}/1.json",
            f"requests/{TENANT}/{hashed('other')}/1.json",
            f"requests/{TENANT}/{own}/../../other/1.json",
            f"responses/{TENANT}/{own}/1.json",
            odd.plain(),
        )
    )
    bucket = odd.dice.choice((stack.bucket, "another-bucket"))
    return {"bucket": {"S": bucket}, "key": {"S": key}, "sha256": {"S": "0" * 64}, "bytes": {"N": "1"}}


# ---- a case ----


def case(stage: Stage, dice: random.Random) -> Iterator[str]:
    """A spoilt record; a duplicate meets it, then recovery, then another duplicate."""
    text, judge = genuine(stage, dice)
    assert stage.services.record is not None
    theirs = stage.stack.execution("theirs")
    events = [{"Id": 1, "Type": "ExecutionFailed"}]
    stage.services.executions[theirs] = {"status": "FAILED", "input": json.dumps(OTHERS), "events": events}
    spoilt = spoiled(stage.stack, json.loads(stage.services.record), Odd(dice))
    before = json.dumps(spoilt)
    stage.services.record = before
    yield from _met(stage, stage.run(text, judge, _returns), before)
    stage.services.record = before
    recovered = stage.branch(stage.recover, {"id": judge.id}, judge, {"sweeps": dice.random() < 0.5})
    if recovered.died and recovered.error not in LAWLESS:
        yield f"recovery dies of {recovered.error} over {before}"
    yield from _met(stage, stage.run(text, judge, _returns), before)
    yield from (f"{each}, over {before}" for each in stage.touched)


def _met(stage: Stage, came: Came, before: str) -> Iterator[str]:
    if came.died and came.error not in LAWLESS:
        yield f"dies of {came.error} over {before}: {came}"
    elif not came.died and came.error is not None and came.error not in NAMED:
        yield f"ends in none of the ends over {before}: {came}"
    if came.starts > 5:
        yield f"starts business logic {came.starts} times over {before}"
