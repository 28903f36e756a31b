"""The local cloud in this process: virtual time, events delivered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from commands import Done, Sessions, once
from scenarios.backend import TooLateError
from scenarios.fast_lane import Look

from oncekit.local import LocalCloud, VirtualClock
from oncekit.stack.session import Place
from oncekit.stack.stack import Stack, connect

Found = TypeVar("Found")
MOMENT = 0.02
"""Real seconds to wait for running work to end; after that it is checked again."""
STRIDE = 5.0
"""Virtual seconds that pass when nothing is at work."""
MOST_REAL_SECONDS = 60.0


class LocalBackend:
    look_seconds = 0.01
    receive_seconds = 0
    has_host_prefixes = False
    _sessions = Sessions()

    def __init__(self, cloud: LocalCloud) -> None:
        assert isinstance(cloud.clock, VirtualClock)
        self._cloud = cloud
        self._clock = cloud.clock
        self.stack: Stack = replace(connect(Place("once"), open_session=self._sessions.at), now=self._clock.now)
        self.function_seconds = self.stack.number("BusinessTimeoutSeconds")

    def until(self, look: Callable[[], Found | None], within: float, what: str) -> Found:
        """Time passes only while nothing is at work: until then, what is looked for may still come by itself."""
        end, real_end = self._clock.now() + within, time.monotonic() + MOST_REAL_SECONDS
        while (found := look()) is None:
            try:
                self._cloud.settle(MOMENT)
            except TimeoutError:
                if time.monotonic() > real_end:
                    raise TooLateError(f"{what}: not after {MOST_REAL_SECONDS:g} real seconds") from None
                continue
            if (found := look()) is not None:
                break
            if self._clock.now() > end:
                raise TooLateError(f"{what}: not within {within:g} s")
            self._clock.advance(STRIDE)
        return found

    def start_in_fast_lane(self, name: str, text: str) -> Look:
        """Not synchronously: time would go on before the thread that waits has made its call."""
        arn = self._cloud.start_machine(self.stack.outputs["FastStateMachineAliasArn"], text, name)

        def look() -> Mapping[str, Any] | None:
            seen = self._cloud.describe(arn)
            if seen.status == "RUNNING":
                return None
            told = {"output": json.dumps(seen.output or {}), "error": seen.error, "cause": seen.cause or ""}
            return {"executionArn": arn, "status": seen.status, **told}

        return look

    def once(self, *arguments: str) -> Done:
        return once(lambda *_, **__: self.stack, *arguments)
