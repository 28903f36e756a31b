"""The error of a function that `sam local invoke` runs by itself, when it cannot reach its table or bucket.

On AWS, the error of AWS explains a failed call. Here there is nearly always one of three reasons: there are no
credentials, they are not valid, or the name is a logical id, because no deployed stack gave the real one.
"""

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.exceptions import HTTPClientError, NoCredentialsError, PartialCredentialsError

from once.errors import OutOfReachError

if TYPE_CHECKING:
    from botocore.client import BaseClient

NOT_THERE = ("ResourceNotFoundException", "NoSuchBucket")
NOT_LET_IN = ("UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId", "SignatureDoesNotMatch")
EXPIRED = ("ExpiredToken", "ExpiredTokenException")
REFUSED = (*NOT_THERE, *NOT_LET_IN, *EXPIRED, "AccessDenied", "AccessDeniedException", "403")
UNREACHED = (NoCredentialsError, PartialCredentialsError, NoConnectionError, HTTPClientError)
ADVICE = (
    "a function that runs alone needs credentials, and the names of a deployed stack "
    "(sam local invoke --env-vars FILE); `once run EVENT` needs neither"
)


def explain(client: "BaseClient") -> None:
    """Makes calls of the client that cannot reach their table or bucket raise OutOfReachError, with name and reason."""

    def remember(params: Any, context: dict[str, Any], **_: object) -> None:
        context["once_target"] = params.get("TableName") or params.get("Bucket") or "what it is for"

    def answered(parsed: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        error = parsed.get("Error", {})
        if error.get("Code") in REFUSED:
            raise out_of_reach(context, f"{error['Code']}: {error.get('Message')}")

    def not_answered(exception: Exception, context: dict[str, Any], **_: object) -> None:
        if isinstance(exception, UNREACHED):
            raise out_of_reach(context, f"{type(exception).__name__}: {exception}") from exception

    events = client.meta.events
    events.register("before-parameter-build", remember)
    events.register("after-call", answered)
    events.register("after-call-error", not_answered)


def out_of_reach(context: dict[str, Any], why: str) -> OutOfReachError:
    return OutOfReachError(f"{context['once_target']} is out of reach: {why}; {ADVICE}")
