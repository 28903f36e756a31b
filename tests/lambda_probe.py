"""The function `probe` and calls of it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime

FUNCTIONS = Path(__file__).with_name("functions")


def probe(**spec: Any) -> FunctionSpec:
    return FunctionSpec(FUNCTIONS / "probe", **spec)


def call(runtime: LambdaRuntime, name: str, do: str = "echo", **event: Any) -> Any:
    """What the function returns; it may not fail."""
    answer = runtime.invoke(FunctionName=name, Payload=json.dumps({"do": do, **event}).encode())
    result = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, result
    return result


def failure(runtime: LambdaRuntime, name: str, do: str = "echo", **event: Any) -> dict[str, Any]:
    """The error in which the function ends; it may not succeed."""
    answer = runtime.invoke(FunctionName=name, Payload=json.dumps({"do": do, **event}).encode())
    assert (answer["StatusCode"], answer.get("FunctionError")) == (200, "Unhandled")
    error: dict[str, Any] = json.loads(answer["Payload"].read())
    return error


def appears(file: Path) -> None:
    end = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} did not appear in 20 s"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    """Of a child that its parent has reaped when it is dead."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
