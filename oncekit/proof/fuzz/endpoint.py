"""HTTP: what somebody without the key of this run, or a page in a browser, may send to the endpoint of the local cloud.

It gets a refusal, changes nothing, and the endpoint goes on.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from oncekit.local.account import REGION
from oncekit.proof.fuzz.cloud import Lane
from oncekit.proof.fuzz.values import Odd

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "GET ", "", "\x00", "P" * 300)
PATHS = (
    "/",
    "/moto-api/reset",
    "/moto-api/data.json",
    "/moto-api/../moto-api/reset",
    "//moto-api/reset",
    "/%6doto-api/reset",
    "/once-responsebucket",
    "/once-responsebucket/requests/acme/x.json",
    "/2015-03-31/functions",
    "/?Action=DescribeStacks",
    f"/?X-Amz-Credential=local/20260101/{REGION}/s3/aws4_request&X-Amz-Signature=0",
)
TARGETS = (
    "DynamoDB_20120810.Scan",
    "DynamoDB_20120810.DeleteTable",
    "AWSStepFunctions.StartExecution",
    "AmazonSQS.SendMessage",
)
HOSTS = ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "169.254.169.254", "s3.amazonaws.com", "")
KEYS = ("AKIDEXAMPLE", "local", "testing", "once_op-charge-payment", "once-CacheResponseFunction", "", "*")
PATIENCE = 10.0
"""Seconds of the real clock for an answer, or the end of the connection."""


def case(lane: Lane, dice: random.Random) -> Iterator[str]:
    before = _state(lane)
    asked = _asked(lane, Odd(dice))
    try:
        answer = _spoken(lane, asked)
    except TimeoutError:
        yield f"no answer within {PATIENCE:g} s to {asked[:200]!r}"
        return
    status = answer.split(b" ", 2)[1:2]
    if answer.startswith(b"HTTP/") and (not status or status[0][:1] not in (b"4", b"5") or status[0] == b"500"):
        yield f"answers {answer[:100]!r} to {asked[:300]!r}"
    if b"access-control-allow" in answer.lower():
        yield f"invites pages by {answer[:200]!r} to {asked[:300]!r}"
    if (after := _state(lane)) != before:
        yield f"changed {before} to {after}: {asked[:300]!r}"


def _asked(lane: Lane, odd: Odd) -> bytes:
    """A request that lacks what lets it in: a key of this run, or the right Host, or it comes from a page."""
    dice = odd.dice
    own = urlsplit(lane.cloud.endpoint_url).netloc
    path = dice.choice(PATHS) + (odd.plain(6) if odd.chance(0.1) else "")
    headers = [f"Host: {own if odd.chance(0.6) else dice.choice(HOSTS)}"]
    if odd.chance(0.4):
        headers.append("Origin: " + dice.choice(("null", "http://evil.example", f"http://{own}", odd.plain(5))))
    if odd.chance(0.5):
        scope = f"20260101/{REGION}/{dice.choice(('dynamodb', 's3', 'lambda', 'states', 'sqs'))}/aws4_request"
        headers.append(
            f"Authorization: AWS4-HMAC-SHA256 Credential={dice.choice(KEYS)}/{scope}, SignedHeaders=host, Signature=0"
        )
    if odd.chance(0.4):
        headers.append("X-Amz-Target: " + dice.choice(TARGETS))
    if odd.chance(0.2):
        headers.append(
            dice.choice(("Transfer-Encoding: chunked", "Content-Length: -1", "X: " + "y" * 9000, odd.plain(9)))
        )
    body = dice.choice(("", '{"TableName": "once-IdempotencyTable"}', "Action=CreateStack", odd.plain(20)))
    if odd.chance(0.8):
        headers.append(f"Content-Length: {len(body.encode())}")
    if odd.chance(0.05):
        return odd.plain(60).encode() + b"\r\n\r\n"
    text = (
        f"{dice.choice(METHODS)} {path} HTTP/1.1\r\n" + "\r\n".join([*headers, "Connection: close"]) + f"\r\n\r\n{body}"
    )
    return text.encode()


def _spoken(lane: Lane, asked: bytes) -> bytes:
    """What comes back until the connection ends."""
    at = urlsplit(lane.cloud.endpoint_url)
    answer = b""
    with socket.create_connection((at.hostname, at.port), timeout=PATIENCE) as line:
        try:
            line.sendall(asked)
            line.shutdown(socket.SHUT_WR)
            while part := line.recv(65536):
                answer += part
        except (ConnectionError, BrokenPipeError):
            pass  # it would not listen to the end
    return answer


def _state(lane: Lane) -> tuple[int, int, int]:
    """Tables, functions and objects, asked for over the same endpoint's backends."""
    tables = lane.cloud.client("dynamodb").list_tables()["TableNames"]
    objects = lane.cloud.client("s3").list_objects_v2(Bucket=lane.stack.bucket).get("KeyCount", 0)
    return len(tables), len(lane.cloud.functions.functions), objects
