"""A call of the stack's API, signed with the credentials of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from oncekit.cli.deployed.stack import Stack

LONGEST_SECONDS = 35
"""A little more than API Gateway takes before it answers."""


@dataclass(frozen=True)
class Answer:
    """What the API answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def call(stack: Stack, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """A call of the API, signed."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.httpsession import URLLib3Session
    from botocore.utils import get_environ_proxies

    unsigned = AWSRequest(method, stack.outputs["RequestApiUrl"] + path, dict(headers), body)
    SigV4Auth(stack.session.get_credentials(), "execute-api", stack.session.region_name).add_auth(unsigned)
    # No proxy for the local cloud, as for other calls.
    proxies = None if stack.endpoint_url else get_environ_proxies(str(unsigned.url))
    answer = URLLib3Session(timeout=LONGEST_SECONDS, proxies=proxies).send(unsigned.prepare())
    given = {str(name).lower(): str(value) for name, value in answer.headers.items()}
    return Answer(answer.status_code, given, answer.content)
