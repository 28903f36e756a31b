"""Requests: whatever somebody may start an execution with. What docs/request.md allows is taken, and nothing else.

The oracle says the table once more, in another language, and nothing of it is taken from the definition.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

from oncekit.proof.fuzz.judge import Judge, shown
from oncekit.proof.fuzz.stage import DIED, Came, Stage
from oncekit.proof.fuzz.values import JSON, Odd, swapped

FIELDS = {"operation", "tenant", "idempotencyKey", "payload", "onConflict", "onCrash", "onFailed"}
POLICIES = {
    "onConflict": ("acknowledge", "reject", "wait"),
    "onCrash": ("retry", "quarantine"),
    "onFailed": ("replay", "retry"),
}
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
HALF = re.compile("[\ud800-\udfff]")
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")
"""What a key must not have, as whoever reads it would not see it, or something else."""
TAKEN, REFUSED, EITHER = "taken", "refused", "either"
OPERATIONS = ("charge-payment", "a", "x" * 40, "place-order", "a--0")


def sane(odd: Odd) -> dict[str, JSON]:
    dice = odd.dice
    request: dict[str, JSON] = {
        "operation": dice.choice(OPERATIONS),
        "idempotencyKey": odd.plain() or "k",
        "payload": odd.object(),
    }
    if odd.chance(0.6):
        request["tenant"] = dice.choice(("acme", "b", "t" * 40))
    for name, values in POLICIES.items():
        if odd.chance(0.2):
            request[name] = dice.choice(values)
    return request


def drawn(odd: Odd) -> JSON:
    """The input of an execution."""
    dice, request = odd.dice, sane(odd)
    match dice.randrange(12):
        case 0:
            given = odd.value(4)
        case 1:
            given = swapped(dice, request, odd.value())
        case 2:
            given = request | {dice.choice([*sorted(FIELDS), "body", odd.text()]): odd.value()}
        case 3:
            given = {name: value for name, value in request.items() if odd.chance(0.8)}
        case 4:
            given = request | {dice.choice(("operation", "tenant")): _name(odd)}
        case 5:
            given = request | {
                "idempotencyKey": dice.choice((odd.text(), "k" * 256, "k" * 257, "\U0001f600" * 256, "é" * 257))
            }
        case 6:
            given = request | {"payload": {"deep": odd.nested(dice.randint(7, 14))}}
        case 7 if odd.chance(0.05):
            given = request | {"payload": _large(odd)}
        case _:
            given = request
    if odd.chance(0.15):
        given = {"body": given} if odd.chance(0.8) else {"body": given, odd.name(): odd.scalar()}
    return [given] * dice.choice((1, 1, 1, 0, 2)) if odd.chance(0.2) else given


def _name(odd: Odd) -> str:
    name = odd.dice.choice((*OPERATIONS, "x" * 41, "A", "0a", "a#b", "a\n", "", "-a", "a_b", "ä", "../x"))
    return odd.character() + name if odd.chance(0.2) else name + (odd.character() if odd.chance(0.2) else "")


def _large(odd: Odd) -> JSON:
    """Around a bound: bytes, quotes, values."""
    dice = odd.dice
    match dice.randrange(4):
        case 0:
            return {"text": "x" * (180_000 - dice.randint(0, 300))}
        case 1:
            return {"text": "é" * (45_000 - dice.randint(0, 60))}
        case 2:
            return {"text": '"' * (55_000 - dice.randint(0, 200))}
        case _:
            return {"list": [dice.randrange(9)] * (10_000 + dice.randint(-8, 4))}


# ---- what docs/request.md says of it ----


def opened(given: JSON) -> JSON | None:
    """The request in an execution's input; None where there is not just one."""
    if isinstance(given, list):
        if len(given) != 1:
            return None
        [given] = given
    if isinstance(given, dict) and "body" in given:
        return given["body"] if len(given) == 1 else None
    return given


def verdict(given: JSON) -> str:
    """Whether the request must be taken, or must not; near a bound of bytes it may be either."""
    request = opened(given)
    if not isinstance(request, dict) or not set(request) <= FIELDS:
        return REFUSED
    tenant, key = request.get("tenant", "default"), request.get("idempotencyKey")
    named = all(isinstance(name, str) and NAME.match(name) for name in (request.get("operation"), tenant))
    keyed = isinstance(key, str) and len(key) >= 1 and not UNSEEN.search(key)
    policies = all(name not in request or request[name] in values for name, values in POLICIES.items())
    payload = request.get("payload")
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    if not (named and keyed and policies and isinstance(payload, dict)) or HALF.search(_characters(text)):
        return REFUSED
    if levels(payload) > 10 or len(str(key)) > 256:
        return REFUSED
    return _by_size(text, payload)


def _by_size(text: str, payload: JSON) -> str:
    characters = sum(4 if ord(each) > 126 or ord(each) < 32 else 1 for each in text)
    units = characters + sum(4 for each in text if ord(each) > 0xFFFF)
    quoted = sum(1 for each in text if each in '"\\')
    if characters > 180_000 or characters + quoted > 220_000 + 4 or count(payload) > 10_100:
        return REFUSED
    is_small = units < 179_000 and units + quoted < 219_000 and count(payload) < 9_900
    return TAKEN if is_small else EITHER


def levels(value: JSON) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(levels, inner), default=0)


def count(value: JSON) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


def _characters(text: str) -> str:
    """With each pair of halves as the one character that it is."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def has_lambda(value: JSON) -> bool:
    """JSONata takes an object with such a member for a function, and the execution ends by name."""
    if isinstance(value, dict):
        return bool({"_jsonata_lambda", "_jsonata_function"} & set(value)) or any(map(has_lambda, value.values()))
    return isinstance(value, list) and any(map(has_lambda, value))


def as_doubles(value: JSON) -> JSON:
    """With whole numbers as an IEEE double holds them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(float(value))
    if isinstance(value, dict):
        return {name: as_doubles(each) for name, each in value.items()}
    return [as_doubles(each) for each in value] if isinstance(value, list) else value


NAMES = ("tenant", "operation", "idempotencyKey")


def judge_of(stage: Stage, given: JSON) -> Judge:
    request = opened(given)
    if verdict(given) == REFUSED or not isinstance(request, dict):
        named = "#".join(str(request.get(each, "default")) for each in NAMES) if isinstance(request, dict) else None
        return Judge(stage.stack, named=named)
    return Judge(stage.stack, request.get("tenant", "default"), request["operation"], request["idempotencyKey"])


# ---- a case ----


def sent(given: JSON) -> str:
    """As somebody sends it: UTF-8, or escapes where that says more."""
    try:
        return json.dumps(given, ensure_ascii=False).encode().decode()
    except UnicodeEncodeError:
        return json.dumps(given)


def case(stage: Stage, dice: random.Random) -> Iterator[str]:
    """A request, and sometimes its duplicate, or another payload under its key."""
    given = drawn(Odd(dice))
    text = sent(given)
    given = json.loads(text)
    judge, meant = judge_of(stage, given), verdict(given)
    came = stage.run(text, judge, lambda event: {"paid": 1})
    yield from stage.touched
    yield from _ends(stage, came, given, meant)
    if came.end == "Finalize" and dice.random() < 0.2:
        yield from _again(stage, text, given, judge)
    elif came.died or dice.random() < 0.05:
        yield from _dead(stage, text, given, judge)


def _ends(stage: Stage, came: Came, given: JSON, meant: str) -> Iterator[str]:
    if came.error == DIED and has_lambda(given):
        return
    if came.died:
        yield f"dies: {came}: {came.cause[:200]}"
    elif came.error == "InvalidRequest":
        yield from _refused(stage, came, given, meant)
    elif meant == REFUSED:
        yield f"is taken, and should be refused: {came}"
    elif came.error or came.output["disposition"] != "EXECUTED" or came.output["result"] != '{"paid":1}':
        yield f"is not executed: {came}"


def _refused(stage: Stage, came: Came, given: JSON, meant: str) -> Iterator[str]:
    if meant == TAKEN and not has_lambda(given):
        yield f"is refused, and should be taken: {came.cause[:200]}"
    [kept] = stage.services.refused
    if not _is_kept(kept, given):
        yield f"is kept as another request: {shown(kept)}"
    if UNSEEN.search(kept["message"]) or UNSEEN.search(json.loads(came.cause)["message"]):
        yield f"is refused with characters that nobody sees: {kept['message']!a}"


def _dead(stage: Stage, text: str, given: JSON, judge: Judge) -> Iterator[str]:
    """Its execution dies before it has a record, and once more: recovery keeps its request."""
    stage.begin()
    came = stage.run(text, judge, lambda event: {"paid": 4}, stop_at="AcquireLock")
    if not came.died:
        return
    stage.services.executions[came.arn]["name"] = "again-" + "0" * 40
    looked = stage.branch(stage.look, came.arn, judge, {})
    yield from stage.touched
    if looked.died or not stage.services.refused:
        yield f"recovery does not keep it: {looked}: {looked.cause[:200]}"
        return
    [kept] = stage.services.refused
    if not _is_kept(kept, given):
        yield f"recovery keeps another request: {shown(kept)}"


def _is_kept(kept: dict[str, Any], given: JSON) -> bool:
    """Whether a message of the rejected-requests queue has the request, or says that it has none."""
    whole = as_doubles(json.loads(kept["inputText"]) if "inputText" in kept else kept.get("input"))
    return "inputOmitted" in kept or as_doubles(given) in (whole, [whole])


def _again(stage: Stage, text: str, given: JSON, judge: Judge) -> Iterator[str]:
    again = stage.run(text, judge, lambda event: {"paid": 2})
    if again.error or again.starts or again.output.get("result") != '{"paid":1}':
        yield f"its duplicate is not a duplicate: {again}"
    other: Any = opened(json.loads(text))
    other["payload"] = {"another": other["payload"]} if levels(other["payload"]) < 10 else {"another": 1}
    mismatch = stage.run(sent(other), judge, lambda event: {"paid": 3})
    if mismatch.error != "PayloadMismatch" and verdict(other) == TAKEN:
        yield f"another payload under its key: {mismatch}"
    yield from stage.touched
