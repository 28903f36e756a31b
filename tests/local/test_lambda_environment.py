"""What a function finds around itself on Lambda, how it can end, and the local execution environment with it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lambda_probe import FUNCTIONS, alive, appears, call, failure, probe

from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime, environment
from oncekit.local.lambda_runtime.entry import has_library
from oncekit.local.lambda_runtime.environment import Environment

pytestmark = pytest.mark.ours


@pytest.fixture(scope="module")
def shared() -> Iterator[LambdaRuntime]:
    runtime = LambdaRuntime({"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "shared"})
    runtime.register("probe", probe())
    yield runtime
    runtime.close()


@pytest.fixture
def runtime(shared: LambdaRuntime) -> LambdaRuntime:
    shared.reset()
    return shared


# ---- around it ----


@pytest.mark.aws(unconfirmed="V37")
def test_function_has_the_variables_of_lambda_and_not_the_callers(
    runtime: LambdaRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    monkeypatch.setenv("AWS_PROFILE", "production")
    runtime.register("fresh", probe(memory=512, environment={"TABLE": "orders", "AWS_ACCESS_KEY_ID": "own"}))
    variables = call(runtime, "fresh", "variables")
    expected = {
        "AWS_LAMBDA_FUNCTION_NAME": "fresh",
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_REGION": "us-east-1",
        "LAMBDA_TASK_ROOT": str(FUNCTIONS / "probe"),
        "_HANDLER": "app.handler",
        "TZ": ":UTC",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "TABLE": "orders",
        "AWS_ACCESS_KEY_ID": "own",
        "AWS_CONFIG_FILE": os.devnull,
    }
    assert {name: variables[name] for name in expected} == expected
    assert not {"SECRET_OF_THE_CALLER", "AWS_PROFILE"} & variables.keys()
    assert variables["_X_AMZN_TRACE_ID"].startswith("Root=1-")


@pytest.mark.aws(unconfirmed="V37")
def test_code_comes_before_the_layers_and_nothing_of_the_runtime_is_on_the_path(
    runtime: LambdaRuntime, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text("raise SystemExit")
    (tmp_path / "of_the_layer.py").write_text("VALUE = 1")
    runtime.register("layered", probe(python_path=(tmp_path,)))
    path = call(runtime, "layered", "path")
    assert path[:2] == [str(FUNCTIONS / "probe"), str(tmp_path)]
    assert not any("lambda_runtime" in folder for folder in path)
    assert not any(name.partition(".")[0] == "local" for name in call(runtime, "layered", "modules"))


def test_the_library_of_this_machine_is_not_there_for_a_function_without_it(
    runtime: LambdaRuntime, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text("from once import Request")
    runtime.register("bare", FunctionSpec(tmp_path))
    failed = failure(runtime, "bare")
    assert failed["errorType"] == "Runtime.ImportModuleError"
    assert failed["errorMessage"].startswith("Unable to import module 'app': No module named 'once'")
    assert "Layers: [!Ref OnceLibrary]" in failed["errorMessage"]


def test_a_module_of_a_function_may_have_a_name_that_begins_as_the_librarys(
    runtime: LambdaRuntime, tmp_path: Path
) -> None:
    (tmp_path / "once_more").mkdir()
    for name in ("once_more/__init__.py", "oncelib.py"):
        (tmp_path / name).write_text("VALUE = 1")
    (tmp_path / "once_more" / "once.py").write_text("VALUE = 2")
    (tmp_path / "app.py").write_text(
        "import once_more.once, oncelib\ndef handler(*_): return [once_more.once.VALUE, oncelib.VALUE]"
    )
    runtime.register("bare", FunctionSpec(tmp_path))
    assert call(runtime, "bare", "anything") == [2, 1]
    assert not has_library(tmp_path, [])


@pytest.mark.parametrize("has_it_by", ["a layer", "a copy", "a requirement"])
def test_the_library_is_there_for_a_function_that_has_it(tmp_path: Path, has_it_by: str) -> None:
    code, layer = tmp_path / "code", tmp_path / "layer"
    folder = layer if has_it_by == "a layer" else code
    (folder / "once").mkdir(parents=True)
    assert not has_library(code, [layer]), "a folder without code of its own"
    if has_it_by == "a requirement":
        (code / "requirements.txt").write_text("oncekit>=0.1\n")
    else:
        (folder / "once" / "__init__.py").touch()
    assert has_library(code, [layer])


# ---- errors ----


@pytest.mark.aws(unconfirmed="V4")
def test_error_is_as_the_runtime_client_tells_it(runtime: LambdaRuntime) -> None:
    error = failure(runtime, "probe", "fail", message="no such order")
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "no such order")
    assert error["requestId"] == runtime.invocations[0].request_id
    assert "in fail" in error["stackTrace"][-1]


@pytest.mark.aws(model="lambda", says="For synchronous invocations, the maximum payload size is 6 MB.")
def test_result_may_have_as_much_as_lambda_allows_and_no_more(runtime: LambdaRuntime) -> None:
    assert len(call(runtime, "probe", "return bytes", bytes=6_291_556)) == 6_291_554
    error = failure(runtime, "probe", "return bytes", bytes=6_291_557)
    assert error["errorType"] == "Function.ResponseSizeTooLarge"
    assert call(runtime, "probe", a=1)["a"] == 1


@pytest.mark.aws(unconfirmed="V4")
def test_timeout_ends_the_process_and_the_next_invocation_gets_another(runtime: LambdaRuntime) -> None:
    runtime.register("short", probe(timeout=0.5))
    before = call(runtime, "short", "pid")
    error = failure(runtime, "short", "sleep")
    request_id = runtime.invocations[-1].request_id
    assert error == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": f"RequestId: {request_id} Error: Task timed out after 0.50 seconds",
    }
    assert not alive(before)
    assert call(runtime, "short", "pid") != before


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"do": "exit", "code": 7}, "Runtime exited with error: exit status 7"),
        ({"do": "die"}, "Runtime exited with error: signal: segmentation fault"),
    ],
)
def test_end_of_the_process_is_an_exit_error_and_the_next_invocation_gets_another(
    runtime: LambdaRuntime, event: dict[str, object], reason: str
) -> None:
    error = failure(runtime, "probe", **event)
    request_id = runtime.invocations[0].request_id
    assert error == {"errorType": "Runtime.ExitError", "errorMessage": f"RequestId: {request_id} Error: {reason}"}
    assert call(runtime, "probe", a=1)["a"] == 1


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import no_such_module", "Runtime.ImportModuleError"),
        ("def other(event, context): return 1", "Runtime.HandlerNotFound"),
        ("import os; os._exit(3)", "Runtime.ExitError"),
    ],
)
def test_handler_that_cannot_be_loaded_fails_every_invocation_with_the_same_error(
    runtime: LambdaRuntime, tmp_path: Path, code: str, error: str
) -> None:
    (tmp_path / "app.py").write_text(code)
    runtime.register("broken", FunctionSpec(tmp_path))
    assert [failure(runtime, "broken")["errorType"] for _ in range(2)] == [error] * 2
    assert [each.outcome for each in runtime.invocations] == [error] * 2


def test_code_that_does_not_finish_loading_says_so_and_was_not_started(
    runtime: LambdaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "INIT_SECONDS", 0.5)
    (tmp_path / "app.py").write_text("import signal\nsignal.pause()")
    runtime.register("endless", FunctionSpec(tmp_path))
    assert "the function's code did not finish loading in 0.5 s" in failure(runtime, "endless")["errorMessage"]
    assert not any(each.is_started for each in runtime.invocations)


@pytest.mark.aws(unconfirmed="V4")
def test_a_process_that_is_gone_before_it_is_asked_has_said_why(
    runtime: LambdaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Environment.start

    def start_and_wait(environment: Environment) -> None:
        start(environment)
        while environment.usable:
            time.sleep(0.001)

    monkeypatch.setattr(Environment, "start", start_and_wait)
    (tmp_path / "app.py").write_text("import no_such_module")
    runtime.register("broken", FunctionSpec(tmp_path))
    assert failure(runtime, "broken")["errorType"] == "Runtime.ImportModuleError"


@pytest.mark.parametrize("place", ["", "    "], ids=["before it is ready", "in an invocation"])
def test_what_says_neither_ready_nor_an_end_is_an_error_and_no_answer(
    runtime: LambdaRuntime, tmp_path: Path, place: str
) -> None:
    told = "[each] = [it for it in gc.get_objects() if type(it).__name__ == 'Parent']; each.tell('init', b'{}')"
    (tmp_path / "app.py").write_text(f"import gc\ndef handler(event, context):\n    pass\n{place}{told}")
    runtime.register("odd", FunctionSpec(tmp_path))
    assert failure(runtime, "odd")["errorType"] == "Runtime.Unknown"


# ---- no process is left behind ----


APART = pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose it is"))


@pytest.mark.parametrize("is_apart", [False, APART], ids=["of its group", "with a session of its own"])
def test_close_ends_every_process(tmp_path: Path, is_apart: bool) -> None:
    runtime = LambdaRuntime({})
    runtime.register("probe", probe())
    lock, ready = tmp_path / "lock", tmp_path / "ready"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(failure, runtime, "probe", "hold", lock=str(lock), ready=str(ready), apart=is_apart)
        appears(ready)
        idle = call(runtime, "probe", "pid")
        runtime.close()
        assert running.result(5)["errorType"] == "Runtime.ExitError"
    assert not alive(idle)
    becomes_free(lock)


STARTER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from lambda_probe import call, probe
from oncekit.local.lambda_runtime import LambdaRuntime

runtime = LambdaRuntime({})
runtime.register("probe", probe())
call(runtime, "probe", "hold", lock=sys.argv[2], ready=sys.argv[3])
"""


def test_functions_end_with_a_starter_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    lock, ready = tmp_path / "lock", tmp_path / "ready"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, json.dumps(sys.path), str(lock), str(ready)])
    try:
        appears(ready)
        assert not is_free(lock)
    finally:
        starter.kill()
        starter.wait(10)
    becomes_free(lock)


def is_free(lock: Path) -> bool:
    """Whether no process holds the lock any more; unlike a look at process ids, not fooled by zombies."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def becomes_free(lock: Path) -> None:
    end = time.monotonic() + 10
    while not is_free(lock):
        assert time.monotonic() < end, "a process still holds the lock after 10 s"
        time.sleep(0.01)
