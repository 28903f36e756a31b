"""DynamoDB as the steps of one attempt call it, with what becomes of each call."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError
from once import Request
from once.clients import client
from once.step_log import StepLog

Event = dict[str, Any]
Attempt = Callable[..., Request]
"""The fixture: an attempt that has just been given the lock, by its fence and its key."""
Rows = Callable[[str], list[dict[str, Any]]]
Call = Callable[[], Any]
Fate = Callable[[Call], Any]
"""What becomes of a call, which it may make."""

TIMEOUT = ReadTimeoutError(endpoint_url="https://dynamodb")


def refusal(code: str, status: int = 400, *reasons: str) -> ClientError:
    """DynamoDB's error; `reasons` are those of a cancelled transaction, the record's first."""
    answer: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    if reasons:
        answer["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return ClientError(answer, "TransactWriteItems")


SERVER_ERROR = refusal("InternalServerError", 500)
CONFLICT = refusal("TransactionCanceledException", 400, "None", "TransactionConflict", "None")


def never_arrives(error: Exception = TIMEOUT) -> Fate:
    def fate(call: Call) -> Any:
        raise error

    return fate


def answer_is_lost(error: Exception = TIMEOUT) -> Fate:
    def fate(call: Call) -> Any:
        call()
        raise error

    return fate


class Wire:
    """A client whose transactions, and calls of other operations by their name, have these fates; then all is well."""

    def __init__(self, *transactions: Fate, **others: list[Fate]) -> None:
        self.fates: dict[str, list[Fate]] = {"transact_write_items": list(transactions), **others}
        self.calls: list[str] = []
        self.tokens: list[str] = []
        self.sent: list[Call] = []
        """The transactions, to be delivered once more."""
        self.pauses: list[float] = []

    def __getattr__(self, name: str) -> Any:
        def call(**parameters: Any) -> Any:
            def made() -> Any:
                return getattr(client("dynamodb"), name)(**parameters)

            self.calls.append(name)
            assert len(self.calls) < 100, "what should end goes on"
            # Read otherwise, a record may be an old one: with a lock that is gone, without a step that is done.
            assert name != "get_item" or parameters["ConsistentRead"] is True
            if name == "transact_write_items":
                self.tokens.append(parameters["ClientRequestToken"])
                # Under a token of its own: what is ten minutes late is another transaction to DynamoDB.
                late = {**parameters, "ClientRequestToken": str(uuid.uuid4())}
                self.sent.append(lambda: client("dynamodb").transact_write_items(**late))
            fates = self.fates.get(name)
            return fates.pop(0)(made) if fates else made()

        return call

    def log(self, request: Request) -> StepLog:
        return StepLog(request.lock, self, pause=self.pauses.append, uniform=lambda low, high: high - low)  # type: ignore[arg-type]  # a client but for its faults
