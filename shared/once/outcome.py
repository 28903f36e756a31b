"""What a request of the direct lane came to, and why one was refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from once.errors import OnceError
from once.result import JSON
from once.result_store import ResultRef, ResultStore

RETRY_AFTER: Final = "2"
"""Seconds."""
_PROBLEMS: Final = {
    "InvalidRequest": (400, "invalid-request", "The request is not valid"),
    "PayloadMismatch": (422, "payload-mismatch", "The key belongs to another payload"),
    "Unavailable": (503, "unavailable", "The result is not known yet: send the same request again, with the same key"),
    "InProgress": (409, "in-progress", "The operation is in progress"),
    "NeedsAttention": (500, "needs-attention", "An operator has to decide how the operation ends"),
    "LockLost": (500, "lock-lost", "There is no result to give any more"),
}
"""As Once's own API answers: status, the last word of the type, title."""


class Refused(OnceError):
    """Raised before the lock: whoever sent the request may send it again with the same key.

    `name` is InvalidRequest (the message says which field is wrong), PayloadMismatch (the key belongs to another
    payload) or Unavailable (table or bucket could not be reached, so it is unknown whether it has begun; or there is
    too little time). The log has the reason.
    """

    def __init__(self, name: str, reason: str, *, is_for_senders: bool = True) -> None:
        super().__init__(f"{name}: {reason}")
        self.name, self.reason, self._is_for_senders = name, reason, is_for_senders

    def http(self) -> dict[str, Any]:
        """An answer for API Gateway, as `Outcome.http`."""
        # What AWS says of roles and tables is for the log.
        return _problem(self.name, self.reason if self._is_for_senders else None, None)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an operation has no result."""

    name: str
    """PermanentError: it failed for good. NeedsAttention: an operator decides. LockLost: an operator ended it."""
    message: str
    status: int | None = None
    """For senders by HTTP, if business logic gave one."""


Disposition: TypeAlias = Literal["EXECUTED", "REPLAYED", "IN_PROGRESS"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request came to. `disposition` is EXECUTED (by this call), REPLAYED (before) or IN_PROGRESS."""

    id: str
    disposition: Disposition
    attempt: int
    error: Failure | None = None
    """None for a result, and while it is in progress."""
    text: str | None = field(default=None, repr=False)
    """The result as JSON text, if the record has it."""
    ref: ResultRef | None = None
    """Where a large result is."""

    @property
    def result(self) -> JSON:
        """The result; a large one is read from the bucket. None while there is none."""
        text = self.body
        return None if text is None else json.loads(text)

    @property
    def body(self) -> str | None:
        """The result, byte for byte as it was stored."""
        return ResultStore.read(self.ref) if self.ref is not None else self.text

    def http(self, *, status: int = 200, reject: bool = False) -> dict[str, Any]:
        """An answer of a REST or HTTP API (proxy integration, either version): status, headers and body.

        `status` with the result, 202 while it is in progress (409 with `reject`), the failure's own status or 422, and
        500 if only an operator can say how it ends; 503 if a large result cannot be read now. Every error is a problem
        document (RFC 9457).
        """
        headers = {"Once-Id": quote(self.id, safe="#"), "Once-Attempt": str(self.attempt)}
        if self.disposition == "REPLAYED":
            headers["Idempotent-Replayed"] = "true"
        if self.disposition == "IN_PROGRESS":
            if reject:
                return _problem("InProgress", None, self.id, headers)
            told = json.dumps({"status": "IN_PROGRESS", "id": self.id}, separators=(",", ":"))
            return _answer(202, told, {**headers, "Retry-After": RETRY_AFTER})
        if self.error is None:
            from botocore.exceptions import BotoCoreError, ClientError  # whoever made this has loaded it

            try:
                return _answer(status, self.body or "null", headers)
            except (ClientError, BotoCoreError):
                return _problem("Unavailable", None, self.id, headers)
        if self.error.name in _PROBLEMS:  # what went wrong is for operators
            return _problem(self.error.name, None, self.id, headers)
        return _problem(self.error.name, self.error.message, self.id, headers, self.error.status or 422)


def _problem(
    name: str, detail: str | None, id: str | None, headers: Mapping[str, str] | None = None, status: int = 0
) -> dict[str, Any]:
    known, kind, title = _PROBLEMS.get(name, (status, "operation-failed", "The operation failed for good"))
    more = {"Retry-After": RETRY_AFTER} if known in (409, 503) else {}
    told = {"type": f"urn:problem-type:once:{kind}", "title": title, "status": known, "detail": detail, "id": id}
    body = json.dumps({key: value for key, value in told.items() if value is not None}, separators=(",", ":"))
    return _answer(known, body, {**(headers or {}), **more, "Content-Type": "application/problem+json"})


def _answer(status: int, body: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {"statusCode": status, "headers": {"Content-Type": "application/json", **headers}, "body": body}
