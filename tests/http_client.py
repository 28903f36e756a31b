"""A client of the template's API: signed requests, their path and body as given."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from oncekit.local import LocalCloud

KEY = "Idempotency-Key"
POOL = "arn:aws:cognito-idp:us-east-1:123456789012:userpool/us-east-1_pool"


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        """The body of an error, which says what it is."""
        assert self.headers["content-type"] == "application/problem+json"
        problem: dict[str, Any] = json.loads(self.body)
        assert problem.get("status", self.status) == self.status  # API Gateway says none of its own refusals
        return problem


class Client:
    """Sends what it is told, signed for the API with the developer's key unless others are given."""

    def __init__(self, cloud: LocalCloud, keys: Credentials | None = None) -> None:
        own = cloud.environment
        self._cloud = cloud
        self._keys = keys or Credentials(own["AWS_ACCESS_KEY_ID"], own["AWS_SECRET_ACCESS_KEY"])

    def send(self, method: str, path: str, body: bytes | str = b"", signed: bool = True, **headers: str) -> Response:
        """Names of headers are given with _ for -."""
        data = body.encode() if isinstance(body, str) else body
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if signed:
            given |= self._signature(method, path, data)
        where = urlsplit(self._cloud.http_url)
        connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)
        try:
            connection.request(method, path, data or None, given)
            answer = connection.getresponse()
            return Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def _signature(self, method: str, path: str, data: bytes) -> dict[str, str]:
        request = AWSRequest(method, self._cloud.http_url + path, data=data)
        SigV4Auth(self._keys, "execute-api", "us-east-1").add_auth(request)
        return {name: str(value) for name, value in request.headers.items()}

    def post(self, operation: str, key: str, payload: object, tenant: str = "default", **headers: str) -> Response:
        """Request an operation."""
        headers = {"Content_Type": "application/json", "Idempotency_Key": key, **headers}
        return self.send("POST", f"/{tenant}/{operation}", json.dumps(payload), **headers)

    def get(self, operation: str, key: str, tenant: str = "default") -> Response:
        """Ask how an operation stands."""
        return self.send("GET", f"/{tenant}/{operation}/{quote(key, safe='')}")


def token(cloud: LocalCloud, secret: str | None = None, **claims: Any) -> str:
    """What a user pool would sign; here the key of the run does."""

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    signed = f"{part(json.dumps({'alg': 'HS256'}).encode())}.{part(json.dumps(claims).encode())}"
    key = (secret or cloud.environment["AWS_SECRET_ACCESS_KEY"]).encode()
    return f"{signed}.{part(hmac.digest(key, signed.encode(), hashlib.sha256))}"
