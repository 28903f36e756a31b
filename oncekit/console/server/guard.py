"""Who is let in: on this machine, by the address that was printed, and changes only from the page itself.

Host     the name that the caller uses is one of this machine (no DNS rebinding)
site     no script, form, frame or image of another site or port; a link that somebody follows is let in
key      the address that was printed has a key, which becomes a cookie that no script reads
origin   what changes something says that it comes from this console's own pages, as browsers do by themselves
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field

from werkzeug.wrappers import Request

from oncekit.local.endpoint.request_rules import foreign_host


def new_key() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Guard:
    """The key of one server, and what it opens."""

    port: int
    key: str = field(default_factory=new_key, repr=False)

    @property
    def cookie(self) -> str:
        """Cookies are of a host, whatever the port: each console has a name of its own."""
        return f"once-console-{self.port}"

    def refusal(self, request: Request) -> str | None:
        """Why the request is not answered; None where it is."""
        if foreign_host(request.environ) is not None:
            return "this console answers only to the names of this machine: open the address that was printed"
        changes = request.method not in ("GET", "HEAD")
        followed = not changes and request.headers.get("Sec-Fetch-Dest", "document") == "document"
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and not followed:
            return "the request comes from another site"
        own = f"http://{request.host}"
        if request.headers.get("Origin", None if changes else own) != own:
            return "the request comes from a page of another origin"
        if not self.brings_key(request) and not _same(request.cookies.get(self.cookie, ""), self.key):
            return "open the address that the command printed: it has the key to this console"
        return None

    def brings_key(self, request: Request) -> bool:
        """Whether somebody followed the address that was printed."""
        return request.method == "GET" and _same(request.args.get("key", ""), self.key)


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())
