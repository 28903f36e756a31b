"""A function behind a path of an API of one's own: it gets the request as it was sent, and answers it (AWS_PROXY).

https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html: format 1.0, that of
REST APIs. Names of headers are as they were sent (V64).
"""

from __future__ import annotations

import base64
import datetime
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.gateway.refusals import Answer, NotRunHere
from oncekit.local.gateway.rest_api import Method, RestApi

Invoke = Callable[..., dict[str, Any]]
"""That of boto3's Lambda client."""
_FUNCTION = re.compile(r"arn:[^:]+:apigateway:[^:]+:lambda:path/[^/]+/functions/(.+)/invocations")
FAILURE = Answer(502, b'{"message": "Internal server error"}', {"Content-Type": "application/json"})
_log = logging.getLogger(__name__)
_NOBODY = (
    "accessKey", "accountId", "caller", "cognitoAuthenticationProvider", "cognitoAuthenticationType",
    "cognitoIdentityId", "cognitoIdentityPoolId", "principalOrgId", "user", "userArn",
)  # fmt: skip
"""What is null in the identity of a caller of whom AWS knows no more than the address."""
_KEYS = {"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"}


def is_proxy(method: Method) -> bool:
    return str(method.integration.get("type")).lower() == "aws_proxy"


def proxied(
    method: Method,
    event: Mapping[str, Any],
    invoke: Invoke,
    read: Callable[[Any], Answer] | None = None,
    failure: Answer | None = None,
) -> Answer:
    """The function's answer to an event; 502 where it fails, or does not answer in the format. Raises NotRunHere.

    `read` makes an answer of what it says, in format 1.0 unless it is given; `failure` is that of one that fails.
    """
    read, failure = read or first_answer, failure or FAILURE
    function = _FUNCTION.fullmatch(str(method.integration["uri"]))
    if function is None:
        raise NotRunHere("this integration of an API")
    answered = invoke(FunctionName=function[1], Payload=json.dumps(event))
    answer = json.loads(answered["Payload"].read())
    if "FunctionError" in answered:
        _log.error("%s failed: %s: %s", function[1], answer["errorType"], answer["errorMessage"])
        return failure
    try:
        return read(answer)
    except (AttributeError, TypeError, ValueError):
        _log.error("%s does not answer in the format of a proxy integration: %s", function[1], answer)
        return failure


def first_answer(given: Mapping[str, Any] | None) -> Answer:
    """Format 1.0. Raises an error where it has another format.

    "If you specify values for both headers and multiValueHeaders, API Gateway merges them into a single list."
    """
    given = given or {}
    if more := set(given) - _KEYS:
        raise ValueError(more)
    body = given.get("body") or ""
    content = base64.b64decode(body) if given.get("isBase64Encoded") else body.encode()
    merged = {name: [str(value)] for name, value in (given.get("headers") or {}).items()}
    for name, values in (given.get("multiValueHeaders") or {}).items():
        merged[name] = [each for each in merged.get(name, []) if each not in values] + [*map(str, values)]
    cookies = tuple(each for name, values in merged.items() if name.lower() == "set-cookie" for each in values)
    headers = {name: ", ".join(values) for name, values in merged.items() if name.lower() != "set-cookie"}
    usual = {} if "content-type" in map(str.lower, headers) else {"Content-Type": "application/json"}
    return Answer(int(given.get("statusCode") or 200), content, usual | headers, cookies)


def event_of(
    api: RestApi,
    method: Method,
    path: str,
    query: str,
    parameters: Mapping[str, str],
    headers: Sequence[tuple[str, str]],
    body: str,
    context: Mapping[str, Any],
) -> dict[str, Any]:
    """What the function gets; `query` as it was sent, `parameters` those of the path."""
    values = parse_qs(query, keep_blank_values=True)
    told = ("requestId", "requestTimeEpoch", "stage", "httpMethod")
    time = datetime.datetime.fromtimestamp(context["requestTimeEpoch"] / 1000, datetime.UTC)
    agent = next((value for name, value in headers if name.lower() == "user-agent"), None)
    return {
        "resource": method.resource,
        "path": path,
        "httpMethod": context["httpMethod"],
        "headers": dict(headers),
        "multiValueHeaders": {name: [value for each, value in headers if each == name] for name, _ in headers},
        "queryStringParameters": {name: each[-1] for name, each in values.items()} or None,
        "multiValueQueryStringParameters": values or None,
        "pathParameters": dict(parameters) or None,
        "stageVariables": None,
        "requestContext": {
            **{name: context[name] for name in told},
            "accountId": ACCOUNT,
            "apiId": api.id,
            "domainName": f"{api.id}.execute-api.{REGION}.amazonaws.com",
            "domainPrefix": api.id,
            "extendedRequestId": context["requestId"],
            "requestTime": time.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "resourceId": None,
            "resourcePath": method.resource,
            "path": f"/{api.stage}{path}",
            "protocol": "HTTP/1.1",
            "identity": {**dict.fromkeys(_NOBODY), "sourceIp": "127.0.0.1", "userAgent": agent},
            "authorizer": context["authorizer"],
        },
        "body": body or None,
        "isBase64Encoded": False,
    }
