"""Functions in Node.js: how handlers are found, what they get, and every way in which they end."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lambda_probe import alive, call, failure

from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime, LogLine, node_sdk

pytestmark = [
    pytest.mark.ours,
    pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node.js"),
]


@pytest.fixture(scope="module")
def log() -> list[LogLine]:
    return []


@pytest.fixture(scope="module")
def shared(log: list[LogLine]) -> Iterator[LambdaRuntime]:
    runtime = LambdaRuntime({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, on_output=log.append)
    yield runtime
    runtime.close()


@pytest.fixture
def runtime(shared: LambdaRuntime, log: list[LogLine]) -> LambdaRuntime:
    shared.reset()
    log.clear()
    return shared


def node(folder: Path, files: dict[str, str] | str, **spec: Any) -> FunctionSpec:
    for name, text in (files if isinstance(files, dict) else {"app.js": files}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return FunctionSpec(folder, **{"runtime": "nodejs20.x", **spec})


MODULE = "export const handler = async (event) => ({ got: event.id })"
COMMON = "exports.handler = async (event) => ({ got: event.id })"
TO_LOAD: dict[str, tuple[dict[str, str], str]] = {
    "CommonJS": ({"app.js": COMMON}, "app.handler"),
    "CommonJS by its end": ({"app.cjs": COMMON}, "app.handler"),
    "an ES module by its end": ({"app.mjs": MODULE}, "app.handler"),
    "an ES module by package.json": ({"app.js": MODULE, "package.json": '{"type": "module"}'}, "app.handler"),
    "in a folder": ({"src/app.js": COMMON}, "src/app.handler"),
    "a member": ({"app.js": "exports.orders = { place: async (event) => ({ got: event.id }) }"}, "app.orders.place"),
    "a callback": ({"app.js": "exports.handler = (event, _, done) => done(null, { got: event.id })"}, "app.handler"),
    "a promise": ({"app.js": "exports.handler = (event) => Promise.resolve({ got: event.id })"}, "app.handler"),
    "of old": ({"app.js": "exports.handler = (event, context) => context.succeed({ got: event.id })"}, "app.handler"),
    "a stream": (
        {
            "app.js": "exports.handler = awslambda.streamifyResponse(async (event, stream) => {"
            " stream.setContentType('application/json'); stream.write('{\"got\": ');"
            " awslambda.HttpResponseStream.from(stream, {}).end(JSON.stringify(event.id) + '}') })"
        },
        "app.handler",
    ),
    "after a while": (
        {"app.js": "exports.handler = (event, _, done) => { setTimeout(() => done(null, { got: event.id }), 1) }"},
        "app.handler",
    ),
}


@pytest.mark.parametrize(("files", "handler"), TO_LOAD.values(), ids=TO_LOAD)
def test_a_handler_is_found_and_answers(
    runtime: LambdaRuntime, tmp_path: Path, files: dict[str, str], handler: str
) -> None:
    runtime.register("node", node(tmp_path, files, handler=handler))
    assert [call(runtime, "node", id=each) for each in ("one", "zwei ü")] == [{"got": "one"}, {"got": "zwei ü"}]


def test_a_warm_function_keeps_what_it_has_between_invocations(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("node", node(tmp_path, "let count = 0\nexports.handler = async () => ++count"))
    assert [call(runtime, "node") for _ in range(3)] == [1, 2, 3]


def test_a_function_finds_the_context_and_the_variables_of_lambda(runtime: LambdaRuntime, tmp_path: Path) -> None:
    code = """exports.handler = async (event, context) => ({
      ...context, left: context.getRemainingTimeInMillis(), table: process.env.TABLE,
      runtime: process.env.AWS_EXECUTION_ENV, root: process.env.LAMBDA_TASK_ROOT, home: process.env.PYTHONPATH,
    })"""
    runtime.register("node", node(tmp_path, code, timeout=20, memory=512, environment={"TABLE": "orders"}))
    found = call(runtime, "node")
    assert 0 < found.pop("left") <= 20_000
    assert found["awsRequestId"] == runtime.invocations[-1].request_id
    expected = {
        "functionName": "node",
        "memoryLimitInMB": "512",
        "logGroupName": "/aws/lambda/node",
        "table": "orders",
        "runtime": "AWS_Lambda_nodejs20.x",
        "root": str(tmp_path),
    }
    assert expected.items() <= found.items() and "home" not in found


def test_what_it_logs_is_a_line_of_its_log_with_level_and_request(runtime: LambdaRuntime, tmp_path: Path) -> None:
    code = "exports.handler = async () => { console.log('paid', { a: 1 }); console.error('no\\nway'); console.warn(2) }"
    runtime.register("node", node(tmp_path, code))
    assert call(runtime, "node") is None
    request_id = runtime.invocations[-1].request_id
    lines = [line.split("\t")[1:] for line in runtime.logs("node")]
    levels = [("INFO", "paid { a: 1 }"), ("ERROR", "no\rway"), ("WARN", "2")]
    assert lines == [[request_id, level, text] for level, text in levels]


FAILURES: dict[str, tuple[str, str, str]] = {
    "an error of its own": (
        "class Declined extends Error { constructor(m) { super(m); this.name = 'Declined' } }\n"
        "exports.handler = async () => { throw new Declined('no money') }",
        "Declined",
        "no money",
    ),
    "an error before a promise": ("exports.handler = () => { throw new TypeError('bad') }", "TypeError", "bad"),
    "an error to the callback": (
        "exports.handler = (event, _, done) => done(new RangeError('far'))",
        "RangeError",
        "far",
    ),
    "no error at all": ("exports.handler = async () => { throw 'a text' }", "string", "a text"),
    "an error that refers to itself": (
        "exports.handler = async () => { const error = new RangeError('round'); error.self = error; throw error }",
        "RangeError",
        "round",
    ),
    "an error with a number that JSON has not": (
        "exports.handler = async () => { throw Object.assign(new TypeError('large'), { left: 1n }) }",
        "TypeError",
        "large",
    ),
    "an error whose name is no text": (
        "exports.handler = async () => { throw Object.assign(new Error('odd'), { name: 7 }) }",
        "handled",
        "there was a problem while retrieving one or more of its message, name, and stack",
    ),
    "an error without any type": (
        "exports.handler = async () => { throw Object.create(null) }",
        "handled",
        "there was a problem while retrieving one or more of its message, name, and stack",
    ),
    "a promise that is never settled": (
        "exports.handler = async () => new Promise(() => {})",
        "Runtime.NodeJsExit",
        "Promise that was never settled",
    ),
    "a stream without an end": (
        "exports.handler = awslambda.streamifyResponse(async (event, stream) => stream.write('a'))",
        "Error",
        "Response stream is not finished",
    ),
    "an answer that is no JSON": (
        "exports.handler = async () => 1n",
        "Runtime.JSONStringifyError",
        "Unable to stringify",
    ),
}


@pytest.mark.aws(unconfirmed="V98")
@pytest.mark.parametrize(("code", "kind", "message"), FAILURES.values(), ids=FAILURES)
def test_an_error_is_as_lambda_tells_it_and_the_function_goes_on(
    runtime: LambdaRuntime, tmp_path: Path, code: str, kind: str, message: str
) -> None:
    code = code.replace("exports.handler =", "const fail =")
    code += "\nexports.handler = (event, ...rest) => event.do === 'fail' ? fail(event, ...rest) : process.pid"
    if "never settled" in message or "stream" in message:  # it is the handler itself that Lambda looks at
        code = code.rpartition("\n")[0].replace("const fail =", "exports.handler =")
    runtime.register("node", node(tmp_path, code))
    error = failure(runtime, "node", "fail")
    assert error["errorType"] == kind and message in error["errorMessage"], error
    assert runtime.invocations[-1].outcome == kind
    assert any("\tERROR\tInvoke Error" in line and message in line for line in runtime.logs("node"))


def test_the_log_has_what_an_error_comes_from(runtime: LambdaRuntime, tmp_path: Path) -> None:
    cause = "Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' })"
    code = f"exports.handler = async () => {{ throw new TypeError('fetch failed', {{ cause: {cause} }}) }}"
    runtime.register("node", node(tmp_path, code))
    assert failure(runtime, "node")["errorMessage"] == "fetch failed"
    [logged] = [line for line in runtime.logs("node") if "Invoke Error" in line]
    assert json.loads(logged.rpartition("\t")[2])["cause"] == "ECONNREFUSED: nobody listens"


def test_the_trace_of_an_error_names_the_line(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("node", node(tmp_path, "\n\nexports.handler = async () => { throw new Error('third line') }"))
    trace = failure(runtime, "node")["trace"]
    assert trace[0] == "Error: third line" and f"{tmp_path / 'app.js'}:3:" in trace[1]


def test_nothing_is_the_answer_of_a_callback_that_is_never_called(runtime: LambdaRuntime, tmp_path: Path) -> None:
    runtime.register("node", node(tmp_path, "exports.handler = (event, context, done) => {}"))
    assert [call(runtime, "node") for _ in range(2)] == [None, None]


@pytest.mark.parametrize("waits", [True, False])
def test_a_callback_waits_for_what_is_still_open_unless_told_not_to(
    runtime: LambdaRuntime, tmp_path: Path, waits: bool
) -> None:
    code = f"""exports.handler = (event, context, done) => {{
      context.callbackWaitsForEmptyEventLoop = {json.dumps(waits)}
      setTimeout(() => console.log('late'), 100)
      done(null, 'told')
    }}"""
    runtime.register("node", node(tmp_path, code))
    assert call(runtime, "node") == "told"
    assert any("late" in line for line in runtime.logs("node")) is waits


ENDS: dict[str, tuple[str, str, str]] = {
    "an exit": ("process.exit(7)", "Runtime.ExitError", "Runtime exited with error: exit status 7"),
    "an error that nobody catches": (
        "setImmediate(() => { throw new TypeError('lost') })",
        "TypeError",
        "lost",
    ),
    "a rejection that nobody catches": (
        "Promise.reject(new Error('lost'))",
        "Runtime.UnhandledPromiseRejection",
        "Error: lost",
    ),
}


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(("code", "kind", "message"), ENDS.values(), ids=ENDS)
def test_what_ends_the_process_fails_the_invocation_and_the_next_gets_another(
    runtime: LambdaRuntime, tmp_path: Path, code: str, kind: str, message: str
) -> None:
    handler = f"if (event.do === 'end') {{ {code}; await new Promise((done) => setTimeout(done, 10000)) }}"
    runtime.register("node", node(tmp_path, f"exports.handler = async (event) => {{ {handler}; return process.pid }}"))
    before = call(runtime, "node")
    error = failure(runtime, "node", "end")
    assert error["errorType"] == kind and message in error["errorMessage"], error
    assert call(runtime, "node") != before and not alive(before)


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize("how", ["await new Promise((done) => setTimeout(done, 60000))", "for (;;) {}"])
def test_a_timeout_ends_the_process_whatever_it_does(runtime: LambdaRuntime, tmp_path: Path, how: str) -> None:
    code = f"exports.handler = async (event) => {{ if (event.do === 'hang') {how}; return process.pid }}"
    runtime.register("node", node(tmp_path, code, timeout=0.5))
    before = call(runtime, "node")
    assert failure(runtime, "node", "hang")["errorType"] == "Sandbox.Timedout"
    assert not alive(before) and call(runtime, "node") != before


BROKEN: dict[str, tuple[dict[str, str], str, str]] = {
    "no such file": (
        {"other.js": ""},
        "Runtime.ImportModuleError",
        "Error: Cannot find module 'app': its Handler names app.js, which is not there",
    ),
    "no such module of its own": (
        {"app.js": "require('./missing')"},
        "Runtime.ImportModuleError",
        "Error: Cannot find module './missing'",
    ),
    "no such package": (
        {"app.js": "require('left-pad')"},
        "Runtime.ImportModuleError",
        "Error: Cannot find module 'left-pad': run `sam build`, or `npm install` in ",
    ),
    "no such package of an ES module": (
        {"app.mjs": "import 'left-pad'"},
        "Error",
        "Cannot find package 'left-pad' imported from",
    ),
    "version 2 of the SDK": (
        {"app.js": "require('aws-sdk')"},
        "Runtime.ImportModuleError",
        "Cannot find module 'aws-sdk': use version 3 of AWS's SDK, @aws-sdk/client-..., which nodejs18.x and later",
    ),
    "a syntax error": ({"app.js": "exports.handler = ("}, "Runtime.UserCodeSyntaxError", "SyntaxError: "),
    "no such export": ({"app.js": ""}, "Runtime.HandlerNotFound", "app.handler is undefined or not exported"),
    "no function": ({"app.js": "exports.handler = 1"}, "Runtime.HandlerNotFound", "app.handler is not a function"),
    "an error of its own": ({"app.js": "throw new TypeError('no table')"}, "TypeError", "no table"),
}


@pytest.mark.aws(unconfirmed="V4")
@pytest.mark.parametrize(("files", "kind", "message"), BROKEN.values(), ids=BROKEN)
def test_a_function_that_cannot_be_loaded_says_why_each_time(
    runtime: LambdaRuntime, tmp_path: Path, files: dict[str, str], kind: str, message: str
) -> None:
    runtime.register("node", node(tmp_path, files))
    for _ in range(2):
        error = failure(runtime, "node")
        assert error["errorType"] == kind and message in error["errorMessage"], error


@pytest.mark.ours
def test_version_2_of_the_sdk_which_node_16_has_on_lambda_is_told_with_what_to_do(
    runtime: LambdaRuntime, tmp_path: Path
) -> None:
    runtime.register("node", node(tmp_path, "require('aws-sdk')", runtime="nodejs16.x"))
    assert failure(runtime, "node")["errorMessage"].splitlines()[0] == (
        "Error: Cannot find module 'aws-sdk': Lambda's nodejs16.x brings it, and here its calls would be stopped: use "
        "version 3 of AWS's SDK, @aws-sdk/client-..., which nodejs18.x and later bring"
    )


# ---- Node.js 24 ----

NO_CALLBACKS = (
    "AWS Lambda Developer Guide, Using the Lambda context object to retrieve Node.js function information",
    "Lambda supports callback-based function handlers for Node.js 22 and earlier runtimes only.",
)


@pytest.mark.aws(*NO_CALLBACKS)
@pytest.mark.parametrize("parameters", ["event, context, done", "event, context, done, more"])
@pytest.mark.parametrize("kind", ["", "async "])
def test_node_24_has_no_callbacks(runtime: LambdaRuntime, tmp_path: Path, kind: str, parameters: str) -> None:
    code = f"exports.handler = {kind}({parameters}) => done(null, 1)"
    runtime.register("node", node(tmp_path, code, runtime="nodejs24.x"))
    assert failure(runtime, "node")["errorType"] == "Runtime.CallbackHandlerDeprecated"
    assert not any(each.is_started for each in runtime.invocations)


@pytest.mark.aws(*NO_CALLBACKS)
def test_a_handler_of_node_24_returns_its_answer_and_its_context_takes_none(
    runtime: LambdaRuntime, tmp_path: Path
) -> None:
    code = "exports.handler = (event, context) => event.do === 'end' ? context.succeed(1) : [event.id, context.done]"
    runtime.register("node", node(tmp_path, code, runtime="nodejs24.x"))
    assert call(runtime, "node", id=7) == [7, None]
    assert "context.succeed is not a function" in failure(runtime, "node", "end")["errorMessage"]


@pytest.mark.aws(*NO_CALLBACKS)
def test_a_stream_of_node_24_has_its_three_parameters(runtime: LambdaRuntime, tmp_path: Path) -> None:
    code = "exports.handler = awslambda.streamifyResponse(async (event, stream, context) => { stream.end('1') })"
    runtime.register("node", node(tmp_path, code, runtime="nodejs24.x"))
    assert call(runtime, "node") == 1


# ---- what Lambda has turned off in Node.js ----


def _said_by_node(expression: str) -> str:
    node = shutil.which("node")
    return subprocess.run([node, "-p", expression], capture_output=True, text=True).stdout if node else ""


REQUIRED = {"app.js": "exports.handler = require('./module.mjs').handler", "module.mjs": MODULE}
DETECTED = {"app.mjs": "export { handler } from './module.js'", "module.js": MODULE}


DOES_UNASKED = pytest.mark.skipif(
    _said_by_node("process.features.require_module") != "true\n", reason="this machine's Node.js does none of it"
)
TURNED_OFF = (
    "AWS Lambda Developer Guide, Building Lambda functions with Node.js",
    "To enable a disabled experimental feature, set the re-enable flag in the NODE_OPTIONS environment variable.",
)


@DOES_UNASKED
@pytest.mark.aws(*TURNED_OFF)
@pytest.mark.aws(unconfirmed="V119")
@pytest.mark.parametrize("runtime_name", ["nodejs18.x", "nodejs20.x", "nodejs22.x"])
@pytest.mark.parametrize("files", [REQUIRED, {"app.js": MODULE}], ids=["required", "as CommonJS"])
def test_an_es_module_is_not_required_unless_the_function_turns_it_on(
    runtime: LambdaRuntime, tmp_path: Path, files: dict[str, str], runtime_name: str
) -> None:
    runtime.register("node", node(tmp_path, files, runtime=runtime_name))
    assert failure(runtime, "node")["errorType"] in ("Error", "Runtime.UserCodeSyntaxError")
    on = {"NODE_OPTIONS": "--experimental-require-module --experimental-detect-module"}
    runtime.register("node", node(tmp_path, files, runtime=runtime_name, environment=on))
    assert call(runtime, "node", id=1) == {"got": 1}


@DOES_UNASKED
@pytest.mark.aws(*TURNED_OFF)
@pytest.mark.aws(unconfirmed="V119")
@pytest.mark.parametrize(
    ("runtime_name", "is_detected"), [("nodejs18.x", False), ("nodejs20.x", True), ("nodejs22.x", False)]
)
def test_an_es_module_is_detected_where_lambda_has_not_turned_it_off(
    runtime: LambdaRuntime, tmp_path: Path, runtime_name: str, is_detected: bool
) -> None:
    runtime.register("node", node(tmp_path, DETECTED, runtime=runtime_name))
    if is_detected:
        assert call(runtime, "node", id=1) == {"got": 1}
    else:
        assert failure(runtime, "node")["errorType"] == "Runtime.UserCodeSyntaxError"


@DOES_UNASKED
@pytest.mark.aws(unconfirmed="V120")
@pytest.mark.parametrize("files", [REQUIRED, {"app.js": MODULE}, DETECTED], ids=["required", "as CommonJS", "detected"])
def test_from_node_24_on_nothing_of_modules_is_turned_off(
    runtime: LambdaRuntime, tmp_path: Path, files: dict[str, str]
) -> None:
    runtime.register("node", node(tmp_path, files, runtime="nodejs24.x"))
    assert call(runtime, "node", id=1) == {"got": 1}


# ---- what Lambda has beside a function ----


@pytest.mark.parametrize("way", ["require", "import"])
def test_packages_come_from_the_function_then_its_layers_then_the_sdk(
    runtime: LambdaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    layer, sdk, code = tmp_path / "layer", node_sdk.folder(), tmp_path / "code"
    places = {code / "node_modules": "abc", layer / "nodejs/node_modules": "bc", sdk / "node_modules": "c"}
    for place, names in places.items():
        for name in names:
            package = place / "@aws-sdk" / name
            package.mkdir(parents=True)
            (package / "package.json").write_text('{"main": "index.js"}')
            (package / "index.js").write_text(f"module.exports = {json.dumps(place.parent.name)}")
    names = [f"@aws-sdk/{name}" for name in "abc"]
    shutil.rmtree(code / "node_modules/@aws-sdk/b")
    shutil.rmtree(code / "node_modules/@aws-sdk/c")
    shutil.rmtree(layer / "nodejs/node_modules/@aws-sdk/c")
    (layer / "nodejs/shared.js").write_text("module.exports = 'shared'")
    names.append("/opt/nodejs/shared.js")
    read = f"await Promise.all({names}.map(async (name) => (await import(name)).default))"
    if way == "require":
        read = f"{names}.map((name) => require(name))"
    handler = f"handler = async () => {read}"
    app = {"app.js": f"exports.{handler}"} if way == "require" else {"app.mjs": f"export const {handler}"}
    runtime.register("node", node(code, app, layers=(layer,)))
    assert call(runtime, "node") == ["code", "nodejs", sdk.name, "shared"]


def _package(folder: Path, name: str, told: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "index.js").write_text(f"module.exports = {json.dumps(told)}")


READS = {"require": {"app.js": "exports.handler = async () => NAMES.map((name) => require(name))"}}
READS["import"] = {
    "app.mjs": "export const handler = () => Promise.all(NAMES.map(async (name) => (await import(name)).default))"
}


def reading(way: str, *names: str) -> dict[str, str]:
    return {file: code.replace("NAMES", json.dumps(names)) for file, code in READS[way].items()}


@pytest.mark.parametrize("way", READS)
def test_a_layer_may_have_packages_for_one_version_of_node(runtime: LambdaRuntime, tmp_path: Path, way: str) -> None:
    layer = tmp_path / "layer"
    _package(layer / "nodejs/node22/node_modules", "both", "of 22")
    _package(layer / "nodejs/node20/node_modules", "both", "of 20")
    _package(layer / "nodejs/node_modules", "both", "of all")
    _package(layer / "nodejs/node22/node_modules", "some", "of 22")
    spec = node(tmp_path / "code", reading(way, "both", "some"), layers=(layer,), runtime="nodejs22.x")
    runtime.register("node", spec)
    assert call(runtime, "node") == ["of 22", "of 22"]


@pytest.mark.parametrize("way", READS)
@pytest.mark.aws(
    "AWS Lambda Developer Guide, Working with Lambda environment variables",
    "The following additional environment variables aren't reserved and can be extended in your function "
    "configuration. NODE_PATH",
)
def test_a_node_path_of_the_function_takes_the_place_of_lambdas(
    runtime: LambdaRuntime, tmp_path: Path, way: str
) -> None:
    layer, code = tmp_path / "layer", tmp_path / "code"
    _package(layer / "nodejs/lib/node_modules", "of-layer", "of the layer")
    _package(code / "lib/node_modules", "of-code", "of the code")
    _package(layer / "nodejs/node20/node_modules", "lost", "")
    files = reading(way, "of-layer", "of-code")
    own = {"NODE_PATH": "/opt/nodejs/lib/node_modules:/var/task/lib/node_modules"}
    runtime.register("node", node(code, files, layers=(layer,), environment=own))
    assert call(runtime, "node") == ["of the layer", "of the code"]
    runtime.register("node", node(code, reading(way, "lost"), layers=(layer,), environment=own))
    assert "lost" in failure(runtime, "node")["errorMessage"]


def test_without_the_sdk_an_import_of_it_says_what_to_do(
    runtime: LambdaRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for files in (
        {"app.js": "require('@aws-sdk/client-dynamodb')"},
        {"app.mjs": "import { DynamoDB } from '@aws-sdk/client-dynamodb'"},
    ):
        code = tmp_path / next(iter(files))
        runtime.register("node", node(code, files))
        assert "here, run `once sdk node` once" in failure(runtime, "node")["errorMessage"]
        (node_sdk.folder() / "node_modules").mkdir(parents=True)
        runtime.register("node", node(code, files, timeout=20))
        assert "run `once sdk node @aws-sdk/client-dynamodb` once" in failure(runtime, "node")["errorMessage"]
        (node_sdk.folder() / "node_modules").rmdir()


@pytest.mark.parametrize("host", ["dynamodb.eu-central-1.amazonaws.com", "box.s3.amazonaws.com"])
def test_a_client_that_would_call_aws_itself_is_stopped(runtime: LambdaRuntime, tmp_path: Path, host: str) -> None:
    call_of = f"await new Promise((_, fail) => require('https').get('https://{host}/').on('error', fail))"
    runtime.register("node", node(tmp_path, f"exports.handler = async () => {{ {call_of} }}"))
    assert failure(runtime, "node")["errorMessage"].startswith(f"{host} is AWS itself, and this function is called on")


# ---- no process is left behind ----

STARTER = """
import sys
from pathlib import Path
from oncekit.local.lambda_runtime import FunctionSpec, LambdaRuntime

runtime = LambdaRuntime({})
runtime.register("node", FunctionSpec(Path(sys.argv[1]), runtime="nodejs20.x"))
runtime.invoke(FunctionName="node", Payload=b"{}")
"""


def test_a_function_ends_with_a_starter_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        port = server.getsockname()[1]
        code = f"exports.handler = () => new Promise(() => require('net').connect({port}, '127.0.0.1'))"
        (tmp_path / "app.js").write_text(code)
        starter = subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)])
        try:
            connection, _ = server.accept()
        finally:
            starter.kill()
            starter.wait(10)
        with connection:
            connection.settimeout(20)
            assert connection.recv(1) == b"", "the function's process has ended"
