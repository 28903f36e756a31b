"""The commands: odd arguments, and records and messages that hold what producers and functions wrote.

A command ends by its exit codes, prints nothing that a terminal obeys, and touches the record it was asked about only.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import traceback
from collections.abc import Iterator
from typing import Any
from unittest import mock

from oncekit.cli.deployed import on_stack
from oncekit.cli.deployed.stack import Stack as Deployed
from oncekit.cli.deployed.stack import connect
from oncekit.cli.main import main
from oncekit.proof.fuzz.cloud import RAW, Lane, judged
from oncekit.proof.fuzz.judge import Judge, hashed, id_in, shown
from oncekit.proof.fuzz.records import ATTRIBUTES, OTHERS, spoiled
from oncekit.proof.fuzz.replies import KEY, OPERATION, TENANT
from oncekit.proof.fuzz.values import Odd

CODES = (0, 1, 2, 3)
ID = f"{TENANT}#{OPERATION}#{KEY}"
ODD_IDS = ("nohash", "one#hash", "#", "##", "###", "\x1b[2J#b#c", "a#b#\u2028", "#" * 300, "a" * 2000)
"""What somebody with rights on the table may have called a record."""
NO_TEXT = (b"\xff\xfe\x1b", b'{"a": "\xff"}', b"\xed\xa0\x80")
LEVELS = (14, 50, 500, 990, 1500, 5000, 40_000)
"""Of a payload; the JSON of Python reads fewer than a thousand, or what its recursion limit says."""
ON_A_RECORD: tuple[tuple[str, ...], ...] = (
    ("show", ID),
    ("ls",),
    ("ls", "--overdue"),
    ("ls", "--status", "FAILED"),
    ("history", ID),
    ("logs", ID),
    ("ls", "--tenant", TENANT),
    ("ls", "--operation", OPERATION),
    ("retry", ID),
    ("resolve", ID, "--failed", "no"),
    ("release", ID, "--yes"),
    ("redrive", ID),
    ("replay-rejected", "--dry-run"),
    ("replay-rejected",),
    ("replay-rejected", "--discard", "--error", "InvalidRequest"),
)
COMMANDS = (
    "show",
    "ls",
    "history",
    "logs",
    "retry",
    "resolve",
    "release",
    "redrive",
    "replay-rejected",
    "send",
    "graph",
    "doctor",
    "",
)
OPTIONS = ("--json", "--yes", "--failed", "--result", "--status", "--tenant", "--error", "--limit", "--stack", "--via")


def case(lane: Lane, dice: random.Random) -> Iterator[str]:
    odd = Odd(dice)
    if odd.chance(0.3):
        yield from _given(lane, _arguments(odd), None)
        return
    _put(lane, odd)
    for command in dice.sample(ON_A_RECORD, 2):
        extra = ("--json",) if odd.chance(0.3) else ()
        yield from _given(lane, (*command, *extra), Judge(lane.stack, TENANT, OPERATION, KEY))


def _arguments(odd: Odd) -> tuple[str, ...]:
    """Arguments as an operating system passes them: no NUL, and no halves of characters."""
    some = [
        odd.dice.choice((*OPTIONS, ID, "events/charge-payment.json", odd.plain()))
        for _ in range(odd.dice.randint(0, 4))
    ]
    return tuple(each.replace("\x00", "") for each in (odd.dice.choice(COMMANDS), *some))


def _put(lane: Lane, odd: Odd) -> None:
    """A spoilt record of each kind, the object it may speak of, somebody else's, and a message."""
    genuine = _genuine(lane, odd)
    _put_record(lane, {**_spoilt(lane, genuine, odd), "id": {"S": ID}})
    if odd.chance(0.3):
        _put_record(lane, {**_spoilt(lane, genuine, odd), "id": {"S": odd.dice.choice(ODD_IDS)}})
    if odd.chance(0.5):
        body = odd.dice.choice((_request("{}"), json.dumps(OTHERS), odd.plain(30), _request(_deep(odd)))).encode()
        key = f"requests/{TENANT}/{hashed(ID)}/1.json"
        body = odd.dice.choice(NO_TEXT) if odd.chance(0.2) else body
        lane.cloud.client("s3").put_object(Bucket=lane.stack.bucket, Key=key, Body=body)
    for _ in range(odd.dice.randint(1, 3)):
        body_of = _message(lane, odd)
        lane.cloud.client("sqs").send_message(QueueUrl=lane.stack.queue, MessageBody=body_of)


def _put_record(lane: Lane, record: dict[str, Any]) -> None:
    client = lane.cloud.client("dynamodb")
    for name, kind in (("openShard", "S"), ("leaseExpiresAt", "N")):  # the index takes these as they should be
        if (name in record and kind not in record[name]) or record.get(name) == {"S": ""}:
            record.pop(name)
    with contextlib.suppress(client.exceptions.ClientError):
        client.put_item(TableName=lane.stack.table, Item=record)


def _spoilt(lane: Lane, genuine: dict[str, Any], odd: Odd) -> dict[str, Any]:
    """Spoilt as a duplicate would meet it, or in one thing alone, or with types that JSON does not have."""
    match odd.dice.randrange(4):
        case 0:
            return {name: value for name, value in genuine.items() if name != odd.dice.choice(sorted(genuine))}
        case 1:
            return genuine | {odd.dice.choice((*ATTRIBUTES, "another")): _no_json(odd)}
        case 2:
            return genuine
    return spoiled(lane.stack, genuine, odd)


def _no_json(odd: Odd) -> dict[str, Any]:
    inner = odd.dice.choice(({"B": b"\xff\x1b"}, {"BS": [b"a", b"\xff"]}, {"SS": ["a\x1b", "b"]}, {"NS": ["1", "2"]}))
    name = odd.dice.choice(("bucket", "key", "name", "message", "a step\x1b"))
    return odd.dice.choice((inner, {"M": {name: inner}}, {"M": {"a": {"M": {"result": inner}}}}, {"L": [inner]}))


def _deep(odd: Odd) -> str:
    levels = odd.dice.choice(LEVELS)
    opening, closing = odd.dice.choice((("[", "]"), ('{"a":', "}")))
    return opening * levels + "1" + closing * levels


def _request(payload: str) -> str:
    return (
        json.dumps({"tenant": TENANT, "operation": OPERATION, "idempotencyKey": KEY})[:-1] + f', "payload": {payload}}}'
    )


def _message(lane: Lane, odd: Odd) -> str:
    """As the state machine sends one of a request that it refused; or with odd members, or anything."""
    arn = lane.stack.execution("none")
    said: dict[str, Any] = {"error": "InvalidRequest", "message": odd.text(40), "executionArn": arn}
    kept = odd.dice.choice(("input", "inputText", "inputOmitted"))
    match odd.dice.randrange(5):
        case 0:
            return json.dumps(odd.value())
        case 1:
            return json.dumps(said)[:-1] + f', "input": {_request(_deep(odd))}}}'
        case 2:
            return json.dumps(said | {kept: _request(_deep(odd))})
        case 3:
            said[odd.dice.choice(sorted(said))] = odd.dice.choice((None, 5, ["x"], {"a": 1}, odd.value()))
    return json.dumps(said | {kept: odd.value()})


def _genuine(lane: Lane, odd: Odd) -> dict[str, Any]:
    status = odd.dice.choice(("IN_PROGRESS", "COMPLETED", "FAILED", "QUARANTINED", "QUARANTINED"))
    record: dict[str, Any] = {
        "id": {"S": ID},
        "status": {"S": status},
        "fingerprint": {"S": hashed("")},
        "owner": {"S": lane.stack.execution("none")},
        "fence": {"N": "1"},
        "attempts": {"N": "1"},
        "onCrash": {"S": "retry"},
        "acquiredAt": {"S": "2026-01-01T00:00:00.000Z"},
    }
    if status in ("IN_PROGRESS", "QUARANTINED"):
        record |= {"openShard": {"S": f"{status}#{hashed(ID)[0]}"}, "leaseExpiresAt": {"N": "1767225600"}}
    if status in ("FAILED", "QUARANTINED"):
        record["error"] = {"M": {"name": {"S": odd.plain()}, "message": {"S": odd.plain(60)}}}
    if status == "QUARANTINED":
        key = f"requests/{TENANT}/{hashed(ID)}/1.json"
        record["requestRef"] = {"M": {"bucket": {"S": lane.stack.bucket}, "key": {"S": key}}}
    if status == "COMPLETED":
        record["result"] = {"S": odd.plain(40)}
    return record


def _given(lane: Lane, arguments: tuple[str, ...], judge: Judge | None) -> Iterator[str]:
    """The command, as a user gives it."""
    lane.touched.clear()
    shown_as = " ".join(map(ascii, arguments))
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch("sys.argv", ["once", *arguments]),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b""))),
        mock.patch.object(on_stack, "connect", _connecting(lane, judge)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _code()
    if code not in CODES:
        yield f"once {shown_as} ends with {code}"
    for name, text in (("output", out.getvalue()), ("error output", err.getvalue())):
        if found := RAW.search(text):
            yield f"once {shown_as} prints {found.group()!a} raw, in its {name}: {text[:200]!a}"
    yield from (f"once {shown_as}: {each}" for each in lane.touched)


def _code() -> object:
    try:
        main()
    except SystemExit as ended:
        return int(ended.code) if isinstance(ended.code, int) else 0 if ended.code is None else ended.code
    except BaseException:
        return traceback.format_exc()[-400:]
    return 0


def _connecting(lane: Lane, judge: Judge | None) -> Any:
    def connected(*place: Any, **needed: Any) -> Deployed:
        deployed = connect(*place, **needed)
        for service in ("dynamodb", "s3", "stepfunctions"):
            if judge is not None:
                judged(deployed.client(service), lambda name, params: _touches(judge, name, params), lane.touched)
        return deployed

    return connected


def _touches(judge: Judge, name: str, params: dict[str, Any]) -> Iterator[str]:
    """What a command on one record asks for that is another's."""
    key = params.get("Key")
    if name in ("GetItem", "UpdateItem", "PutItem", "DeleteItem") and key != {"id": {"S": judge.id}}:
        yield f"{name} of another record: {shown(params)}"
    if name in ("GetObject", "PutObject", "DeleteObject", "HeadObject"):
        own = params["Bucket"] == judge.stack.bucket
        if not own or not (judge.is_kept_at(key) or judge.is_answer_at(key)):
            yield f"{name} of another's object: {params['Bucket']!a} {key!a}"
    arn = params.get("executionArn")
    if arn is not None and not judge.stack.is_own(arn):
        yield f"{name} of another machine's execution: {arn!a}"
    if (
        name == "StartExecution"
        and not params.get("name", "").startswith("replay-")
        and id_in(params["input"]) != judge.id
    ):
        yield f"starts another's request: {params['input'][:200]!a}"
