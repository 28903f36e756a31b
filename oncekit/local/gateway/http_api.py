"""An HTTP API as deployed: its routes to functions, the events of both formats, and the answers.

Developer Guide, *Create AWS Lambda proxy integrations for HTTP APIs*: "All headernames are lowercased"; in format 2.0
duplicate headers and query strings "are combined with commas", the cookies are a list of their own; "API Gateway can
infer the response format": an answer without a statusCode is the body, as JSON, with the status 200. *Routing*: "full
match for a route and method", then "a greedy path variable", then `$default`.

- A body is text if its Content-Type is text/*, application/json, application/xml or application/javascript, else base64
  (measured on AWS: https://github.com/ministackorg/ministack/pull/766).
- The path comes decoded, in both formats (measured on AWS: https://github.com/middleapi/standard-server/pull/93).
- Claims of a JWT are texts, and lists of theirs "[a b]"; the Content-Type of an answer that has a statusCode and names
  none is text/plain (both unconfirmed, V110).
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import Deployed
from oncekit.local.gateway.proxy import event_of
from oncekit.local.gateway.refusals import Answer
from oncekit.local.gateway.rest_api import ANY, DEFAULT, Method, RestApi, Route

API = "AWS::ApiGatewayV2::Api"
STAGE = "AWS::ApiGatewayV2::Stage"
HTTP_FAILURE = Answer(500, b'{"message":"Internal Server Error"}', {"content-type": "application/json"})
_TEXTS = ("application/json", "application/xml", "application/javascript")


class HttpApi(RestApi):
    """What a client can ask for."""

    def route(self, method: str, path: str) -> Route | None:
        """The method for a path, and its path parameters, decoded."""
        found = super().route(method, path)
        if found is not None:
            best, parameters = found
            return best, {name: unquote(value) for name, value in parameters.items()}
        default = (each for each in self.methods if each.resource.lstrip("/") == DEFAULT)
        return next(((each, {}) for each in default), None)

    @property
    def cors(self) -> Mapping[str, Any]:
        return dict(self.body.get("x-amazon-apigateway-cors") or {})

    @property
    def origin(self) -> str | None:
        origins = [str(each) for each in self.cors.get("allowOrigins", ())]
        return "*" if "*" in origins else next(iter(origins), None)

    def with_cors(self, answer: Answer, origin: str | None) -> Answer:
        """ "If you configure CORS for an API, API Gateway ignores CORS headers returned from your backend integration"
        (Developer Guide, configure CORS for HTTP APIs)."""
        if not self.cors:
            return answer
        own = {name: each for name, each in answer.headers.items() if not name.lower().startswith("access-control-")}
        return replace(answer, headers={**own, **self.cors_headers(origin)})

    def cors_headers(self, origin: str | None) -> dict[str, str]:
        """What it adds to an answer for a page of this origin."""
        allowed = self.cors.get("allowOrigins", ())
        if origin is None or not {"*", origin} & set(allowed):
            return {}
        told = {"access-control-allow-origin": "*" if "*" in allowed else origin}
        if exposed := self.cors.get("exposeHeaders"):
            told["access-control-expose-headers"] = ",".join(exposed)
        if self.cors.get("allowCredentials"):
            told["access-control-allow-credentials"] = "true"
        return told

    def preflight(self, origin: str | None) -> Answer:
        """The answer to OPTIONS: "API Gateway automatically sends a response to preflight OPTIONS requests, even if
        there isn't an OPTIONS route configured" (Developer Guide, configure CORS for HTTP APIs)."""
        headers = self.cors_headers(origin)
        if headers:
            for name, key in (("methods", "allowMethods"), ("headers", "allowHeaders")):
                if key in self.cors:
                    headers[f"access-control-allow-{name}"] = ",".join(self.cors[key])
            if "maxAge" in self.cors:
                headers["access-control-max-age"] = str(self.cors["maxAge"])
        return Answer(204, b"", headers)


def http_apis(resources: Mapping[str, Deployed]) -> list[HttpApi]:
    """The APIs that were deployed, each with its stage."""
    stages = {
        str(each.properties["ApiId"]): str(each.properties["StageName"])
        for each in resources.values()
        if each.type == STAGE and each.ref
    }
    return [
        HttpApi(each.ref, stages[each.ref], each.properties["Body"])
        for each in resources.values()
        if each.type == API and each.ref in stages and not why_not(each.properties)
    ]


def why_not(properties: Mapping[str, Any]) -> str | None:
    """Why an API is in name only; None for one that is served."""
    if properties.get("ProtocolType", "HTTP") != "HTTP":
        return "no API of WebSockets is served here"
    return None if "paths" in (properties.get("Body") or {}) else "only routes in its Body are served here"


def is_first_format(method: Method) -> bool:
    return str(method.integration.get("payloadFormatVersion", "2.0")) == "1.0"


def route_key(method: Method) -> str:
    if method.resource.lstrip("/") == DEFAULT:
        return DEFAULT
    return f"{'ANY' if method.name == ANY.upper() else method.name} {method.resource}"


def joined(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names in small letters, each once."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value)
    return [(name, ",".join(values)) for name, values in found.items()]


def body_of(content: bytes, content_type: str) -> tuple[str, bool]:
    """The body as the event has it, and whether that is base64."""
    kind = content_type.partition(";")[0].strip().lower()
    if not content or kind.startswith("text/") or kind in _TEXTS:
        return content.decode(errors="replace"), False
    return base64.b64encode(content).decode(), True


def first_event(
    api: HttpApi,
    method: Method,
    path: str,
    query: str,
    parameters: Mapping[str, str],
    sent: Sequence[tuple[str, str]],
    content: bytes,
    context: Mapping[str, Any],
) -> dict[str, Any]:
    """What the function gets in format 1.0: as of a REST API, with a version."""
    headers = [(name.lower(), value) for name, value in sent]
    body, encoded = body_of(content, dict(headers).get("content-type", ""))
    event = event_of(api, method, whole(api, path), query, parameters, headers, body, context)
    event["requestContext"]["path"] = event["path"]
    return {"version": "1.0", **event, "isBase64Encoded": encoded}


def whole(api: HttpApi, path: str) -> str:
    """Decoded, and with the stage, which is in the path on AWS unless it is the default one."""
    return unquote(path if api.stage == DEFAULT else f"/{api.stage}{path}")


def second_event(
    api: HttpApi,
    method: Method,
    path: str,
    query: str,
    parameters: Mapping[str, str],
    sent: Sequence[tuple[str, str]],
    content: bytes,
    context: Mapping[str, Any],
) -> dict[str, Any]:
    """What the function gets in format 2.0; `query` as it was sent. What a request has not is left out."""
    headers = dict(joined(sent))
    cookies = [each for each in headers.pop("cookie", "").split("; ") if each]
    arguments: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        arguments.setdefault(name, []).append(value)
    body, encoded = body_of(content, headers.get("content-type", ""))
    claims = {name: _told(value) for name, value in context["authorizer"]["claims"].items()}
    seconds = context["requestTimeEpoch"] / 1000
    event = {
        "version": "2.0",
        "routeKey": route_key(method),
        "rawPath": whole(api, path),
        "rawQueryString": query,
        "cookies": cookies,
        "headers": headers,
        "queryStringParameters": {name: ",".join(values) for name, values in arguments.items()},
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": api.id,
            **({"authorizer": {"jwt": {"claims": claims, "scopes": api.scopes(method) or None}}} if claims else {}),
            "domainName": f"{api.id}.execute-api.{REGION}.amazonaws.com",
            "domainPrefix": api.id,
            "http": {
                "method": context["httpMethod"],
                "path": whole(api, path),
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": context["requestId"],
            "routeKey": route_key(method),
            "stage": api.stage,
            "time": datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": context["requestTimeEpoch"],
        },
        "pathParameters": dict(parameters),
        "body": body,
        "isBase64Encoded": encoded,
    }
    optional = ("cookies", "queryStringParameters", "pathParameters", "body")
    return {name: value for name, value in event.items() if value or name not in optional}


def _told(value: Any) -> str:
    if isinstance(value, list):
        return f"[{' '.join(map(str, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


def second_answer(given: Any) -> Answer:
    """The answer of a function in format 2.0. Raises an error where it has another one."""
    if not isinstance(given, dict) or "statusCode" not in given:
        text = given if isinstance(given, str) else json.dumps(given)
        return Answer(200, text.encode(), {"content-type": "application/json"})
    body = given.get("body") or ""
    text = body if isinstance(body, str) else json.dumps(body)
    content = base64.b64decode(text) if given.get("isBase64Encoded") else text.encode()
    headers = {name.lower(): str(value) for name, value in (given.get("headers") or {}).items()}
    usual = {"content-type": "text/plain;charset=UTF-8"}
    return Answer(int(given["statusCode"]), content, usual | headers, tuple(map(str, given.get("cookies") or ())))
