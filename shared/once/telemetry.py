"""What is logged and counted about an attempt: whom it was for and how it ended, never its payload or result.

Log keys: id, operation, tenant, execution (the owner), attempt, fence, disposition. Business logic that logs with
Powertools' `Logger()` gets the same keys. Metrics, by stack and service (the operation): one of `Executed`,
`PermanentError`, `NeedsAttention`, `LockLostError`, `OtherError` (count 1), `Duration` (ms), `ResultBytes`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from once.errors import CAUGHT_BY_NAME, MESSAGE_LIMIT
from once.logs import logger
from once.request import Request
from once.settings import settings


class Observation:
    """Watches one attempt, and logs and counts how it ended."""

    def __init__(self, request: Request, clock: Callable[[], float] = perf_counter) -> None:
        self._request = request
        self._clock = clock
        self._started = clock()

    def executed(self, result_bytes: int, *, offloaded: bool) -> None:
        """Business logic succeeded, and its result is ready to be returned."""
        logger().info(
            "business logic succeeded",
            disposition="EXECUTED",
            duration_ms=self._milliseconds(),
            result_bytes=result_bytes,
            offloaded=offloaded,
        )
        self._count("Executed", result_bytes)

    def failed(self, error: Exception, caught: Exception) -> None:
        """Business logic raised `error`, which leaves the function as `caught`."""
        known = type(caught) in CAUGHT_BY_NAME
        disposition = type(caught).__name__ if known else "OtherError"
        fields = {"disposition": disposition, "duration_ms": self._milliseconds(), "error_name": type(error).__name__}
        if known:
            logger().warning(str(caught), extra=fields)
        else:
            logger().error(str(caught)[:MESSAGE_LIMIT], extra=fields, exc_info=error)
        self._count(disposition)

    def _milliseconds(self) -> float:
        return round((self._clock() - self._started) * 1000, 1)

    def _count(self, disposition: str, result_bytes: int | None = None) -> None:
        metrics = EphemeralMetrics(namespace=settings().metrics_namespace, service=self._request.operation)
        if stack := settings().stack:
            metrics.add_dimension("Stack", stack)
        metrics.add_metric(disposition, MetricUnit.Count, 1)
        metrics.add_metric("Duration", MetricUnit.Milliseconds, self._milliseconds())
        if result_bytes is not None:
            metrics.add_metric("ResultBytes", MetricUnit.Bytes, result_bytes)
        metrics.add_metadata("id", self._request.id)
        metrics.add_metadata("execution", self._request.lock.owner)
        metrics.add_metadata("attempt", self._request.attempt)
        metrics.flush_metrics()


@contextmanager
def observed(request: Request, invocation: str | None) -> Iterator[Observation]:
    """An observation; while it is open, every line that is logged names the attempt."""
    with logger().append_context_keys(
        id=request.id,
        operation=request.operation,
        tenant=request.tenant,
        execution=request.lock.owner,
        attempt=request.attempt,
        fence=request.lock.fence,
        function_request_id=invocation,
    ):
        logger().info("attempt begins")
        yield Observation(request)
