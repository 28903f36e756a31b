"""The two functions of the tests do what the scenarios rely on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lambda_probe import FUNCTIONS

from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime

pytestmark = pytest.mark.ours


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[LambdaRuntime]:
    runtime = LambdaRuntime({})
    runtime.register("scripted", FunctionSpec(FUNCTIONS / "scripted", environment={"LATCHES": str(tmp_path)}))
    runtime.register("plain-echo", FunctionSpec(FUNCTIONS / "plain_echo"))
    yield runtime
    runtime.close()


def invoke(runtime: LambdaRuntime, name: str, payload: dict[str, Any], attempt: int = 1) -> Any:
    event = {"operation": name, "payload": payload, "attempt": attempt, "lock": {"id": f"default#{name}#k"}}
    answer = runtime.invoke(FunctionName=f"{name}:live", Payload=json.dumps(event))
    return json.loads(answer["Payload"].read())


def perform(runtime: LambdaRuntime, *script: dict[str, Any], attempt: int = 1) -> Any:
    return invoke(runtime, "scripted", {"script": list(script)}, attempt)


def test_plain_function_gives_back_what_it_was_given(runtime: LambdaRuntime) -> None:
    assert invoke(runtime, "plain-echo", {"a": 1}) == {"a": 1}
    assert invoke(runtime, "plain-echo", {"return": [1, None]}) == [1, None]
    assert len(invoke(runtime, "plain-echo", {"bytes": 300_000})) == 300_000


def test_script_goes_attempt_by_attempt_and_its_last_step_is_repeated(runtime: LambdaRuntime) -> None:
    script = ({"raise": "PermanentError", "message": "declined"}, {"exit": 3}, {"return": {"a": 1}})
    first = perform(runtime, *script, attempt=1)
    assert (first["errorType"], first["errorMessage"]) == ("PermanentError", "declined")
    assert perform(runtime, *script, attempt=2)["errorType"] == "Runtime.ExitError"
    assert perform(runtime, *script, attempt=3) == perform(runtime, *script, attempt=4) == {"a": 1}


def test_every_start_is_counted_crashes_too(runtime: LambdaRuntime, tmp_path: Path) -> None:
    for attempt in (1, 2):
        perform(runtime, {"exit": 1}, attempt=attempt)
    assert (tmp_path / "starts").read_text() == "default#scripted#k 1\ndefault#scripted#k 2\n"


def test_script_waits_at_a_latch(runtime: LambdaRuntime, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(perform, runtime, {"await": "go", "then": {"sleep": 0, "then": {"return": 1}}})
        while not (tmp_path / "starts").exists():
            assert not running.done()
        assert not running.done()
        (tmp_path / "go").touch()
        assert running.result(20) == 1
