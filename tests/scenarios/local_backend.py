"""The local cloud in this process: virtual time, events delivered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from commands import Done, once
from scenarios.backend import TooLateError

from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack, connect
from oncekit.local import LocalCloud, VirtualClock

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

    def __init__(self, cloud: LocalCloud) -> None:
        assert isinstance(cloud.clock, VirtualClock)
        self._cloud = cloud
        self._clock = cloud.clock
        self.stack: Stack = replace(connect(Place("once")), now=self._clock.now)
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

    def once(self, *arguments: str) -> Done:
        return once(lambda *_, **__: self.stack, *arguments)
