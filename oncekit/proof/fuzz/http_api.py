"""The HTTP API: what a sender with a key may write into a path, a header and a body.

What the state machine gets is what a strict JSON parser makes of the body, under the tenant, operation and key that the
request names, or the request is refused. Nothing else is touched, and nobody gets a 5xx.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from oncekit.proof.fuzz.cloud import OPERATION, Lane
from oncekit.proof.fuzz.http_api_requests import Asked, drawn, lookup
from oncekit.proof.fuzz.knock import Said, knock
from oncekit.proof.fuzz.requests import EITHER, NAME, REFUSED, TAKEN, has_lambda, verdict
from oncekit.proof.fuzz.strict_json import NotJson, parsed, plain
from oncekit.proof.fuzz.values import JSON, Odd

SMALL = 60_000
"""Bytes of a body that is taken however long its percent-encoding is: at most three times as long."""
_KEY = range(32, 127)


def case(lane: Lane, dice: random.Random) -> Iterator[str]:
    odd = Odd(dice)
    asked = drawn(odd)
    said = knock(lane, asked)
    yield from _judged(lane, asked, said)
    if odd.chance(0.2):
        yield from _looked_up(lane, lookup(odd, asked))


def meant(asked: Asked) -> JSON | None:
    """The request that a sender means; None when the body is not a JSON object."""
    try:
        payload = parsed(asked.text)
    except NotJson:
        return None
    policy = {field: value for field, value in asked.policy.items() if value}
    return {
        "operation": asked.operation,
        "tenant": asked.tenant,
        "idempotencyKey": _key(asked.key),
        "payload": payload,
        **policy,
    }


def _key(header: str) -> str:
    """As the README says: printable ASCII, plain or quoted."""
    if any(ord(each) not in _KEY for each in header):
        return ""
    if not header.startswith('"'):
        return header
    try:
        quoted = json.loads(header.replace("\t", " ")) if set(_escapes(header)) <= {'"', "\\"} else ""
    except ValueError:
        return ""
    return quoted if isinstance(quoted, str) else ""


def _escapes(quoted: str) -> Iterator[str]:
    """What follows each backslash that begins an escape."""
    letters = iter(quoted)
    for each in letters:
        if each == "\\":
            yield next(letters, "")


def expected(asked: Asked) -> str:
    """Whether the request must be taken, or must not."""
    request = meant(asked)
    if request is None or not asked.is_json:
        return REFUSED
    usual = verdict(request)
    return EITHER if usual == TAKEN and (len(asked.body) > SMALL or has_lambda(request)) else usual


def _judged(lane: Lane, asked: Asked, said: Said) -> Iterator[str]:
    must = expected(asked)
    starts = lane.cloud.invocations()
    if said.status >= 500:
        yield f"answers {said} to {asked}"
    if must == REFUSED and (starts or said.status < 400):
        yield f"takes what should be refused: {said} to {asked}"
    if must == TAKEN and said.status not in (200, 202) and not _unknown_operation(asked, said):
        yield f"refuses what should be taken: {said} to {asked}"
    request = meant(asked)
    for each in starts:
        yield from _misread(each.event, request, asked)
    yield from _touched(lane, request, asked)


def _unknown_operation(asked: Asked, said: Said) -> bool:
    """The request is refused because its operation, which may be called so, has no function."""
    named = NAME.match(asked.operation) is not None and asked.operation != OPERATION
    return named and said.status == 400 and f"operation {asked.operation} has no function" in said.body


def _misread(event: dict[str, Any], request: Any, asked: Asked) -> Iterator[str]:
    told = {name: event[name] for name in ("operation", "tenant", "idempotencyKey", "payload")}
    wanted = {name: request[name] for name in told} if isinstance(request, dict) else None
    if plain(told) != plain(wanted):
        yield f"hands over {json.dumps(told)[:300]} for {asked}"


def _touched(lane: Lane, request: Any, asked: Asked) -> Iterator[str]:
    """No record but the request's own."""
    found = lane.cloud.client("dynamodb").scan(TableName=lane.stack.table, ProjectionExpression="id")["Items"]
    own = "#".join((request["tenant"], request["operation"], request["idempotencyKey"])) if request else None
    for each in found:
        if each["id"]["S"] != own:
            yield f"touches the record {each['id']['S']!a} for {asked}"


def _looked_up(lane: Lane, asked: Asked) -> Iterator[str]:
    """A GET finds what its path names, or nothing."""
    said = knock(lane, asked)
    if said.status >= 500 and said.status != 500:
        yield f"answers {said} to {asked}"
    id = "#".join((asked.tenant, asked.operation, unquote(asked.key)))
    record = lane.cloud.record(id) if NAME.match(asked.tenant) and NAME.match(asked.operation) else None
    if said.status in (200, 202, 303) and record is None:
        yield f"finds another's: {said} to {asked}"
    if said.status == 500 and (record is None or record["status"] != "QUARANTINED"):
        yield f"answers {said} to {asked}"
