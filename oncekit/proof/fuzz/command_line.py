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

from oncekit.cli import operators
from oncekit.cli.deployed.stack import Stack as Deployed
from oncekit.cli.deployed.stack import connect
from oncekit.cli.main import main
from oncekit.proof.fuzz.cloud import RAW, Lane, judged
from oncekit.proof.fuzz.judge import Judge, hashed, id_in, shown
from oncekit.proof.fuzz.records import OTHERS, spoiled
from oncekit.proof.fuzz.replies import KEY, OPERATION, TENANT
from oncekit.proof.fuzz.values import Odd

CODES = (0, 1, 2, 3)
ID = f"{TENANT}#{OPERATION}#{KEY}"
ON_A_RECORD: tuple[tuple[str, ...], ...] = (
    ("show", ID),
    ("ls",),
    ("ls", "--overdue"),
    ("retry", ID),
    ("resolve", ID, "--failed", "no"),
    ("release", ID, "--yes"),
    ("redrive", ID),
    ("replay-rejected", "--dry-run"),
    ("replay-rejected",),
    ("replay-rejected", "--discard", "--error", "InvalidRequest"),
)
COMMANDS = ("show", "ls", "retry", "resolve", "release", "redrive", "replay-rejected", "send", "graph", "doctor", "")
OPTIONS = ("--json", "--yes", "--failed", "--result", "--status", "--tenant", "--error", "--limit", "--stack", "--via")


def case(lane: Lane, dice: random.Random) -> Iterator[str]:
    odd = Odd(dice)
    if odd.chance(0.3):
        yield from _given(lane, _arguments(odd), None)
        return
    lane.forget_messages()
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
    client = lane.cloud.client("dynamodb")
    genuine = _genuine(lane, odd)
    record = {**spoiled(lane.stack, genuine, odd), "id": {"S": ID}}
    for name, kind in (("openShard", "S"), ("leaseExpiresAt", "N")):  # the index takes these as they should be
        if (name in record and kind not in record[name]) or record.get(name) == {"S": ""}:
            record.pop(name)
    with contextlib.suppress(client.exceptions.ClientError):
        client.put_item(TableName=lane.stack.table, Item=record)
    if odd.chance(0.5):
        request = json.dumps({"tenant": TENANT, "operation": OPERATION, "idempotencyKey": KEY, "payload": {}})
        body = odd.dice.choice((request, json.dumps(OTHERS), odd.plain(30)))
        key = f"requests/{TENANT}/{hashed(ID)}/1.json"
        lane.cloud.client("s3").put_object(Bucket=lane.stack.bucket, Key=key, Body=body.encode())
    said = {"error": "InvalidRequest", "message": odd.text(40), "executionArn": lane.stack.execution("none")}
    said |= {odd.dice.choice(("input", "inputText", "inputOmitted")): odd.value()}
    body = json.dumps(odd.value() if odd.chance(0.2) else said)
    lane.cloud.client("sqs").send_message(QueueUrl=lane.stack.queue, MessageBody=body)


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
        mock.patch.object(operators, "connect", _connecting(lane, judge)),
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
