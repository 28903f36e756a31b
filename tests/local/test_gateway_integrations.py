"""How long API Gateway waits for an integration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from oncekit.local.clock import Clock
from oncekit.local.gateway.integrations import LONGEST_SECONDS, Integrations
from oncekit.local.gateway.refusals import Refused
from oncekit.local.permissions import Guard

START = {"uri": "arn:aws:apigateway:eu-west-1:states:action/StartSyncExecution", "credentials": "arn:aws:iam::1:role/r"}


class Alarm:
    """A clock that rings when it is told to."""

    def now(self) -> float:
        return 0.0

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        assert when == LONGEST_SECONDS
        self.ring = action
        return lambda: None

    def leave(self) -> None:
        pass


class Everything:
    def check(self, *_: object) -> None:
        """Allowed."""


@pytest.mark.aws(unconfirmed="V68")
def test_an_answer_after_the_time_is_too_late_also_when_nobody_has_looked_yet() -> None:
    alarm = Alarm()

    def make(service: str, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        alarm.ring()
        return {"status": "TIMED_OUT"}

    gateway = Integrations(make, cast(Guard, Everything()), cast(Clock, alarm))
    with pytest.raises(Refused, match="timed out"):
        gateway.call(START, "{}", {}, "api")
