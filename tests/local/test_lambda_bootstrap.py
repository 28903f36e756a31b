"""Functions of the Runtime `provided`: an executable `bootstrap` that asks the Runtime API for events."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lambda_probe import alive, call, failure

from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime, environment

pytestmark = pytest.mark.ours

BOOTSTRAP = """#!PYTHON
import http.client, json, os, signal, sys

FIRST
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
BEGIN = "/2018-06-01/runtime"

def post(place, told, headers={}, **options):
    api.request("POST", BEGIN + place, told if options else json.dumps(told).encode(), headers, **options)
    answer = api.getresponse()
    if answer.status != 202:
        print(answer.status, json.load(answer)["errorType"], flush=True)
    assert answer.status != 202 or answer.read()

BEFORE
print("ready", flush=True)
while True:
    api.request("GET", BEGIN + "/invocation/next")
    answer = api.getresponse()
    event, place = json.loads(answer.read()), "/invocation/" + answer.headers["Lambda-Runtime-Aws-Request-Id"]
    match event["do"]:
        case "echo":
            names = ("Deadline-Ms", "Invoked-Function-Arn")
            about = {each: answer.headers["Lambda-Runtime-" + each] for each in names}
            about |= {"pid": os.getppid(), "handler": os.environ["_HANDLER"]}
            post(place + "/response", {"event": event, **about})
        case "in chunks":
            chunks, headers = iter([b'{"a": ', b"1}"]), {"Transfer-Encoding": "chunked"}
            post(place + "/response", chunks, headers, encode_chunked=True)
        case "fail":
            post(place + "/error", {"errorType": "Declined", "errorMessage": "no money", "stackTrace": []})
        case "fail by a header":
            post(place + "/error", "no money", {"Lambda-Runtime-Function-Error-Type": "Declined"})
        case "twice":
            for number in (1, 2):
                post(place + event["ends"][number - 1], {"number": number, "errorType": "Declined"})
        case "another's":
            for end in ("/response", "/error"):
                post("/invocation/nonsense" + end, {"number": 1, "errorType": "Declined"})
            post(place + "/response", {"number": 2})
        case "fail in init":
            post("/init/error", {"errorType": "Runtime.NoTable"})
            sys.exit(1)
        case "exit":
            sys.exit(7)
        case "die":
            os.kill(os.getpid(), signal.SIGSEGV)
"""
INIT_ERROR = """
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
told = '{"errorType": "Runtime.NoTable", "errorMessage": "no table"}'
api.request("POST", "/2018-06-01/runtime/init/error", told)
api.getresponse().read()
sys.exit(1)
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[LambdaRuntime]:
    runtime = LambdaRuntime({})
    yield runtime
    runtime.close()


@pytest.fixture
def runtime(shared: LambdaRuntime) -> LambdaRuntime:
    shared.reset()
    return shared


def provided(folder: Path, first: str = "", mode: int = 0o755, before: str = "", **spec: Any) -> FunctionSpec:
    folder.mkdir(exist_ok=True)
    code = BOOTSTRAP.replace("PYTHON", sys.executable).replace("FIRST", first).replace("BEFORE", before)
    (folder / "bootstrap").write_text(code)
    (folder / "bootstrap").chmod(mode)
    return FunctionSpec(**{"code": folder, "runtime": "provided.al2023", "handler": "pay", **spec})


def test_a_bootstrap_answers_one_event_after_the_other(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("own", provided(tmp_path))
    found = [call(runtime, "own", id=number) for number in (1, 2)]
    assert [each["event"]["id"] for each in found] == [1, 2] and found[0]["pid"] == found[1]["pid"]
    assert found[0]["Invoked-Function-Arn"].endswith(":function:own") and int(found[0]["Deadline-Ms"])
    assert found[0]["handler"] == "pay" and runtime.logs("own") == ["ready"]
    assert call(runtime, "own", "in chunks") == {"a": 1}


def test_a_bootstrap_may_be_in_a_layer(runtime: LambdaRuntime, tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    (tmp_path / "code").mkdir()
    runtime.register("own", provided(layer, code=tmp_path / "code", layers=(layer,)))
    assert call(runtime, "own")["event"] == {"do": "echo"}


@pytest.mark.parametrize("do", ["fail", "fail by a header"])
def test_an_error_has_the_type_that_the_bootstrap_tells(runtime: LambdaRuntime, tmp_path: Path, do: str) -> None:
    runtime.register("own", provided(tmp_path))
    assert failure(runtime, "own", do)["errorType"] == "Declined"
    assert call(runtime, "own")["event"] == {"do": "echo"}


@pytest.mark.parametrize("ends", [["/response", "/response"], ["/response", "/error"], ["/error", "/response"]])
def test_the_second_end_of_an_invocation_is_refused_and_is_not_the_next_ones(
    runtime: LambdaRuntime, tmp_path: Path, ends: list[str]
) -> None:
    runtime.register("own", provided(tmp_path))
    answer = runtime.invoke(FunctionName="own", Payload=json.dumps({"do": "twice", "ends": ends}))
    assert json.load(answer["Payload"])["number"] == 1 and ("FunctionError" in answer) is (ends[0] == "/error")
    assert call(runtime, "own", id="next")["event"]["id"] == "next"
    assert runtime.logs("own") == ["ready", "403 InvalidStateTransition"]


def test_an_end_of_another_id_is_refused_and_is_nobodys(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("own", provided(tmp_path, before='post("/invocation/nonsense/response", {"number": 0})'))
    assert call(runtime, "own", "another's") == {"number": 2}
    assert runtime.logs("own") == ["400 InvalidRequestID", "ready", *2 * ["400 InvalidRequestID"]]


@pytest.mark.aws(unconfirmed="V4")
def test_an_init_error_after_init_is_refused_and_no_answer(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("own", provided(tmp_path))
    assert failure(runtime, "own", "fail in init")["errorType"] == "Runtime.ExitError"
    assert runtime.logs("own")[1] == "403 InvalidStateTransition"


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(("do", "reason"), [("exit", "exit status 7"), ("die", "signal: segmentation fault")])
def test_the_end_of_a_bootstrap_is_an_exit_error_and_another_begins(
    runtime: LambdaRuntime, tmp_path: Path, do: str, reason: str
) -> None:
    runtime.register("own", provided(tmp_path))
    before = call(runtime, "own")["pid"]
    error = failure(runtime, "own", do)
    assert error["errorType"] == "Runtime.ExitError" and reason in error["errorMessage"]
    assert call(runtime, "own")["pid"] != before and not alive(before)


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(
    ("first", "mode", "kind", "message"),
    [
        (INIT_ERROR, 0o755, "Runtime.NoTable", "no table"),
        ("sys.exit(3)", 0o755, "Runtime.ExitError", "exit status 3"),
        ("", 0o644, "Runtime.InvalidEntrypoint", "bootstrap: Permission denied"),
    ],
)
def test_a_bootstrap_that_does_not_begin_says_why_each_time(
    runtime: LambdaRuntime, tmp_path: Path, first: str, mode: int, kind: str, message: str
) -> None:
    runtime.register("own", provided(tmp_path, first, mode))
    for _ in range(2):
        error = failure(runtime, "own")
        assert error["errorType"] == kind and message in error["errorMessage"], error
    assert not any(each.is_started for each in runtime.invocations)


def test_a_bootstrap_that_asks_for_no_event_says_so_and_was_not_started(
    runtime: LambdaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "INIT_SECONDS", 0.5)
    runtime.register("own", provided(tmp_path, first="signal.pause()"))
    assert "bootstrap never asked for an event in 0.5 s" in failure(runtime, "own")["errorMessage"]
    assert not any(each.is_started for each in runtime.invocations)


def test_a_timeout_ends_a_bootstrap(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("own", provided(tmp_path, timeout=0.5))
    before = call(runtime, "own")["pid"]
    assert failure(runtime, "own", "nothing")["errorType"] == "Sandbox.Timedout"
    assert not alive(before)
