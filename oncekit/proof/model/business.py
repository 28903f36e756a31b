"""Business logic in the model: one fenced step of the library, done in one go; or it starts work elsewhere.

What happens between the calls of a step is held by the tests of the library; here it is whether the lock is checked.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from once.errors import LockLostError
from once.request import Request
from once.result import pending_envelope
from once.step import Step
from once.step_log import StepLog

from oncekit.proof.model.record import LEDGER, Record, Table, as_json, parsed

LOST = "LockLostError"


ELSEWHERE = {"elsewhere": True}
"""A payload whose business logic may start work elsewhere."""


@functools.lru_cache(100_000)
def pending(event: str) -> str:
    """The reply of a function that has started work elsewhere (JSON)."""
    request = Request.from_event(parsed(event))
    return as_json(pending_envelope(request.pending(60), request.reply_token))


@functools.lru_cache(100_000)
def charged(table: Table, record: Record, ledger: int, event: str) -> tuple[Record, int, str]:
    """Record, ledger and the function's reply (JSON), or LOST."""
    request = Request.from_event(parsed(event))

    def write(step: Step) -> str:
        step.update(LEDGER, {"id": "effect"}, "ADD n :one", {":one": 1})
        return f"charged under fence {request.lock.fence}"

    def code(client: Any) -> str:
        steps = StepLog(request.lock, client, pause=lambda _: None, uniform=lambda low, _: low)
        try:
            result = steps.run("charge", write, "charge")
        except LockLostError:
            return LOST
        return as_json({"onceResult": json.dumps(result), "replyToken": request.reply_token})

    return table.used(record, ledger, code)
