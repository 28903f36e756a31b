"""Time in the interpreter: waits, retry delays and every timestamp come from the clock."""

from __future__ import annotations

import datetime
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from moto.stepfunctions.parser import models
from moto.stepfunctions.parser.asl.component.common.retry import jitter_strategy_decl, retrier_decl
from moto.stepfunctions.parser.asl.component.state import state
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventManager
from moto.stepfunctions.parser.backend import execution

from local.clock import Clock
from local.engine.patching import replaced


def stopped(env: Any) -> threading.Event:
    """Is set when the execution is stopped, also while one of its functions runs."""
    event: threading.Event = vars(env).setdefault("stopped", threading.Event())
    return event


@contextmanager
def mend(clock: Clock, seed: int = 0) -> Iterator[None]:
    def now(*_args: Any, **_kwargs: Any) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)

    shim = SimpleNamespace(datetime=SimpleNamespace(now=now), timezone=datetime.timezone)
    stop = Environment.set_stop

    def set_stop(self: Any, *args: Any, **kwargs: Any) -> None:
        stop(self, *args, **kwargs)
        stopped(self).set()
        clock.wake()

    def wait_interval(_self: Any, env: Any, wait_seconds: float) -> None:
        if wait_seconds > 0:
            clock.sleep(wait_seconds, env.is_running)

    with replaced(
        (WaitFunction, "_wait_interval", wait_interval),
        (retrier_decl, "time", SimpleNamespace(sleep=clock.sleep)),
        (jitter_strategy_decl, "random", random.Random(seed)),  # noqa: S311 jitter, no secret
        (EventManager, "_get_current_timestamp", staticmethod(now)),
        (Environment, "set_stop", set_stop),
        (state, "datetime", shim),
        (execution, "datetime", shim),
        (models, "datetime", shim),
    ):
        yield
