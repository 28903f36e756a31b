"""What the Lambda service does between a call and a function, and the local one with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from lambda_probe import alive, appears, call, failure, probe

from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime, LogLine

pytestmark = pytest.mark.ours

ARN = "arn:aws:lambda:us-east-1:123456789012:function"


@pytest.fixture(scope="module")
def shared() -> Iterator[LambdaRuntime]:
    runtime = LambdaRuntime({})
    runtime.register("probe", probe())
    yield runtime
    runtime.close()


@pytest.fixture
def runtime(shared: LambdaRuntime) -> LambdaRuntime:
    shared.reset()
    return shared


def refusal(runtime: LambdaRuntime, **parameters: object) -> tuple[str, str, int]:
    with pytest.raises(ClientError) as refused:
        runtime.invoke(**parameters)
    response = refused.value.response
    error = response["Error"]
    return error["Code"], error["Message"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.aws(model="lambda", says="If present, indicates that an error occurred during function execution.")
@pytest.mark.parametrize("payload", [b'{"a": [1, null, "\xc3\xbc"]}', '{"a": [1, null, "ü"]}'])
def test_answer_has_the_shape_of_boto3(runtime: LambdaRuntime, payload: object) -> None:
    answer = runtime.invoke(FunctionName="probe", Payload=payload)
    assert (answer["StatusCode"], answer["ExecutedVersion"], "FunctionError" in answer) == (200, "$LATEST", False)
    assert json.loads(answer["Payload"].read()) == {"a": [1, None, "ü"]}


@pytest.mark.parametrize(
    ("parameters", "arn"),
    [
        ({"FunctionName": "probe"}, f"{ARN}:probe"),
        ({"FunctionName": "probe:live"}, f"{ARN}:probe:live"),
        ({"FunctionName": f"{ARN}:probe:$LATEST"}, f"{ARN}:probe:$LATEST"),
    ],
)
def test_function_is_found_by_name_and_arn_and_told_how_it_was_called(
    runtime: LambdaRuntime, parameters: dict[str, str], arn: str
) -> None:
    answer = runtime.invoke(**parameters, Payload='{"do": "context"}')
    assert json.loads(answer["Payload"].read())["arn"] == arn


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(
    ("name", "qualifier", "arn"),
    [
        ("nobody", None, f"{ARN}:nobody"),
        ("nobody", "live", f"{ARN}:nobody:live"),
        ("probe:blue", None, f"{ARN}:probe:blue"),
    ],
)
def test_unknown_function_and_alias_are_named_in_the_refusal(
    runtime: LambdaRuntime, name: str, qualifier: str | None, arn: str
) -> None:
    expected = ("ResourceNotFoundException", f"Function not found: {arn}", 404)
    assert refusal(runtime, FunctionName=name, Qualifier=qualifier, Payload="{}") == expected
    assert runtime.invocations == []


def test_each_of_the_invocations_at_one_time_has_a_process_of_its_own(runtime: LambdaRuntime, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        latch = str(tmp_path / "latch")
        ready = [tmp_path / f"ready{n}" for n in range(3)]
        running = [pool.submit(call, runtime, "probe", "wait", latch=latch, ready=str(file)) for file in ready]
        for file in ready:
            appears(file)
        Path(latch).touch()
        assert len({each.result() for each in running}) == 3


@pytest.mark.aws(
    "Step Functions Developer Guide, Handling errors",
    "When Lambda exceeds the maximum number of invocations, the reported error will be",
)
def test_invocations_over_the_concurrency_are_throttled(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("capped", probe(concurrency=1))
    latch, ready = tmp_path / "latch", tmp_path / "ready"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(call, runtime, "capped", "wait", latch=str(latch), ready=str(ready))
        appears(ready)
        expected = ("TooManyRequestsException", "Rate Exceeded.", 429)
        assert refusal(runtime, FunctionName="capped:live", Payload="{}") == expected
        latch.touch()
        running.result()
    assert call(runtime, "capped", a=1)["a"] == 1


def test_new_code_of_the_same_length_runs_after_it_is_registered_again(runtime: LambdaRuntime, tmp_path: Path) -> None:
    code, spec = tmp_path / "app.py", FunctionSpec(tmp_path)
    for version, name in ((1, "old"), (2, "new"), (3, "now")):
        code.write_text(f"def handler(event, context): return '{name}'")
        runtime.register("edited", spec)
        answer = runtime.invoke(FunctionName="edited:live", Payload="{}")
        assert json.loads(answer["Payload"].read()) == name
        assert answer["ExecutedVersion"] == str(version)


def test_what_tools_keep_beside_the_code_is_no_new_version(runtime: LambdaRuntime, tmp_path: Path) -> None:
    """A function without a CodeUri has its code in the folder of its whole application."""
    for name in ("", ".git", ".venv/lib", "node_modules/left-pad"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "app.py").write_text("def handler(event, context): return 1")
        runtime.register("beside", FunctionSpec(tmp_path))
        assert runtime.invoke(FunctionName="beside:live", Payload="{}")["ExecutedVersion"] == "1"


def test_every_start_is_remembered_with_its_end(runtime: LambdaRuntime, tmp_path: Path) -> None:
    latch, ready = tmp_path / "latch", tmp_path / "ready"
    call(runtime, "probe", a=1)
    runtime.invoke(FunctionName="probe", Payload='{"do": "fail", "message": "no"}')
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call, runtime, "probe", "wait", latch=str(latch), ready=str(ready))
        appears(ready)
        first, second, third = runtime.invocations
        assert [each.outcome for each in (first, second, third)] == ["succeeded", "ValueError", "running"]
        assert first.function == "probe"
        assert first.event == {"do": "echo", "a": 1}
        assert first.ended_at is not None
        assert first.started_at <= first.ended_at <= second.started_at
        assert third.ended_at is None
        latch.touch()
    assert runtime.invocations[2].outcome == "succeeded"


def test_each_invocation_is_between_its_marks_in_the_stream_of_its_environment() -> None:
    log: list[LogLine] = []
    runtime = LambdaRuntime({}, on_output=log.append)
    runtime.register("probe", probe(timeout=0.5))
    runtime.register("broken", probe(handler="app.none"))
    try:
        call(runtime, "probe", "say", line="one")
        call(runtime, "probe", "say", line="two")
        failure(runtime, "probe", "sleep")
        failure(runtime, "probe", "exit", code=3)
        failure(runtime, "broken")
    finally:
        runtime.close()
    one, two, slow, died, broken = (each.request_id for each in runtime.invocations)
    started = {each.text.split()[2]: each.stream for each in log if each.text.startswith("START ")}
    assert started[one] == started[two] == started[slow], "a warm environment goes on in its stream"
    assert len(set(started.values())) == 3
    lines = [(each.stream, each.text.partition("\t")[0], each.is_mark) for each in log]
    assert lines[:10] == [
        (started[one], f"START RequestId: {one} Version: 1", True),
        (started[one], "one", False),
        (started[one], "ONE", False),
        (started[one], f"END RequestId: {one}", True),
        (started[one], f"REPORT RequestId: {one}", True),
        (started[one], f"START RequestId: {two} Version: 1", True),
        (started[one], "two", False),
        (started[one], "TWO", False),
        (started[one], f"END RequestId: {two}", True),
        (started[one], f"REPORT RequestId: {two}", True),
    ]
    for each, said in ((slow, f"{slow} Task timed out after 0.50 seconds"), (died, f"RequestId: {died} Error: ")):
        marks = [text for stream, text, _ in lines if stream == started[each] and each in text]
        assert marks[1].startswith(said) and [text.split()[0] for text in marks[2:]] == ["END", "REPORT"]
    *_, error, start, end, report = [text for stream, text, _ in lines if stream == started[broken]]
    assert error.startswith("[ERROR]") and broken in start and broken in end and broken in report, "init comes first"


def test_reset_ends_what_runs_and_forgets_it_but_keeps_functions(runtime: LambdaRuntime, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    call(runtime, "probe", "say", line="hello")
    with ThreadPoolExecutor(1) as pool:
        parameters = json.dumps({"do": "wait", "latch": str(tmp_path / "latch"), "ready": str(ready)})
        running = pool.submit(runtime.invoke, FunctionName="probe", Payload=parameters)
        appears(ready)
        runtime.reset()
        assert (runtime.invocations, runtime.logs("probe")) == ([], [])
        assert running.result(5)["FunctionError"] == "Unhandled"
    assert call(runtime, "probe", a=1)["a"] == 1


@pytest.mark.parametrize("change", [{}, {"timeout": 20}])
def test_function_that_was_put_away_comes_back_warm_unless_it_changed(
    runtime: LambdaRuntime, change: dict[str, Any]
) -> None:
    runtime.register("away", probe())
    warm = call(runtime, "away", "pid")
    runtime.put_away("away")
    assert refusal(runtime, FunctionName="away")[0] == "ResourceNotFoundException"
    assert "away" not in runtime.functions
    runtime.register("away", probe(**change))
    assert (call(runtime, "away", "pid") == warm) == alive(warm) == (not change)
    assert runtime.invoke(FunctionName="away:live", Payload="{}")["ExecutedVersion"] == "1"
    runtime.put_away("away")
