"""Reports its environment, and ends in every way in which a function can end."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def handler(event: dict[str, Any], context: Any) -> Any:
    return ACTIONS[event.get("do", "echo")](event, context)


def say(event: dict[str, Any], _context: Any) -> None:
    print(event["line"])
    print(event["line"].upper(), file=sys.stderr, end=event.get("end", "\n"))


def hold_lock_forever(event: dict[str, Any], _context: Any) -> None:
    """It, and a process that it starts, hold a lock on a file for as long as they live."""
    with Path(event["lock"]).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        subprocess.Popen(command, pass_fds=[lock.fileno()], start_new_session=event.get("apart", False))
        Path(event["ready"]).touch()
        time.sleep(60)


def wait_for(event: dict[str, Any], _context: Any) -> int:
    Path(event["ready"]).touch()
    end = time.monotonic() + 20
    while not Path(event["latch"]).exists() and time.monotonic() < end:
        time.sleep(0.005)
    return os.getpid()


def fail(event: dict[str, Any], _context: Any) -> None:
    raise ValueError(event["message"])


def tell_context(_event: dict[str, Any], context: Any) -> dict[str, Any]:
    return {
        "arn": context.invoked_function_arn,
        "request_id": context.aws_request_id,
        "left": context.get_remaining_time_in_millis(),
        "memory": context.memory_limit_in_mb,
        "version": context.function_version,
    }


ACTIONS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "echo": lambda event, _: event,
    "pid": lambda *_: os.getpid(),
    "variables": lambda *_: dict(os.environ),
    "path": lambda *_: sys.path,
    "modules": lambda *_: sorted(sys.modules),
    "context": tell_context,
    "say": say,
    "fail": fail,
    "return bytes": lambda event, _: "x" * (event["bytes"] - 2),
    "return a set": lambda *_: {1},
    "sleep": lambda *_: time.sleep(60),
    "exit": lambda event, _: os._exit(event["code"]),
    "die": lambda *_: os.kill(os.getpid(), signal.SIGSEGV),
    "wait": wait_for,
    "hold": hold_lock_forever,
}
