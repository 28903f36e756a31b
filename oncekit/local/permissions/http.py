"""The guard in front of the endpoint: finds out who makes an HTTP call, and which one, and stops what is not allowed.

A function is identified by its access key id, which is random and its own. The call is read from the request with the
service's model in botocore. So calls of services that moto does not support are checked, too.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote
from xml.sax.saxutils import escape

from botocore.exceptions import ClientError
from werkzeug.wrappers import Response

from oncekit.local.client_errors import client_error
from oncekit.local.endpoint.access_keys import AccessKeys, credential_of
from oncekit.local.endpoint.rest_requests import RestRequest, loader, operation_of
from oncekit.local.permissions.guard import ANYTHING, Permissions

Environ = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What a request asks for: the API's operation, its parameters as boto3 takes them."""

    operation: str
    parameters: Mapping[str, Any]


def refusal(environ: Environ, keys: AccessKeys, permissions: Permissions) -> Response | None:
    """The answer to a request that is not allowed; None allows it."""
    signed = credential_of(environ)
    caller = keys.holder(signed.key) if signed else None
    if signed is None or caller is None or caller.role is ANYTHING:
        return None
    service = signed.service
    asked = asked_for(service, environ)
    try:
        if asked is None:
            why = "the local cloud cannot hold this against the caller's role: botocore knows no such operation"
            raise client_error("AccessDenied", why, "unknown", 403)
        permissions.check(caller, service, asked.operation, asked.parameters)
    except ClientError as error:
        return in_protocol(service, environ, error)
    return None


def asked_for(service: str, environ: Environ) -> Asked | None:
    """What a request asks of the service that it is signed for; None when that has no such operation."""
    if (by_name := _by_name(environ)) is not None:
        return by_name
    request = _rest(environ)
    for name in _services(service):
        if (found := operation_of(name, request)) is not None:
            return Asked(*found)
    return None


def _by_name(environ: Environ) -> Asked | None:
    """What is asked for by the name of an operation, in a header, a form or the path."""
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        return Asked(target.rpartition(".")[2], _json(body_of(environ)))
    if environ.get("CONTENT_TYPE", "").startswith(FORM):
        form = dict(parse_qsl(body_of(environ).decode("utf-8", "replace"), keep_blank_values=True))
        if "Action" in form:
            return Asked(form["Action"], form)
    if (rpc := re.fullmatch(r"/service/[^/]+/operation/([^/]+)", environ["PATH_INFO"])) is not None:
        return Asked(rpc[1], {})  # in CBOR, which nobody here reads
    return None


FORM = "application/x-www-form-urlencoded"


def _rest(environ: Environ) -> RestRequest:
    return RestRequest(
        environ["REQUEST_METHOD"],
        str(environ.get("RAW_URI") or quote(environ["PATH_INFO"])).partition("?")[0],
        environ.get("QUERY_STRING", ""),
        {key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")},
        body_of(environ),
    )


_BEGIN = {
    "elasticfilesystem": "efs",
    "execute-api": "apigatewaymanagementapi",
    "geo": "location",
    "iotdata": "iot-data",
    "mobiletargeting": "pinpoint",
}
"""How the name of a service begins where it does not as what its requests are signed for."""


def _services(signed_for: str) -> Iterator[str]:
    """The names in botocore of the services whose requests may be signed for this one, the likeliest first."""
    known = loader().list_available_services("service-2")
    yield from sorted((each for each in known if each.startswith(_BEGIN.get(signed_for, signed_for))), key=len)


def body_of(environ: Environ) -> bytes:
    """The body, which moto finds in its place afterwards."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body: bytes = environ["wsgi.input"].read(length) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def _json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}  # moto says what is wrong with it
    return found if isinstance(found, dict) else {}


def in_protocol(service: str, environ: Environ, error: ClientError) -> Response:
    """The error in the protocol of the request."""
    code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    headers = {"x-amzn-requestid": "local", "x-amzn-errortype": code}
    if environ["REQUEST_METHOD"] == "HEAD":
        return Response(status=status, headers=headers)
    told = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if service == "s3":
        return Response(f"<Error>{told}</Error>", status, headers, content_type="application/xml")
    if environ.get("CONTENT_TYPE", "").startswith(FORM):
        body = f"<ErrorResponse><Error><Type>Sender</Type>{told}</Error><RequestId>local</RequestId></ErrorResponse>"
        return Response(body, status, headers, content_type="text/xml")
    if service == "sqs":
        headers["x-amzn-query-error"] = f"{code};Sender"
    more = {name: told for name, told in error.response.items() if name not in ("Error", "ResponseMetadata")}
    body = json.dumps({"__type": code, "message": message, "Message": message, **more})
    return Response(body, status, headers, content_type="application/x-amz-json-1.0")
