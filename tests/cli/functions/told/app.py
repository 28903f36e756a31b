"""Business logic that does at each start what LATCHES/script.json says: a print, a step, and an end."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from once import Request, operation
from once.errors import NeedsAttention, PermanentError
from once.step import Step

LATCHES = Path(os.environ["LATCHES"])
ERRORS = {"NeedsAttention": NeedsAttention, "PermanentError": PermanentError}


@operation()
def handler(request: Request) -> Any:
    with (LATCHES / "starts").open("a") as log:
        log.write(f"{request.attempt}\n")
    script = json.loads((LATCHES / "script.json").read_text())
    do = script[min(len((LATCHES / "starts").read_text().splitlines()), len(script)) - 1]
    if "pending" in do:
        return request.pending(do["pending"])
    if "print" in do:
        print(do["print"])
    if "step" in do:
        request.step("note", lambda step: write(step, do["step"]))
    if "await" in do:
        end = time.monotonic() + 20
        while not (LATCHES / do["await"]).exists() and time.monotonic() < end:
            time.sleep(0.005)
    if "exit" in do:
        os._exit(do["exit"])
    if "raise" in do:
        raise ERRORS[do["raise"]]("as the script says")
    return do["return"]


def write(step: Step, order: str) -> str:
    step.put(os.environ["ORDERS"], {"orderId": order})
    return order
