"""Business logic that does what its payload says, attempt by attempt; each start leaves a line in LATCHES/starts."""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import Any

LATCHES = Path(os.environ["LATCHES"])
MOST_SECONDS_AT_A_LATCH = 20


def handler(event: dict[str, Any], _context: object) -> Any:
    with (LATCHES / "starts").open("a") as log:
        log.write(f"{event['lock']['id']} {event['attempt']}\n")
    script = event["payload"]["script"]
    step = script[min(event["attempt"], len(script)) - 1]
    if "pending" in step:
        return {"replyToken": event["replyToken"], "oncePending": step["pending"]}
    return perform(step)


def perform(step: dict[str, Any]) -> Any:
    if "await" in step:
        end = time.monotonic() + MOST_SECONDS_AT_A_LATCH
        while not (LATCHES / step["await"]).exists():
            if time.monotonic() > end:
                raise TimeoutError(f"nobody opened the latch {step['await']}")
            time.sleep(0.005)
        return perform(step["then"])
    if "unless" in step:
        return perform(step["else" if (LATCHES / step["unless"]).exists() else "then"])
    if "sleep" in step:
        time.sleep(step["sleep"])
        return perform(step.get("then", {"return": None}))
    if "exit" in step:
        os._exit(step["exit"])
    if "raise" in step:
        raise type(step["raise"], (Exception,), {})(step.get("message", "as the script says"))
    if "no JSON" in step:
        return {"paidAt": datetime.datetime(2026, 11, 26), "amount": step["no JSON"]}
    if "repeat" in step:
        return step["repeat"] * step["times"]
    return step["return"]
