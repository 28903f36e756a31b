"""Who may call an API: who signs with a key of this run and whose role allows the path, or who has a token."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.clock import Clock
from oncekit.local.endpoint.access_keys import AccessKeys, credential_of
from oncekit.local.gateway.refusals import NotRunHere, Refused
from oncekit.local.gateway.rest_api import Method, RestApi
from oncekit.local.permissions import Permissions

Environ = Mapping[str, Any]
Claims = Mapping[str, Any]


class Callers:
    """Checks a caller."""

    def __init__(self, keys: AccessKeys, guard: Permissions, clock: Clock) -> None:
        self._keys = keys
        self._guard = guard
        self._clock = clock

    def check(self, api: RestApi, method: Method, path: str, environ: Environ) -> Claims:
        """The claims of the caller's token, if it has one. Raises Refused, and NotRunHere."""
        # Usage plans are not looked at: any key is one.
        if api.needs_key(method) and not environ.get("HTTP_X_API_KEY"):
            raise Refused("INVALID_API_KEY", "Forbidden")
        needed = api.authorization(method)
        if needed == "cognito_user_pools":
            return self._claims(environ)
        if needed == "jwt":
            return self._scoped(self._claims(environ), api.scopes(method))
        if needed == "awsSigv4":
            self._check_signature(api, method, path, environ)
        elif needed is not None:
            raise NotRunHere(f"this authorizer of an API ({needed})")
        return {}

    def _check_signature(self, api: RestApi, method: Method, path: str, environ: Environ) -> None:
        """https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-control-access-using-iam-policies-to-
        invoke-api.html: the resource of a call is arn:...:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH."""
        credential = credential_of(environ)
        if credential is None:
            raise Refused("MISSING_AUTHENTICATION_TOKEN", "Missing Authentication Token")
        caller = self._keys.holder(credential.key)
        if caller is None or credential.service != "execute-api":
            raise Refused("INVALID_SIGNATURE", "The security token included in the request is invalid.")
        resource = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{api.id}/{api.stage}/{method.name}{path}"
        try:
            self._guard.check(caller, "execute-api", "Invoke", {"arn": resource})
        except ClientError as error:
            raise Refused("ACCESS_DENIED", error.response["Error"]["Message"]) from error

    def _scoped(self, claims: Claims, scopes: Sequence[str]) -> Claims:
        """ "If you configure scopes for a route, the token must include at least one of the route's scopes" (Developer
        Guide, control access to HTTP APIs with JWT authorizers)."""
        if scopes and not set(scopes) & set(str(claims.get("scope", claims.get("scp", ""))).split()):
            raise Refused("INSUFFICIENT_SCOPE", "Forbidden")
        return claims

    def _claims(self, environ: Environ) -> Claims:
        """There is no user pool here: a token is good that is signed (HS256) with the secret key of this run."""
        header, _, rest = str(environ.get("HTTP_AUTHORIZATION", "")).removeprefix("Bearer ").partition(".")
        payload, _, signature = rest.partition(".")
        mine = hmac.digest(self._keys.own.secret.encode(), f"{header}.{payload}".encode(), hashlib.sha256)
        try:
            if not hmac.compare_digest(_decoded(signature), mine):
                raise Refused("UNAUTHORIZED", "Unauthorized")
            claims: Claims = json.loads(_decoded(payload))
        except ValueError as error:
            raise Refused("UNAUTHORIZED", "Unauthorized") from error
        if float(claims.get("exp", 0)) < self._clock.now():
            raise Refused("UNAUTHORIZED", "The incoming token has expired")
        return claims


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
