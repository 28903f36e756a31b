"""Sessions for AWS, or for the local cloud when AWS_ENDPOINT_URL names it.

What a developer has set for real accounts must not lead calls of the local cloud away, nor sign them.
"""

from __future__ import annotations

import ipaddress
import os
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from oncekit.problem import Problem

_SERVICES = (
    *("CLOUDFORMATION", "CLOUDWATCH", "CLOUDWATCH_LOGS", "DYNAMODB", "EVENTBRIDGE", "IAM", "KMS", "LAMBDA", "PIPES"),
    *("S3", "SCHEDULER", "SFN", "SNS", "SQS", "STS"),
)
"""As botocore writes them in AWS_ENDPOINT_URL_<SERVICE>, which wins over AWS_ENDPOINT_URL."""
LED_ELSEWHERE = (
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    *(f"AWS_ENDPOINT_URL_{service}" for service in _SERVICES),
)
"""Variables of a terminal that would lead a client of the local cloud elsewhere, or hand it secrets of elsewhere."""


@dataclass(frozen=True)
class Place:
    """A stack by its name, and how it is reached: None leaves profile and region to the environment."""

    stack: str
    profile: str | None = None
    region: str | None = None


def local_endpoint() -> str | None:
    """AWS_ENDPOINT_URL where it leads to this machine; None where calls go to AWS, or to whoever it names."""
    url = os.environ.get("AWS_ENDPOINT_URL")
    try:
        host = urlsplit(url or "").hostname or ""
        return url if host == "localhost" or ipaddress.ip_address(host).is_loopback else None
    except ValueError:
        return None


def session_at(place: Place) -> Any:
    """A boto3 session for the stack at a place. Raises Problem where the local cloud's key is missing."""
    import boto3
    import botocore.session
    from botocore.config import Config

    is_local = local_endpoint() is not None
    core = _unconfigured() if is_local else botocore.session.Session(profile=place.profile)
    retries = {"mode": "standard", "total_max_attempts": 4}
    # No proxy for the local cloud: what is signed for it stays on this machine.
    way = Config(retries=retries, connect_timeout=5, read_timeout=30, proxies={} if is_local else None)  # type: ignore[arg-type]
    core.set_default_client_config(way)
    key = _local_key(place.profile) if is_local else {}
    return boto3.Session(botocore_session=core, region_name=place.region, **key)


def _unconfigured() -> Any:
    """A botocore session that knows nothing of what is configured on this machine for real accounts."""
    import botocore.session

    session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})  # no variable names one
    for file in ("config_file", "credentials_file"):
        session.set_config_variable(file, os.devnull)
    for switch in ("use_fips_endpoint", "use_dualstack_endpoint"):
        session.set_config_variable(switch, False)
    return session


def _local_key(profile: str | None) -> dict[str, str]:
    """The access key of the local cloud, and no token beside it, as arguments of `boto3.Session`."""
    if profile is not None:
        raise Problem(f"--profile {profile}: AWS_ENDPOINT_URL points to the local cloud, which has no profiles")
    key, secret = (os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if not key or not secret:
        raise Problem('AWS_ENDPOINT_URL points to the local cloud, whose key is missing: run `eval "$(once env)"`')
    return {"aws_access_key_id": key, "aws_secret_access_key": secret}


class CloudClock:
    """The clock of the local cloud, which its console moves ahead and never back: by the dates of its answers."""

    def __init__(self) -> None:
        self._ahead = 0

    def hear(self, http_response: Any, **_: Any) -> None:
        """A handler of botocore's event `after-call`. A date is a moment in the second that it names."""
        told = parsedate_to_datetime(http_response.headers["Date"]).timestamp() + 0.5
        self._ahead = max(self._ahead, round(told - time.time()))

    def now(self) -> float:
        return time.time() + self._ahead
