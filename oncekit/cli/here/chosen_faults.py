"""What goes wrong on purpose, for one execution, in the demo and on the console: then one sees Once recover."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oncekit.local.engine.service_calls import Call, Interceptor

if TYPE_CHECKING:
    from oncekit.local.once_cloud import LocalCloud

BUSINESS = "ExecuteBusinessLogic"
FAULTS: Mapping[str, str] = {
    "dies-before": "The owner dies before its function starts",
    "dies-after": "The owner dies after the effect, before it gets the answer",
    "crashes": "The function crashes before its effect",
    "crashes-after": "The function has its effect, and its answer is lost",
    "lost-lock": "The answer to AcquireLock is lost",
    "lost-finalize": "The answer to Finalize is lost",
    "throttled": "DynamoDB throttles AcquireLock twice",
}
"""By name, as a sentence."""


def fault_of(cloud: LocalCloud, name: str, execution: str) -> Interceptor:
    """An interceptor that strikes once, an execution whose name begins so."""
    from oncekit.local.engine.interceptors import answer_lost, fails, times_out

    made: Mapping[str, Callable[[], Interceptor]] = {
        "dies-before": lambda: _dies(cloud, after=False),
        "dies-after": lambda: _dies(cloud, after=True),
        "crashes": lambda: fails("Runtime.ExitError", state=BUSINESS),
        "crashes-after": lambda: times_out(applied=True, state=BUSINESS),
        "lost-lock": lambda: answer_lost(state="AcquireLock"),
        "lost-finalize": lambda: answer_lost(state="Finalize"),
        "throttled": lambda: fails("ThrottlingException", state="AcquireLock", nth=range(1, 3)),
    }
    fault, named = made[name](), f":{execution}"
    return lambda call, proceed: fault(call, proceed) if named in call.execution_arn else proceed()


def _dies(cloud: LocalCloud, *, after: bool) -> Interceptor:
    struck = threading.Event()

    def strike(call: Call, proceed: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if call.state != BUSINESS or struck.is_set():
            return proceed()
        struck.set()
        if after:
            proceed()
        # Not by the API, which stops no Express execution: in the fast lane, AWS itself may end one.
        cloud.executions.find(call.execution_arn).stop("OwnerDied", "stopped on purpose")
        raise ConnectionError("the execution is gone")

    return strike
