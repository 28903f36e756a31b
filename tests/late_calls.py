"""Faults of calls that only tests need: a call that arrives later, and a false answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any, Unpack

from botocore.exceptions import BotoCoreError, ClientError

from oncekit.local.engine.interceptors import Select, Selection, lost
from oncekit.local.engine.service_calls import Call, Interceptor

Proceed = Callable[[], dict[str, Any]]


class Late:
    """The connection breaks, and the call arrives all the same: just before a later call `until`, of any execution.

    A call of a function cannot be late in this way: it belongs to its execution.
    """

    def __init__(self, until: Select, **select: Unpack[Select]) -> None:
        self._struck = Selection(select)
        self._later = Selection(until)
        self._held: list[Proceed] = []
        self._lock = threading.Lock()

    def __call__(self, call: Call, proceed: Proceed) -> dict[str, Any]:
        if self._held and self._later.strikes(call):
            self.arrive()
            return proceed()
        if not self._struck.strikes(call):
            return proceed()
        with self._lock:
            self._held.append(proceed)
        raise lost(call)

    def arrive(self) -> None:
        """Make the delayed calls; nobody gets their answers."""
        with self._lock:
            held, self._held = self._held, []
        for proceed in held:
            with suppress(ClientError, BotoCoreError):
                proceed()


def answers(answer: dict[str, Any], **select: Unpack[Select]) -> Interceptor:
    """The service is not called; the answer is a false one."""
    struck = Selection(select)
    # A copy: its receiver may change what it is given.
    return lambda call, proceed: deepcopy(answer) if struck.strikes(call) else proceed()
