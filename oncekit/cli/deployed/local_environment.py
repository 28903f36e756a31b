"""What a developer has set for real accounts must not lead calls of the local cloud away, nor what signs them."""

from __future__ import annotations

import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

from oncekit.cli.problem import Problem

SERVICES = (
    "CLOUDFORMATION",
    "CLOUDWATCH",
    "CLOUDWATCH_LOGS",
    "DYNAMODB",
    "EVENTBRIDGE",
    "IAM",
    "KMS",
    "LAMBDA",
    "PIPES",
    "S3",
    "SCHEDULER",
    "SFN",
    "SNS",
    "SQS",
    "STS",
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
    *(f"AWS_ENDPOINT_URL_{service}" for service in SERVICES),
)
"""Variables of a terminal that would lead a client of the local cloud elsewhere, or hand it secrets of elsewhere."""


def local_endpoint() -> str | None:
    """AWS_ENDPOINT_URL where it leads to this machine; None where calls go to AWS, or to whoever it names."""
    url = os.environ.get("AWS_ENDPOINT_URL")
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:
        return None
    return url if host == "localhost" or _is_loopback(host) else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def unconfigured() -> Any:
    """A botocore session that knows nothing of what is configured on this machine for real accounts."""
    import botocore.session

    session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})  # no variable names one
    for file in ("config_file", "credentials_file"):
        session.set_config_variable(file, os.devnull)
    for switch in ("use_fips_endpoint", "use_dualstack_endpoint"):
        session.set_config_variable(switch, False)
    return session


def local_key(profile: str | None) -> dict[str, str]:
    """The access key of the local cloud, and no token beside it, as arguments of `boto3.Session`.

    Raises Problem when there is none, or when a profile is asked for.
    """
    if profile is not None:
        raise Problem(f"--profile {profile}: AWS_ENDPOINT_URL points to the local cloud, which has no profiles")
    key, secret = (os.environ.get(name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if not key or not secret:
        raise Problem('AWS_ENDPOINT_URL points to the local cloud, whose key is missing: run `eval "$(once env)"`')
    return {"aws_access_key_id": key, "aws_secret_access_key": secret}
