"""The rules by which the HTTP servers on this machine check a request before reading it.

Any page that is open in a browser can make the browser send requests to the loopback interface. But the browser always
sends Origin when a script calls another origin, and sends as Host the name that the page was loaded from.

    Foreign host     a host name that resolves to this machine (DNS rebinding), but is not one of its names
    Page             a script, form or image of a page, of any origin but one that the HTTP API is deployed for
    Strange key      a caller without an access key of this run

A rule looks at a request (WSGI's environ) and says why it is refused, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from oncekit.local.access_keys import AccessKeys, credential_of

Environ = Mapping[str, Any]
Rule = Callable[[Environ], str | None]

_OURS = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII)
_WHERE = "http://127.0.0.1:PORT, http://localhost:PORT or http://[::1]:PORT"


def foreign_host(environ: Environ) -> str | None:
    """Refuses who calls this machine by another name than its own ones."""
    host = environ.get("HTTP_HOST")
    if host is not None and _OURS.fullmatch(host):
        return None
    refused = f"the Host of the request is {_quoted(host)}, and the local cloud answers only to {_WHERE}"
    return f"{refused}; for S3, use path-style addresses (boto3 does for these)"


def from_a_page(environ: Environ) -> str | None:
    """Also without Origin: for an image, a script or a form of another site, browsers send Sec-Fetch-Site."""
    if (origin := environ.get("HTTP_ORIGIN")) is not None:
        return f"the request comes from a web page ({_quoted(origin)}); the local cloud answers no web page"
    if environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin"):
        return "the request comes from a web page of another site; the local cloud answers no web page"
    return None


def from_another_page(origin: Callable[[], str | None]) -> Rule:
    """Refuses pages but those of an origin, which is asked for at each request; * is any, None is none."""

    def rule(environ: Environ) -> str | None:
        named, given = origin(), environ.get("HTTP_ORIGIN")
        return None if given is not None and named in (given, "*") else from_a_page(environ)

    return rule


def strange_key(keys: AccessKeys) -> Rule:
    """Refuses a caller without an access key of this run."""

    def rule(environ: Environ) -> str | None:
        credential = credential_of(environ)
        if credential is None:
            what = "the request is not signed"
        elif keys.holder(credential.key) is None:
            what = f"the access key {_quoted(credential.key)} is not of this run of the local cloud"
        else:
            return None
        return f'{what}; for `once up` run `eval "$(once env)"`, in a program take `environment` of the LocalCloud'

    return rule


def refusal(environ: Environ, rules: tuple[Rule, ...]) -> str | None:
    """The reason of the first rule that refuses the request; None accepts it."""
    return next((why for rule in rules if (why := rule(environ)) is not None), None)


def _quoted(value: object) -> str:
    """Short and in ASCII, because it is shown in a message and anybody can have sent it."""
    return ascii(value)[:80]
