"""What Lambda does, and the local runtime with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.lambda_runtime import FunctionSpec, LambdaRuntime

HANDLER = """
import os, sys, time
def handler(event, context):
    match event.get("do"):
        case "raise": raise ValueError("no such thing")
        case "sleep": time.sleep(60)
        case "exit": os._exit(7)
        case "pid": return os.getpid()
        case "left": return context.get_remaining_time_in_millis()
        case "env": return dict(os.environ)
        case "print": print("hello"); return None
        case "hold": time.sleep(0.3); return os.getpid()
    return event
"""


@pytest.fixture(scope="module")
def runtime() -> Iterator[LambdaRuntime]:
    runtime = LambdaRuntime({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    yield runtime
    runtime.close()


@pytest.fixture
def function(runtime: LambdaRuntime, tmp_path: Path) -> str:
    (tmp_path / "app.py").write_text(HANDLER)
    runtime.register("f", FunctionSpec(tmp_path, timeout=1.0))
    return "f"


def call(runtime: LambdaRuntime, name: str, **event: Any) -> tuple[Any, str | None]:
    answer = runtime.invoke(FunctionName=name, Payload=json.dumps(event).encode())
    return json.loads(answer["Payload"].read()), answer.get("FunctionError")


def test_result_comes_back_as_it_was_returned(runtime: LambdaRuntime, function: str) -> None:
    assert call(runtime, function, a=[1, None, "ü"]) == ({"a": [1, None, "ü"]}, None)


def test_error_has_the_class_name_and_the_message(runtime: LambdaRuntime, function: str) -> None:
    payload, error = call(runtime, function, do="raise")
    assert (error, payload["errorType"], payload["errorMessage"]) == ("Unhandled", "ValueError", "no such thing")


def test_timeout_ends_the_process_and_the_next_call_gets_a_new_one(runtime: LambdaRuntime, function: str) -> None:
    before, _ = call(runtime, function, do="pid")
    payload, error = call(runtime, function, do="sleep")
    assert (error, payload["errorType"]) == ("Unhandled", "Sandbox.Timedout")
    assert "Task timed out after 1.00 seconds" in payload["errorMessage"]
    after, _ = call(runtime, function, do="pid")
    assert before != after


def test_exit_of_the_process_is_an_exit_error(runtime: LambdaRuntime, function: str) -> None:
    payload, _ = call(runtime, function, do="exit")
    assert payload["errorType"] == "Runtime.ExitError"
    assert call(runtime, function, x=1) == ({"x": 1}, None)


def test_warm_environment_is_used_again_and_a_busy_one_is_not(runtime: LambdaRuntime, function: str) -> None:
    first, second = call(runtime, function, do="pid"), call(runtime, function, do="pid")
    assert first == second
    with ThreadPoolExecutor(3) as pool:
        pids = {p for p, _ in pool.map(lambda _: call(runtime, function, do="hold"), range(3))}
    assert len(pids) == 3


def test_code_that_cannot_be_imported_is_an_error_of_the_import(runtime: LambdaRuntime, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import no_such_module")
    runtime.register("broken", FunctionSpec(tmp_path, timeout=1.0))
    payload, error = call(runtime, "broken")
    assert (error, payload["errorType"]) == ("Unhandled", "Runtime.ImportModuleError")


def test_unknown_function_and_alias_are_named(runtime: LambdaRuntime, function: str) -> None:
    for name, qualifier in (("nobody", None), (function, "blue")):
        with pytest.raises(ClientError, match=rf"function:{name}:{qualifier or '.LATEST'}") as refused:
            runtime.invoke(FunctionName=name, Qualifier=qualifier)
        assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_calls_over_the_concurrency_cap_are_throttled(runtime: LambdaRuntime, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(HANDLER)
    runtime.register("capped", FunctionSpec(tmp_path, timeout=2.0, concurrency=1))
    call(runtime, "capped")

    def codes() -> str:
        try:
            call(runtime, "capped", do="hold")
        except ClientError as error:
            return error.response["Error"]["Code"]
        return "done"

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(lambda _: codes(), range(3))).count("done") == 1
        assert codes() == "done"


def test_function_sees_its_own_environment_and_not_the_callers(
    runtime: LambdaRuntime, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    environment, _ = call(runtime, function, do="env")
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "f"
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert "SECRET_OF_THE_CALLER" not in environment


def test_remaining_time_comes_from_the_timeout(runtime: LambdaRuntime, function: str) -> None:
    left, _ = call(runtime, function, do="left")
    assert 500 < left <= 1000


def test_new_code_is_run_after_it_is_registered_again(runtime: LambdaRuntime, function: str, tmp_path: Path) -> None:
    call(runtime, function)
    (tmp_path / "app.py").write_text("def handler(event, context): return 'new'")
    runtime.register(function, FunctionSpec(tmp_path, timeout=1.0))
    assert call(runtime, function) == ("new", None)


def test_what_a_function_prints_is_kept(runtime: LambdaRuntime, function: str) -> None:
    call(runtime, function, do="print")
    call(runtime, function)
    assert any("hello" in line for line in runtime.logs(function))
