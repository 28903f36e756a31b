"""The guard in front of the endpoint: finds out who makes an HTTP call, and which one, and stops what is not allowed.

A function is identified by its access key id, which is random and its own. The call is read from the request as moto
does it, with the service's model in botocore. So calls of services that moto does not support are checked, too.
"""

from __future__ import annotations

import functools
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from botocore.exceptions import ClientError
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from oncekit.local.access_keys import credential_of
from oncekit.local.permissions.guard import Caller, Guard

Environ = dict[str, Any]
Callers = Callable[[str], Caller | None]
"""The holder of an access key id; None for a caller that is not checked."""


@dataclass(frozen=True)
class Asked:
    """What a request asks for: the API's operation, its parameters as boto3 takes them."""

    operation: str
    parameters: Mapping[str, Any]


class HttpGuard:
    """Checks requests before they reach moto."""

    def __init__(self, callers: Callers, guard: Guard) -> None:
        self._callers = callers
        self._guard = guard

    def refusal(self, environ: Environ) -> Response | None:
        """The answer to a request that is not allowed; None allows it."""
        signed = credential_of(environ)
        caller = self._callers(signed.key) if signed else None
        if signed is None or caller is None:
            return None
        service = signed.service
        if why := ambiguity(service, environ):
            return _refused(service, environ, why)
        try:
            asked = asked_for(service, environ)
        except _unreadable() as error:
            return in_protocol(service, environ, _malformed(error))
        if asked is None:
            return _refused(service, environ, "it is not an operation that botocore knows")
        try:
            self._guard.check(caller, service, asked.operation, asked.parameters)
        except ClientError as error:
            return in_protocol(service, environ, error)
        return None


def _unreadable() -> tuple[type[Exception], ...]:
    """What reading a body may end in."""
    from moto.core.parse import RequestParserError

    return RequestParserError, ValueError, RecursionError


def _malformed(error: Exception) -> ClientError:
    said = {"Code": "MalformedXML", "Message": f"the body of the request cannot be read: {type(error).__name__}"}
    return ClientError({"Error": said, "ResponseMetadata": {"HTTPStatusCode": 400}}, "Unreadable")  # type: ignore[typeddict-item]


def ambiguity(service: str, environ: Environ) -> str | None:
    """Why the guard and moto could read a request in two ways, which none does that a client of AWS makes."""
    if service in _SIGNED_FOR_NOTHING:
        return f"nothing is signed for {service} here"
    if _is_rest(service):
        return f"{service} has no X-Amz-Target" if "HTTP_X_AMZ_TARGET" in environ else None
    if any(name == "Action" for name, _ in parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True)):
        return "its Action does not stand in its body"
    names = [name for name, _ in _form(environ)] if environ.get("CONTENT_TYPE", "").startswith(_FORM) else []
    if len(set(names)) != len(names):
        return "a name is there twice"
    return "it has an X-Amz-Target and a form" if names and "HTTP_X_AMZ_TARGET" in environ else None


_FORM = "application/x-www-form-urlencoded"
_SIGNED_FOR_NOTHING = {"s3express", "s3control", "s3-control", "s3-object-lambda", "s3-outposts"}
"""What moto takes for S3 or for a part of it, while the guard would look for another service's operations."""


def _form(environ: Environ) -> list[tuple[str, str]]:
    return parse_qsl(_body(environ).decode("utf-8", "replace"), keep_blank_values=True)


@functools.cache
def _is_rest(service: str) -> bool:
    """Whether method and path say what is asked for. Services that botocore names otherwise are none of these."""
    from moto.core.utils import get_service_model

    known = service in _loader().list_available_services("service-2")
    return service == "s3" or (known and get_service_model(service).protocol.startswith("rest"))


def _refused(service: str, environ: Environ, why: str) -> Response:
    message = f"the local cloud refuses what it could not hold against the caller's role: {why}"
    error: Any = {"Error": {"Code": "AccessDenied", "Message": message}, "ResponseMetadata": {"HTTPStatusCode": 403}}
    return in_protocol(service, environ, ClientError(error, "unknown"))


def asked_for(service: str, environ: Environ) -> Asked | None:
    """What a request asks of the service that it is signed for; None when that has no such operation."""
    if not _is_rest(service) and (by_name := _by_name(environ)) is not None:
        return by_name
    if service == "s3" and (of_object := _of_an_object(environ)) is not None:
        return of_object
    for name in _services(service):
        asked = _rest(name, environ)
        if asked is not None:
            return asked
    return None


def _by_name(environ: Environ) -> Asked | None:
    """What is asked for by the name of an operation, in a header, a form or the path."""
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        return Asked(target.rpartition(".")[2], _json(_body(environ)))
    if environ.get("CONTENT_TYPE", "").startswith(_FORM):
        form = dict(_form(environ))
        if "Action" in form:
            return Asked(form["Action"], form)
    if (rpc := re.fullmatch(r"/service/[^/]+/operation/([^/]+)", environ["PATH_INFO"])) is not None:
        return Asked(rpc[1], {})  # in CBOR, which nobody here reads
    return None


_OF_AN_OBJECT = {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject"}


def _of_an_object(environ: Environ) -> Asked | None:
    """The plainest calls of S3 without its model, which takes a twentieth of a second to read."""
    operation = _OF_AN_OBJECT.get(environ["REQUEST_METHOD"])
    path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")  # as WSGI has it
    bucket, _, key = path.removeprefix("/").partition("/")
    if operation is None or not key or environ.get("QUERY_STRING") or "HTTP_X_AMZ_COPY_SOURCE" in environ:
        return None
    given = {"IfMatch": environ.get("HTTP_IF_MATCH"), "IfNoneMatch": environ.get("HTTP_IF_NONE_MATCH")}
    return Asked(operation, {"Bucket": bucket, "Key": key, **{name: each for name, each in given.items() if each}})


def _rest(name: str, environ: Environ) -> Asked | None:
    from moto.core.parse import PROTOCOL_PARSERS
    from moto.core.request import Request
    from moto.core.routing import get_service_router
    from moto.core.utils import get_service_model

    model = get_service_model(name)
    if not model.protocol.startswith("rest"):
        return None
    request = Request(environ)
    try:
        operation, in_path = get_service_router(name).match(request)
    except NotFound:
        return None
    parser = PROTOCOL_PARSERS[model.protocol](operation)
    asked = parser.parse(
        {
            "method": request.method,
            "values": request.args,
            "headers": request.headers,
            "body": b"" if operation.has_streaming_input else _body(environ),
            "url_path": request.path,
            "url_params": in_path,
        }
    )
    return Asked(operation.name, asked)


def _services(signed_for: str) -> Iterator[str]:
    """The names in botocore of the services whose requests may be signed for this one, the likeliest first."""
    likely = [each for each in _loader().list_available_services("service-2") if each.startswith(signed_for)]
    yield from sorted(likely, key=len)
    yield from (each for each in _all_services().get(signed_for, ()) if each not in likely)


@functools.cache
def _loader() -> Any:
    from botocore.loaders import create_loader

    return create_loader()


@functools.cache
def _all_services() -> Mapping[str, list[str]]:
    """By what is signed for. Takes seconds: for a service whose name in botocore does not begin like that."""
    found: dict[str, list[str]] = {}
    for name in _loader().list_available_services("service-2"):
        metadata = _loader().load_service_model(name, "service-2")["metadata"]
        found.setdefault(metadata.get("signingName") or metadata["endpointPrefix"], []).append(name)
    return found


def _body(environ: Environ) -> bytes:
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
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        body = f"<ErrorResponse><Error><Type>Sender</Type>{told}</Error><RequestId>local</RequestId></ErrorResponse>"
        return Response(body, status, headers, content_type="text/xml")
    if service == "sqs":
        headers["x-amzn-query-error"] = f"{code};Sender"
    body = json.dumps({"__type": code, "message": message, "Message": message})
    return Response(body, status, headers, content_type="application/x-amz-json-1.0")
