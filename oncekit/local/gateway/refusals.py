"""What API Gateway answers by itself: gateway responses, with the API's own texts where it has some.

Types, statuses and messages: https://docs.aws.amazon.com/apigateway/latest/developerguide/
supported-gateway-response-types.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STATUSES = {
    "ACCESS_DENIED": 403,
    "API_CONFIGURATION_ERROR": 500,
    "BAD_REQUEST_BODY": 400,
    "BAD_REQUEST_PARAMETERS": 400,
    "INTEGRATION_TIMEOUT": 504,
    "INVALID_API_KEY": 403,
    "INVALID_SIGNATURE": 403,
    "MISSING_AUTHENTICATION_TOKEN": 403,
    "REQUEST_TOO_LARGE": 413,
    "THROTTLED": 429,
    "UNAUTHORIZED": 401,
    "UNSUPPORTED_MEDIA_TYPE": 415,
}
"""By type: the status unless the API names another one."""
_FIXED = ("REQUEST_TOO_LARGE",)
""" "Customizing the default gateway response for 413 REQUEST_TOO_LARGE isn't currently supported" (Developer Guide,
important notes: https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html)."""
_HEADER = "gatewayresponse.header."


class Refused(Exception):
    """A request that API Gateway answers by itself; `kind` is the type of the gateway response."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NotRunHere(Exception):
    """A request for what AWS does and this cloud does not; the message says what that is."""


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()


def not_run(reason: NotRunHere) -> Answer:
    told = {"message": f"The local cloud does not run {reason}."}
    return Answer(501, json.dumps(told).encode(), {"Content-Type": "application/json"})


_OF_HTTP = {
    "ACCESS_DENIED": (403, "Forbidden"),
    "INSUFFICIENT_SCOPE": (403, "Forbidden"),
    "INVALID_SIGNATURE": (403, "Forbidden"),
    "MISSING_AUTHENTICATION_TOKEN": (403, "Forbidden"),
    "NOT_FOUND": (404, "Not Found"),
    "REQUEST_TOO_LARGE": (413, "Request Entity Too Large"),
    "UNAUTHORIZED": (401, "Unauthorized"),
}
"""By type of refusal: status and message of an HTTP API, which has no gateway responses (unconfirmed, V110)."""


def http_answer_to(refused: Refused) -> Answer:
    status, message = _OF_HTTP[refused.kind]
    return Answer(status, json.dumps({"message": message}).encode(), {"content-type": "application/json"})


def answer_to(refused: Refused, own: Mapping[str, Mapping[str, Any]]) -> Answer:
    """The gateway response of the type, or the default of its class; "simple variable substitution" in its template."""
    usual = STATUSES[refused.kind]
    known = {} if refused.kind in _FIXED else own
    response = known.get(refused.kind) or known.get(f"DEFAULT_{usual // 100}XX") or {}
    status = int(response.get("statusCode", usual))
    template = response.get("responseTemplates", {}).get("application/json", '{"message":$context.error.messageString}')
    message = str(refused)
    text = template.replace("$context.error.messageString", json.dumps(message))
    text = text.replace("$context.error.responseType", refused.kind).replace("$context.error.message", message)
    given = response.get("responseParameters", {}).items()
    headers = {name.removeprefix(_HEADER): value.strip("'") for name, value in given if name.startswith(_HEADER)}
    return Answer(status, text.encode(), {"Content-Type": "application/json", **headers})
