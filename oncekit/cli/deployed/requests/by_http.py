"""A request by HTTP: signed for the stack's API with the credentials of the command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from oncekit.cli.deployed.stack import Stack
from oncekit.cli.problem import Problem
from oncekit.console.requests import opened

POLICIES = {"onConflict": "Once-On-Conflict", "onCrash": "Once-On-Crash", "onFailed": "Once-On-Failed"}
LONGEST_SECONDS = 35
"""A little more than API Gateway takes before it answers."""


@dataclass(frozen=True)
class Answer:
    """What the API answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def send_by_http(stack: Stack, request: str) -> str:
    """The API's answer: status and body. Raises Problem where it is none of success, or where it cannot be sent so."""
    if stack.parameters.get("HttpUserPoolArn"):
        raise Problem("--via http: the API takes tokens of a user pool only, and this command has none; use curl")
    path, headers, body = _parts(json.loads(request))
    answer = call(stack, "POST", path, headers, body)
    if answer.status >= 400:
        raise Problem(f"the API answered {answer.status}: {_reason(answer.body)}")
    return f"{answer.status} {answer.body.decode()}"


def call(stack: Stack, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """A call of the API, signed."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.httpsession import URLLib3Session
    from botocore.utils import get_environ_proxies

    unsigned = AWSRequest(method, stack.outputs["RequestApiUrl"] + path, dict(headers), body)
    SigV4Auth(stack.session.get_credentials(), "execute-api", stack.session.region_name).add_auth(unsigned)
    # No proxy for the local cloud, as for other calls.
    proxies = None if stack.endpoint_url else get_environ_proxies(str(unsigned.url))
    answer = URLLib3Session(timeout=LONGEST_SECONDS, proxies=proxies).send(unsigned.prepare())
    given = {str(name).lower(): str(value) for name, value in answer.headers.items()}
    return Answer(answer.status_code, given, answer.content)


def _parts(given: Any) -> tuple[str, dict[str, str], bytes]:
    """Path, headers and body of a request. Raises Problem for one that cannot be written so."""
    request = opened(given)
    if not isinstance(request, dict) or not {"operation", "idempotencyKey", "payload"} <= set(request):
        raise Problem("--via http: the request needs operation, idempotencyKey and payload")
    key = str(request["idempotencyKey"])
    if not (key.isascii() and key.isprintable()):
        raise Problem("--via http: a header takes an idempotencyKey of printable ASCII only; send it another way")
    quoted = '"' + key.replace("\\", r"\\").replace('"', r"\"") + '"'
    place = f"/tenants/{quote(str(request['tenant']), safe='')}" if "tenant" in request else ""
    headers = {"Content-Type": "application/json", "Idempotency-Key": quoted}
    headers |= {header: str(request[name]) for name, header in POLICIES.items() if name in request}
    return f"{place}/operations/{quote(str(request['operation']), safe='')}", headers, _text(request["payload"])


def _text(payload: Any) -> bytes:
    return json.dumps(payload, separators=(",", ":")).encode()


def _reason(body: bytes) -> str:
    try:
        problem = json.loads(body)
        return ": ".join(str(problem[name]) for name in ("title", "detail") if name in problem)
    except (ValueError, TypeError):
        return body[:200].decode(errors="replace")
