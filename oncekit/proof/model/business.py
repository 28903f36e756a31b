"""Business logic in the model: one fenced step of the library, done in one go.

What happens between the calls of a step is held by the tests of the library; here it is whether the lock is checked.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from once.errors import LockLostError
from once.lock import Lock
from once.step import Step
from once.step_log import StepLog

from oncekit.proof.model.record import LEDGER, Record, Table, as_json, parsed

LOST = "LockLostError"


@functools.lru_cache(100_000)
def charged(table: Table, record: Record, ledger: int, event: str) -> tuple[Record, int, str]:
    """Record, ledger and the function's reply (JSON), or LOST."""
    given = parsed(event)
    lock = Lock(*(given["lock"][name] for name in ("table", "id", "owner", "fence", "leaseExpiresAt")))

    def write(step: Step) -> str:
        step.update(LEDGER, {"id": "effect"}, "ADD n :one", {":one": 1})
        return f"charged under fence {lock.fence}"

    def code(client: Any) -> str:
        steps = StepLog(lock, client, pause=lambda _: None, uniform=lambda low, _: low)
        try:
            result = steps.run("charge", write, "charge")
        except LockLostError:
            return LOST
        return as_json({"onceResult": json.dumps(result), "replyToken": given["replyToken"]})

    return table.used(record, ledger, code)
