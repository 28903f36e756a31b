"""Who may knock: the rules that every HTTP door on this machine holds a request against before it is read.

A browser is a deputy of every page that is open in it: it reaches loopback, and sends what the page says. It cannot
leave out Origin where a script asks across origins, nor say another Host than the name that the page was loaded from.

    Foreign host     a name that leads here by DNS (rebinding) is not the name of this machine
    Page             a script, form or image of a page of whatever origin
    Strange key      a caller that has not got an access key of this run

A rule looks at a request (WSGI's environ) and says why it is refused, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from oncekit.local.access_keys import AccessKeys, credential_of

Environ = Mapping[str, Any]
Rule = Callable[[Environ], str | None]

HOST_OF_CONTAINERS = "host.docker.internal"
"""What a container calls the machine that it runs on."""
_OURS = ("127.0.0.1", "localhost", "[::1]")
_WHERE = "http://127.0.0.1:PORT, http://localhost:PORT or http://[::1]:PORT"


def foreign_host(*others: str) -> Rule:
    """Refuses who calls this machine by another name than its own ones and these."""
    names = "|".join(map(re.escape, (*_OURS, *others)))
    ours = re.compile(rf"(?:{names})(?::\d{{1,5}})?", re.IGNORECASE | re.ASCII)

    def rule(environ: Environ) -> str | None:
        host = environ.get("HTTP_HOST")
        if host is not None and ours.fullmatch(host):
            return None
        refused = f"the Host of the request is {_quoted(host)}, and the local cloud answers only to {_WHERE}"
        return f"{refused}; {_advice(host)}"

    return rule


def _advice(host: object) -> str:
    if str(host).lower().partition(":")[0] == HOST_OF_CONTAINERS:
        return "for a function in a container, start `once up --from-containers`"
    return "for S3, use path-style addresses (boto3 does for these)"


def from_a_page(environ: Environ) -> str | None:
    """Also what has no Origin: browsers tell of an image, a script or a form of another site in Sec-Fetch-Site."""
    if (origin := environ.get("HTTP_ORIGIN")) is not None:
        return f"the request comes from a web page ({_quoted(origin)}), and the local cloud answers to none"
    if environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin"):
        return "the request comes from a web page of another site, and the local cloud answers to none"
    return None


def strange_key(keys: AccessKeys) -> Rule:
    """Refuses who has no access key of this run."""

    def rule(environ: Environ) -> str | None:
        credential = credential_of(environ)
        if credential is None:
            what = "the request is not signed"
        elif keys.holder(credential.key) is None:
            what = f"the access key {_quoted(credential.key)} is not of this run of the local cloud"
        else:
            return None
        return f"{what}; take the export lines that `once up` printed last, or `environment` of the LocalCloud"

    return rule


def every_door(*names: str) -> tuple[Rule, ...]:
    """What a door needs besides a rule of its own about who the caller is; `names` are taken as Host, too."""
    return foreign_host(*names), from_a_page


EVERY_DOOR = every_door()


def refusal(environ: Environ, rules: tuple[Rule, ...]) -> str | None:
    """Why the first rule that is not kept refuses the request; None lets it in."""
    return next((why for rule in rules if (why := rule(environ)) is not None), None)


def _quoted(value: object) -> str:
    """Short and in ASCII: it goes into a message, and comes from who knows whom."""
    return ascii(value)[:80]
