"""Starts a function's process in place of `entry.py`, so that the test sees each call of the function.

Each call of AWS says in a header where in the code it is made, and with which parameters. No connection leaves the
machine: what is meant for another one goes to the test (`in_sockets.py`). The beginning and the end of each invocation
are announced to the test, too.

This file is started as a script, without its package: nothing of oncekit is imported into a function's process.
"""

import contextvars
import functools
import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALL, LOST = "X-Once-Call", "X-Once-Lost"
"""Headers: of a request, what is called; of an answer, that the function must not get it."""
LINES = 2
MOST, MOST_OF_ONE = 8_000, 1_000
"""Characters of the parameters in a header. Of more, those stay that name a place."""
FOLDER = os.environ["ONCE_TESTING_FOLDER"] + os.sep
"""Of the template: files are named from there."""
ROOT = os.environ.get("LAMBDA_TASK_ROOT", "") + os.sep

_step: contextvars.ContextVar[str] = contextvars.ContextVar("step", default="")
_call: contextvars.ContextVar[str] = contextvars.ContextVar("call", default="")
_keys: list[str] = []
_begun = False
_lock: dict[str, Any] = {}
_operation = ""
"""Both of the event; empty where the event is a payload alone."""


def line() -> str:
    """The innermost line of the function's own code, and the one that called it: `app.py:12 in pay, called at ...`."""
    found: list[str] = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < LINES:
        name = frame.f_code.co_filename
        if name.startswith(ROOT) and "site-packages" not in name:
            found.append(f"{name.removeprefix(FOLDER)}:{frame.f_lineno} in {frame.f_code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]  # None is the end
    return ", called at ".join(found)


def told(service: str, action: str, parameters: Any) -> str:
    """A call, as the header says it."""
    text = json.dumps(parameters, default=str)
    if len(text) > MOST:
        members = parameters.items() if isinstance(parameters, dict) else ()
        text = json.dumps({name: value for name, value in members if len(str(value)) <= MOST_OF_ONE}, default=str)
    return json.dumps(
        {
            "function": os.environ.get("AWS_LAMBDA_FUNCTION_NAME", ""),
            "pid": os.getpid(),
            "service": service,
            "action": action,
            "parameters": text if len(text) <= MOST else "{}",
            "line": line(),
            "step": _step.get(),
            "begun": _begun,
            "keys": _keys,
            "operation": _operation,
            "owner": str(_lock.get("owner", "")),
            "fence": _lock.get("fence", 0),
        }
    )


# ---- AWS ----


def watch_aws() -> None:
    """The calls of all clients, whoever makes them. A client waits for no retry, as its test would."""
    import types

    import botocore.client
    import botocore.endpoint
    import botocore.httpsession
    from botocore import xform_name
    from botocore.exceptions import ConnectionClosedError

    client: Any = botocore.client.BaseClient
    session: Any = botocore.httpsession.URLLib3Session
    make, send = client._make_api_call, session.send

    def make_watched(self: Any, operation_name: str, api_params: Any) -> Any:
        service = self._service_model.service_name
        token = _call.set(told(service, xform_name(operation_name), api_params))
        try:
            return make(self, operation_name, api_params)
        finally:
            _call.reset(token)

    def send_watched(self: Any, request: Any) -> Any:
        if _call.get():
            request.headers[CALL] = _call.get()
        answer = send(self, request)
        if LOST in answer.headers:
            raise ConnectionClosedError(endpoint_url=request.url)
        return answer

    client._make_api_call, session.send = make_watched, send_watched
    botocore.endpoint.time = types.SimpleNamespace(sleep=lambda _seconds: None)  # type: ignore[attr-defined]


# ---- the library ----


def watch_library() -> None:
    """The names of steps, and the keys that are handed to providers."""
    try:
        from once.request import Request
    except ImportError:  # a function that knows nothing of Once
        return
    step, provider_key = Request.step, Request.provider_key

    def step_watched(self: Any, name: str, *arguments: Any, **options: Any) -> Any:
        from once import step_log  # as late as the library itself

        log: Any = step_log
        log.StepLog = functools.partial(_step_log(log), pause=lambda _seconds: None)
        token = _step.set(name)
        try:
            return step(self, name, *arguments, **options)
        finally:
            _step.reset(token)

    def key_watched(self: Any, name: str) -> str:
        key = provider_key(self, name)
        _keys.append(key)
        return key

    Request.step, Request.provider_key = step_watched, key_watched  # type: ignore[method-assign]


def _step_log(module: Any) -> Any:
    """The class, whether or not it stands behind our own already."""
    return getattr(module.StepLog, "func", module.StepLog)


# ---- invocations ----


def begins(event: Any) -> None:
    global _begun, _lock, _operation
    _begun = True
    lock = event.get("lock") if isinstance(event, dict) else None
    _lock = lock if isinstance(lock, dict) else {}
    _operation = str(event.get("operation", "")) if _lock else ""


def watch_invocations(announce: Callable[[str], object]) -> None:
    """Announces the beginning of each invocation, and its end when it has succeeded."""
    from awslambdaric import bootstrap

    get = bootstrap._get_handler

    def get_watched(name: str) -> Any:
        handler = get(name)

        def watched(event: Any, context: Any) -> Any:
            begins(event)
            announce("begin")
            result = handler(event, context)
            announce("end")
            return result

        return watched

    bootstrap._get_handler = get_watched


def watch() -> None:
    sockets = runpy.run_path(str(Path(__file__).with_name("in_sockets.py")))
    sockets["watch_sockets"](told)
    watch_aws()
    watch_library()
    watch_invocations(lambda action: sockets["ask"]("", told("function", action, None)))


if __name__ == "__main__":
    runpy.run_path(os.environ["ONCE_TESTING_ENTRY"])["run"](watch)
