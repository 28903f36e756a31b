"""What the log says about an attempt: one line, with whom it was for and how it ended, never its payload or result.

CloudWatch takes metrics out of the same line (embedded metric format): by stack and service (the operation), one of
`Executed`, `Pending`, `PermanentError`, `NeedsAttention`, `LockLostError`, `OtherError` (count 1), `Duration` (ms),
`ResultBytes`. Beside them it has disposition, id, execution (the end of the owner's ARN), attempt, fence and
function_request_id; after a failure also level, message, error_name and, unless the state machine knows the error,
exception. It is printed whatever the log level is, because dashboards show the metrics. It is short, because each byte
is paid for.

Business logic that logs with Powertools' `Logger()` gets the keys id, operation, tenant, execution, attempt, fence and
function_request_id in every line.
"""

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, time

from once.errors import CAUGHT_BY_NAME, MESSAGE_LIMIT
from once.logs import logger
from once.request import Request
from once.result import JSON
from once.settings import settings

_DIRECTIVES = {"Duration": {"Unit": "Milliseconds"}, "ResultBytes": {"Unit": "Bytes"}}
"""Counts have no unit."""


class Observation:
    """Watches one attempt, and tells how it ended."""

    def __init__(
        self, request: Request, invocation: str | None = None, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._request = request
        self._invocation = invocation
        self._clock = clock
        self._started = clock()

    def executed(self, result_bytes: int, *, offloaded: bool) -> None:
        """Business logic succeeded, and its result is ready to be returned."""
        more: dict[str, JSON] = {"offloaded": True} if offloaded else {}
        self._tell("EXECUTED", {"Executed": 1, "ResultBytes": result_bytes}, more)

    def pending(self) -> None:
        """Business logic has started work elsewhere."""
        self._tell("PENDING", {"Pending": 1}, {})

    def failed(self, error: Exception, caught: Exception) -> None:
        """Business logic raised `error`, which leaves the function as `caught`."""
        known = type(caught) in CAUGHT_BY_NAME
        disposition = type(caught).__name__ if known else "OtherError"
        more: dict[str, JSON] = {
            "level": "WARNING" if known else "ERROR",
            "message": str(caught)[:MESSAGE_LIMIT],
            "error_name": type(error).__name__,
        }
        if not known:
            more["exception"] = "".join(traceback.format_exception(error)).rstrip()
        self._tell(disposition, {disposition: 1}, more)

    def _tell(self, disposition: str, metrics: dict[str, int], more: dict[str, JSON]) -> None:
        numbers = {**metrics, "Duration": round((self._clock() - self._started) * 1000, 1)}
        stack = settings().stack
        directive = {
            "Namespace": settings().metrics_namespace,
            "Dimensions": [["Stack", "service"] if stack else ["service"]],
            "Metrics": [{"Name": name, **_DIRECTIVES.get(name, {})} for name in numbers],
        }
        line: dict[str, object] = {
            "disposition": disposition,
            "id": self._request.id,
            "execution": execution_of(self._request),
            **_lane(self._request),
            "attempt": self._request.attempt,
            "fence": self._request.lock.fence,
            "function_request_id": self._invocation,
            **more,
            **({"Stack": stack} if stack else {}),
            "service": self._request.operation,
            **numbers,
            "_aws": {"Timestamp": int(time() * 1000), "CloudWatchMetrics": [directive]},
        }
        # One write: lines of threads of the function would else come between the text and its end.
        print(json.dumps(line, separators=(",", ":")) + "\n", end="", flush=True)


def execution_of(request: Request) -> str:
    """The end of the owner's ARN: the execution's name, in the fast lane with the execution's id.

    The machine's name is the same in all lines, and an Express execution that AWS runs twice is told apart by fences.
    """
    if _lane(request):  # an invocation of the function itself
        return request.lock.owner.split(":")[2]
    kind, _, *names = request.lock.owner.split(":", 5)[-1].split(":")
    return ":".join(names[:2] if kind == "express" else names)


def _lane(request: Request) -> dict[str, str]:
    """What tells the direct lane, where no execution can be looked up, from both others."""
    return {"lane": "direct"} if request.lock.owner.startswith("direct:") else {}


@contextmanager
def observed(request: Request, invocation: str | None) -> Iterator[Observation]:
    """An observation; while it is open, every line that business logic logs names the attempt."""
    with logger().append_context_keys(
        id=request.id,
        operation=request.operation,
        tenant=request.tenant,
        execution=execution_of(request),
        **_lane(request),
        attempt=request.attempt,
        fence=request.lock.fence,
        function_request_id=invocation,
    ):
        yield Observation(request, invocation)
