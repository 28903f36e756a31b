"""Who is let in: on this machine, by the address that was printed, and changes only from the page itself.

Host       the name that the caller uses is one of this machine (no DNS rebinding)
site       no script, form, frame or image of another site; a link that somebody follows is let in
key        the address that was printed has a key, which becomes a cookie: other users of this machine have none
token      what changes something carries a token that only the page knows, and comes from the page's own origin
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field

from werkzeug.wrappers import Request

from oncekit.local.request_rules import foreign_host

_host = foreign_host()


def _secret() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Guard:
    """The secrets of one server, and what they open."""

    port: int
    key: str = field(default_factory=_secret, repr=False)
    token: str = field(default_factory=_secret, repr=False)

    @property
    def cookie(self) -> str:
        """Cookies are of a host, whatever the port: each console has a name of its own."""
        return f"once-console-{self.port}"

    def refusal(self, request: Request) -> str | None:
        """Why the request is not answered; None where it is."""
        return self._stranger(request) or self._keyless(request) or self._change(request)

    def brings_key(self, request: Request) -> bool:
        """Whether somebody followed the address that was printed."""
        return _same(request.args.get("key", ""), self.key)

    def _stranger(self, request: Request) -> str | None:
        if _host(request.environ) is not None:
            return "this console answers only to the names of this machine: open the address that was printed"
        followed = request.method == "GET" and request.headers.get("Sec-Fetch-Dest", "document") == "document"
        site = request.headers.get("Sec-Fetch-Site", "none")
        if site not in ("none", "same-origin") and not followed:
            return "the request comes from another site"
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            return "the request comes from a page of another origin"
        return None

    def _keyless(self, request: Request) -> str | None:
        if self.brings_key(request) or _same(request.cookies.get(self.cookie, ""), self.key):
            return None
        return "open the address that the command printed: it has the key to this console"

    def _change(self, request: Request) -> str | None:
        if request.method in ("GET", "HEAD"):
            return None
        if not _same(request.form.get("token", ""), self.token):
            return "the page is of another run of the console: reload it"
        return None


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())
