"""Business logic that does what its payload says, attempt by attempt; each start leaves a line in GATES/starts."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

GATES = Path(os.environ["GATES"])
MOST_SECONDS_AT_A_GATE = 20


def handler(event: dict[str, Any], _context: object) -> Any:
    with (GATES / "starts").open("a") as log:
        log.write(f"{event['lock']['id']} {event['attempt']}\n")
    script = event["payload"]["script"]
    return perform(script[min(event["attempt"], len(script)) - 1])


def perform(step: dict[str, Any]) -> Any:
    if "await" in step:
        end = time.monotonic() + MOST_SECONDS_AT_A_GATE
        while not (GATES / step["await"]).exists():
            if time.monotonic() > end:
                raise TimeoutError(f"nobody opened the gate {step['await']}")
            time.sleep(0.005)
        return perform(step["then"])
    if "unless" in step:
        return perform(step["else" if (GATES / step["unless"]).exists() else "then"])
    if "sleep" in step:
        time.sleep(step["sleep"])
        return perform(step.get("then", {"return": None}))
    if "exit" in step:
        os._exit(step["exit"])
    if "raise" in step:
        raise type(step["raise"], (Exception,), {})(step.get("message", "as the script says"))
    if "repeat" in step:
        return step["repeat"] * step["times"]
    return step["return"]
