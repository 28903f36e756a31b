"""How many requests a stage takes: a token bucket for each method, on the cloud's clock.

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html: "API Gateway throttles
requests to your API using the token bucket algorithm, where a token counts for a request", and "Per-API, per-stage
throttling limits are applied at the API method level for a stage". The limits of an account are not held here.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.clock import Clock
from oncekit.local.gateway.refusals import Refused


@dataclass(frozen=True)
class Limits:
    """Requests a second of each method, and how many at once."""

    rate: float
    burst: float

    @staticmethod
    def of(stage: Mapping[str, Any]) -> Limits | None:
        """Those of all methods of a stage; None where it has none. Limits of one method alone are not looked at."""
        for each in stage.get("MethodSettings", ()):
            if (each.get("HttpMethod"), each.get("ResourcePath")) == ("*", "/*") and "ThrottlingRateLimit" in each:
                return Limits(float(each["ThrottlingRateLimit"]), float(each["ThrottlingBurstLimit"]))
        return None


class Throttle:
    """Takes requests within limits. Safe between threads."""

    def __init__(self, limits: Limits | None, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        """By method: its tokens, and when they were counted."""
        self._counting = threading.Lock()

    def take(self, method: str) -> None:
        """Count a request. Raises Refused when it is one too many."""
        if self._limits is None:
            return
        now = self._clock.now()
        with self._counting:
            left, counted = self._left.get(method, (self._limits.burst, now))
            left = min(self._limits.burst, left + (now - counted) * self._limits.rate)
            self._left[method] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise Refused("THROTTLED", "Too Many Requests")
