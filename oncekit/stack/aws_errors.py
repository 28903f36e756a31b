"""What AWS, the network and the credentials refuse, as problems that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oncekit.problem import Problem

THROTTLED = ("TooManyRequestsException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "SlowDown")
BAD_CREDENTIALS = ("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException")
ADVICE = {
    "NoCredentialsError": 'log in, give --profile, or for `once up` run `eval "$(once env)"`',
    "PartialCredentialsError": "log in, or give --profile",
    "NoRegionError": 'give --region, or for `once up` run `eval "$(once env)"`',
    "ProfileNotFound": "see `aws configure list-profiles`",
    "EndpointConnectionError": "is `once up` running, if AWS_ENDPOINT_URL is set?",
    "ConnectTimeoutError": "is `once up` running, if AWS_ENDPOINT_URL is set?",
}
"""What to do about botocore's own errors, by their class."""


def is_denied(code: str) -> bool:
    """Whether an error code says that a permission is missing."""
    return "AccessDenied" in code or code.startswith("Unauthorized")


def _advice(code: str) -> str:
    if code in BAD_CREDENTIALS:
        return "; log in again, or give --profile"
    if is_denied(code):
        return "; use a profile that may do this (--profile)"
    return "; AWS is throttling: try again in a moment" if "Throttl" in code or code in THROTTLED else ""


@contextmanager
def clear_aws_errors(about: str = "") -> Iterator[None]:
    """What AWS, the network and the credentials refuse, as problems of one line that name what it was about."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    prefix = f"{about}: " if about else ""
    try:
        yield
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        text = " ".join(f"{error.operation_name}: {code}: {message}".split())
        raise Problem(prefix + text + _advice(code)) from error
    except ResponseParserError as error:
        raise Problem(f"{prefix}the answer is not from AWS; does AWS_ENDPOINT_URL name another server?") from error
    except BotoCoreError as error:
        advice = ADVICE.get(type(error).__name__)
        text = " ".join(str(error).split()).rstrip(".")
        raise Problem(prefix + text + (f"; {advice}" if advice else "")) from error
