"""Time in the interpreter, and in S3: waits and timestamps come from the clock. Nothing that is old is deleted."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

from moto.s3 import models as s3
from moto.stepfunctions.parser import models
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
from moto.stepfunctions.parser.backend import execution

from oncekit.local.clock import Clock
from oncekit.local.engine.runs import instant
from oncekit.local.patching import Change


def changes(clock: Clock) -> list[Change]:
    def now(*_args: Any, **_kwargs: Any) -> datetime.datetime:
        return instant(clock)

    def wait_interval(_self: Any, env: Any, wait_seconds: float) -> None:
        env.run.pause(wait_seconds, env.is_running)

    def seconds_until(self: Any, env: Any) -> float:
        self.string.eval(env=env)
        text: str = env.stack.pop()
        if not self._is_valid_timestamp_pattern(text):
            from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException

            raise FailureEventException(self._create_failure_event(env, text))
        return max(0.0, datetime.datetime.fromisoformat(text).timestamp() - clock.now())

    def utcnow() -> datetime.datetime:
        return instant(clock).replace(tzinfo=None)

    shim = SimpleNamespace(datetime=SimpleNamespace(now=now), timezone=datetime.timezone)
    return [
        (WaitFunction, "_wait_interval", wait_interval),
        (Timestamp, "_get_wait_seconds", seconds_until),
        (execution, "datetime", shim),
        (models, "datetime", shim),
        (s3, "utcnow", utcnow),
    ]
