"""The business logic that runs concurrently: moves an amount from one account to another, in two fenced steps."""

from __future__ import annotations

import json
import random
import time
from typing import Any

from once import LockLostError, PermanentError
from once.conditions import Attr
from once.errors import ConditionFailed
from once.lock import Lock
from once.step import Step
from once.step_log import StepLog

from oncekit.proof.concurrency.executions import BusinessError

RECORDS, EFFECTS, ACCOUNTS = "records", "effects", "accounts"
OPENING, ACCOUNT_COUNT = 60, 20
LATE = 5
"""Seconds: a lease of one, and time for another process to come by and take the lock."""


def request_of(number: int) -> str:
    """The request of an id, as JSON."""
    return json.dumps({"operation": "transfer", "idempotencyKey": str(number), "payload": {"number": number}})


class Transfer:
    """The function of the operation `transfer`, with its random aborts."""

    def __init__(self, client: Any, dice: random.Random) -> None:
        self._client = client
        self._dice = dice
        self.aborts = True
        self.late = 0

    @staticmethod
    def amount(number: int) -> int:
        return 10 + number % 50

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """The reply's envelope. Raises BusinessError, as Lambda reports an error."""
        try:
            return {"onceResult": self._transfer(event), "replyToken": event["replyToken"]}
        except (LockLostError, PermanentError) as error:
            raise BusinessError(type(error).__name__, str(error)) from error
        except Exception as error:
            raise BusinessError("Exception", f"{type(error).__name__}: {error}") from error

    def _transfer(self, event: dict[str, Any]) -> str:
        given = event["lock"]
        lock = Lock(given["table"], given["id"], given["owner"], given["fence"], given["leaseExpiresAt"])
        steps = StepLog(lock, self._client)
        number = int(event["payload"]["number"])
        amount, source = self.amount(number), number % ACCOUNT_COUNT
        target = (source + 1 + number // ACCOUNT_COUNT % (ACCOUNT_COUNT - 1)) % ACCOUNT_COUNT

        def take(step: Step) -> str:
            self._effect(step, number, "take")
            step.update(
                ACCOUNTS,
                {"id": f"account-{source}"},
                "SET balance = balance - :amount",
                {":amount": amount},
                condition=Attr("balance").gte(amount),
            )
            return f"taken under fence {lock.fence}"

        def give(step: Step) -> str:
            self._effect(step, number, "give")
            step.update(ACCOUNTS, {"id": f"account-{target}"}, "SET balance = balance + :amount", {":amount": amount})
            return f"given under fence {lock.fence}"

        self._may_abort()
        try:
            taken = steps.run("take", take, f"take {amount}")
        except ConditionFailed as error:
            raise PermanentError("not enough money") from error
        self._may_abort()
        given_ = steps.run("give", give, f"give {amount}")
        self._may_abort()
        return json.dumps([taken, given_])

    def _effect(self, step: Step, number: int, what: str) -> None:
        """Counts the step; the function may sleep here, after it has looked and before it writes, past its lease.

        Only with an Express machine (odd numbers) is the lock taken from an owner that is merely late.
        """
        if self.aborts and number % 2 and self._dice.random() < 0.2:
            time.sleep(LATE)
            self.late += 1
        step.update(EFFECTS, {"id": f"{number}/{what}"}, "ADD n :one", {":one": 1})

    def _may_abort(self) -> None:
        if self.aborts and self._dice.random() < 0.1:
            raise RuntimeError("aborted")
