"""A deployed stack: on AWS, or in `once up` when AWS_ENDPOINT_URL names it. Time is real, and every wait is bounded."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from commands import Done
from scenarios.backend import TooLateError
from scenarios.fast_lane import Look, started_synchronously

from oncekit.stack.stack import Stack

Found = TypeVar("Found")
FIRST_LOOK, LAST_LOOK = 0.2, 2.0
"""Seconds between looks: DescribeExecution is limited to some ten a second, for everybody in the account."""
COMMAND_SECONDS = 60


class AwsBackend:
    look_seconds = 0.1
    receive_seconds = 1

    def __init__(self, stack: Stack, profile: str | None, region: str | None) -> None:
        self.stack = stack
        self.has_host_prefixes = ".amazonaws.com" in stack.client("stepfunctions").meta.endpoint_url
        self.function_seconds = stack.number("BusinessTimeoutSeconds")
        self._place = ["--stack", stack.name]
        self._place += ["--profile", profile] if profile else []
        self._place += ["--region", region] if region else []

    def until(self, look: Callable[[], Found | None], within: float, what: str) -> Found:
        end, pause = time.monotonic() + within, FIRST_LOOK
        while (found := look()) is None:
            if time.monotonic() > end:
                raise TooLateError(f"{what}: not within {within:g} s")
            time.sleep(pause)
            pause = min(pause * 1.5, LAST_LOOK)
        return found

    def start_in_fast_lane(self, name: str, text: str) -> Look:
        return started_synchronously(self.stack, name, text, self.has_host_prefixes)

    def once(self, *arguments: str) -> Done:
        command = [sys.executable, "-c", "from oncekit.cli.main import main; main()", *arguments, *self._place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        return Done(done.returncode, done.stdout, done.stderr)
