"""The access keys of one run: the developer's, and one for each function. They are random: nobody can guess one."""

from __future__ import annotations

import re
import secrets
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oncekit.local.account import REGION
from oncekit.local.permissions.guard import ANYTHING, Caller

DEVELOPER = Caller(ANYTHING, "developer")

# The whole header, from its beginning: moto reads it so, and would otherwise see another service than the guard.
_IN_HEADER = re.compile(r"AWS4-HMAC-SHA256 +Credential=([^/,\s]+)/[^/,\s]*/[^/,\s]*/([^/,\s]+)/aws4_request *(?:,.*)?")


def authorization(key: str, service: str) -> str:
    """The header of a request that is signed with the key, as far as it is read here: the signature itself is not."""
    scope = f"{key}/20000101/{REGION}/{service}/aws4_request"
    return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"


@dataclass(frozen=True)
class AccessKey:
    """The key that a client signs with. Only the id identifies the caller; signatures are not verified here."""

    id: str = field(default_factory=lambda: f"LOCAL{secrets.token_hex(16).upper()}")
    secret: str = field(default_factory=lambda: secrets.token_hex(20))

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.id, "AWS_SECRET_ACCESS_KEY": self.secret}


@dataclass(frozen=True)
class Credential:
    """The access key id with which a request was signed, and the service for which it was signed."""

    key: str
    service: str


class AccessKeys:
    """Random keys, made when the cloud is opened, but for the developer's where it is given. Thread-safe."""

    def __init__(self, own: AccessKey | None = None) -> None:
        self.own = own or AccessKey()
        self._of: dict[Caller, AccessKey] = {}
        self._lock = threading.Lock()

    def of_function(self, name: str, role: str | None) -> AccessKey:
        """The key of a function under this role, the same each time."""
        with self._lock:
            return self._of.setdefault(Caller(role, name), AccessKey())

    def holder(self, key: str) -> Caller | None:
        """The holder of an access key id, also of one that AssumeRole returned; None if it was not made in this run."""
        with self._lock:
            known = {each.id: holder for holder, each in [(DEVELOPER, self.own), *self._of.items()]}
        return known.get(key) or _holder_of_temporary(key)


def _holder_of_temporary(key: str) -> Caller | None:
    """Calls with a key that AssumeRole returned are checked against that role, which the template may not have."""
    if "moto.sts.models" not in sys.modules:  # nobody has called STS
        return None
    from moto.sts.models import sts_backends

    for account in list(sts_backends.values()):
        for backend in list(account.values()):
            for assumed in list(backend.assumed_roles):
                if assumed.access_key_id == key:
                    return Caller(assumed.role_arn, assumed.session_name)
    return None


def credential_of(environ: Mapping[str, Any]) -> Credential | None:
    """The credential in the header of a WSGI request.

    The service is in lower case: moto takes any, and the guard must know it, too.
    """
    signed = _IN_HEADER.fullmatch(environ.get("HTTP_AUTHORIZATION", ""))
    return Credential(signed[1], signed[2].lower()) if signed else None
