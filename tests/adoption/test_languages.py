"""Functions that are not Python, in a stranger's application: they run as they are, or one sentence says why not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from once_up import once_up
from signing import keys

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Application

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="this machine has no Node.js")

HEAD = "Transform: AWS::Serverless-2016-10-31\nResources:\n"
FUNCTION = "  {name}:\n    Type: AWS::Serverless::Function\n    Properties: {{ {properties} }}\n"


def add(application: Application, name: str, properties: str, files: dict[str, str] | None = None) -> None:
    """A function to the template, and its code."""
    template = application.folder / "template.yaml"
    text = template.read_text() if template.exists() else HEAD
    template.write_text(text + FUNCTION.format(name=name, properties=properties))
    for file, code in (files or {}).items():
        path = application.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)


def adopt(application: Application, *functions: str) -> None:
    assert application.once("init").code == 0
    (application.folder / "sample.json").write_text('{"id": "1"}')
    for name in functions:
        done = application.once("new", name.lower(), "--function", name, "--example", "sample.json")
        assert done.code == 0, done.err


def run(application: Application, operation: str, *options: str) -> tuple[int, Any, str]:
    """In a process of its own, as each has one cloud: the exit code, what it says as JSON, and what else."""
    command = [sys.executable, "-c", "from oncekit.cli.main import main; main()", "run", f"events/{operation}.json"]
    done = subprocess.run(
        [*command, "--json", *options], cwd=application.folder, capture_output=True, text=True, timeout=120
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


NODE = "Runtime: nodejs22.x, Handler: app.handler, CodeUri: node/"
ANSWERS = {"node/app.js": "exports.handler = async (event) => ({ done: event.id })\n"}


def test_a_function_in_nodejs_runs_once_as_it_is_and_what_cannot_run_stops_nothing(empty: Application) -> None:
    add(empty, "Clerk", NODE, ANSWERS)
    add(empty, "Jvm", "Runtime: java21, Handler: 'shop.Pay::pay', CodeUri: java/")
    add(empty, "Gone", "Runtime: python3.13, Handler: app.handler, CodeUri: gone/")
    add(empty, "Odd", "Runtime: python3.13, Handler: app.handler, CodeUri: node/, Events: { E: { Type: Bell } }, X: 1")
    add(empty, "Idle", f"{NODE}, ReservedConcurrentExecutions: 0")
    adopt(empty, "Clerk", "Jvm", "Gone", "Odd", "Idle")
    code, told, said = run(empty, "clerk", "--times", "2")
    assert code == 0, said
    assert [each["disposition"] for each in told["executions"]] == ["EXECUTED", "REPLAYED"]
    assert told["executions"][0]["result"] == {"done": "1"}
    assert told["sideEffects"]["businessLogicStarts"] == {"clerk": 1}
    code, _, said = run(empty, "jvm")
    assert code == 2 and "template.yaml:6: operation jvm: its function Jvm is not run here: it has the Runtime" in said
    assert "Traceback" not in said
    gone, idle = "its CodeUri is not a folder: ", "with ReservedConcurrentExecutions: 0 nothing starts it"
    for name, line, why in (("Gone", 9, gone), ("Odd", 12, "property X "), ("Idle", 15, idle)):
        code, _, said = run(empty, name.lower())
        assert code == 2
        assert f"template.yaml:{line}: operation {name.lower()}: its function {name} is not run here: {why}" in said
    assert "1 passed" in empty.pytest("tests/test_clerk.py", "-k", "runs_once").stdout
    assert "2 skipped" in empty.pytest("tests/test_jvm.py").stdout
    assert "Jvm is not run by `once run`" in empty.text("tests/test_jvm.py"), "why is said where it is skipped"


SEND = """
import sys
from pathlib import Path
from oncekit.local.once_cloud import LocalCloud
from oncekit.contract.lanes import MACHINES

with LocalCloud(Path("template.yaml")) as cloud:
    for lane, machine in MACHINES.items():
        request = '{"operation": "jvm", "idempotencyKey": "' + lane + '", "payload": {}}'
        cloud.client("stepfunctions").start_execution(stateMachineArn=cloud.once.outputs[machine], input=request)
        cloud.settle()
        record = cloud.record("default#jvm#" + lane)
        print(record["status"], record["attempts"], record["error"]["name"], record["error"]["message"])
"""


def test_a_function_whose_code_is_missing_is_named_with_its_line(empty: Application) -> None:
    add(empty, "Lost", "Runtime: python3.13, Handler: app.handler, CodeUri: nowhere/")
    adopt(empty, "Lost")
    code, _, said = run(empty, "lost")
    assert code == 2 and "template.yaml:3: operation lost: its function Lost is not run here: its CodeUri" in said, said
    red = empty.pytest("tests/test_lost.py").stdout
    told = [each for each in red.splitlines() if each.startswith("E ") and "Lost is not run here: its CodeUri" in each]
    assert len(told) == 2 and "oncekit/" not in red, "no frames of Once's own"


def test_a_request_from_elsewhere_for_what_cannot_run_here_says_so_and_not_to_deploy_it(empty: Application) -> None:
    """As `once send` to `once up` starts it, or a rule."""
    add(empty, "Jvm", "Runtime: java21, Handler: 'shop.Pay::pay', CodeUri: java/")
    adopt(empty, "Jvm")
    done = subprocess.run([sys.executable, "-c", SEND], cwd=empty.folder, capture_output=True, text=True, timeout=120)
    for line in done.stdout.splitlines():
        assert "QUARANTINED 1 NeedsAttention the local cloud does not run the function once-Jvm: it has" in line, line
        assert "it has the Runtime java21" in line
    assert len(done.stdout.splitlines()) == 2, done.stderr


PYTHON = "Runtime: python3.13, Handler: app.handler, CodeUri: py/"
LIST = "left-pad\n"
NOT_LOADED: dict[str, tuple[str, dict[str, str], str]] = {
    "no package of Node.js": (
        NODE,
        {"node/app.js": "require('left-pad')\n"},
        "Cannot find module 'left-pad': run `sam build`, or `npm install` in ",
    ),
    "no package of an ES module": (
        NODE,
        {"node/app.mjs": "import 'left-pad'\nexport const handler = async () => 1\n"},
        "Cannot find package 'left-pad' imported from ",
    ),
    "a module of its own, in Node.js": (
        NODE,
        {"node/app.js": "require('./prices')\n"},
        "Cannot find module './prices' (node/app.js:1). ",
    ),
    "no such handler in Node.js": (
        NODE,
        {"node/app.js": ""},
        "app.handler is undefined or not exported: the Handler is app.handler; correct it in the template, or",
    ),
    "a sentence of AWS's": (
        NODE.replace("22", "24"),
        {"node/app.js": "exports.handler = (event, context, done) => done(null, 1)\n"},
        "ERROR: AWS Lambda has removed support for callback-based function handlers starting with Node.js 24. You need "
        "to modify this function to use a supported handler signature to use Node.js 24 or later. For more information "
        "see https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html. template.yaml:3: operation clerk",
    ),
    "wrong syntax in Node.js": (NODE, {"node/app.js": "\nexports = (\n"}, "SyntaxError: Unexpected end of input"),
    "a package of requirements.txt": (
        PYTHON,
        {"py/app.py": "import left_pad\n", "py/requirements.txt": LIST},
        "No module named 'left_pad': install what py/requirements.txt names, with `",
    ),
    "a package of nothing": (
        PYTHON,
        {"py/app.py": "import left_pad\n"},
        "No module named 'left_pad': it is neither in the function's code nor in its layers; if it is a package, name "
        "it in py/requirements.txt, and install it with `",
    ),
    "a module of its own": (
        PYTHON,
        {"py/app.py": "import shop.prices\n", "py/shop/__init__.py": "", "py/requirements.txt": LIST},
        "No module named 'shop.prices': shop is in the function's own code, and has no shop/prices.py. ",
    ),
    "its own folder": (
        PYTHON.replace("py/", "src/"),
        {"src/app.py": "from src.prices import PRICES\n", "src/prices.py": "", "src/requirements.txt": LIST},
        "No module named 'src': import what is in src without `src.`: that folder is what Lambda has as its root. ",
    ),
    "a folder beside its own": (
        PYTHON,
        {"py/app.py": "from shop.prices import PRICES\n", "shop/prices.py": "", "py/requirements.txt": LIST},
        "No module named 'shop': shop is not in py, which is the folder that Lambda has as its root: move what is "
        "imported in there, or into a layer. ",
    ),
    "a package that a folder is named after": (
        PYTHON,
        {"py/app.py": "import left_pad\n", "left_pad/rows.py": "", "py/requirements.txt": LIST},
        "No module named 'left_pad': install what py/requirements.txt names, with `",
    ),
    "no such file": (
        PYTHON,
        {"py/main.py": "", "py/requirements.txt": LIST},
        "No module named 'app': the Handler is app.handler, and py has no app.py. ",
    ),
    "no such handler": (
        PYTHON,
        {"py/app.py": ""},
        "Handler 'handler' missing on module 'app': the Handler is app.handler; correct it in the template, or",
    ),
    "wrong syntax": (
        PYTHON,
        {"py/app.py": "def handler(\n"},
        "Syntax error in module 'app': '(' was never closed (app",
    ),
    "an error of its own": (PYTHON, {"py/app.py": "\nimport os; os.environ['T']\n"}, "KeyError: 'T' (py/app.py:2). "),
}


@pytest.mark.parametrize(("properties", "files", "said"), NOT_LOADED.values(), ids=NOT_LOADED)
def test_what_cannot_be_loaded_is_said_once_with_what_to_do_and_not_started(
    empty: Application, properties: str, files: dict[str, str], said: str
) -> None:
    add(empty, "Clerk", properties, files)
    adopt(empty, "Clerk")
    code, told, printed = run(empty, "clerk")
    assert (code, told) == (1, {}) and printed.splitlines()[-1].startswith(f"once: {said}"), printed
    assert "template.yaml:3: operation clerk: its function Clerk cannot be loaded, so it is not started." in printed
    assert printed.count(said) == 1 and "LAMBDA_WARNING" not in printed and "Attempt" not in printed


@pytest.mark.parametrize(
    ("options", "listed", "said"),
    [
        ((), LIST, "install what py/requirements.txt names, with `"),
        (("--direct",), LIST, "install what py/requirements.txt names, with `"),
        (("--direct",), None, "it is neither in the function's code nor in its layers"),  # which have Once's own list
    ],
)
def test_each_generated_test_says_why_its_function_cannot_be_loaded(
    empty: Application, options: tuple[str], listed: str | None, said: str
) -> None:
    add(
        empty,
        "Clerk",
        PYTHON,
        {"py/app.py": "import left_pad\n", **({"py/requirements.txt": listed} if listed else {})},
    )
    assert empty.once("init").code == 0
    (empty.folder / "sample.json").write_text('{"id": "1"}')
    done = empty.once("new", "clerk", "--function", "Clerk", "--example", "sample.json", *options)
    assert done.code == 0, done.err
    failed = [line for line in empty.pytest("tests").stdout.splitlines() if line.startswith("E  ")]
    assert len(failed) == 2
    assert all(f"NotLoadedError: No module named 'left_pad': {said}" in line for line in failed), failed


def test_up_says_once_why_a_function_cannot_be_loaded_and_goes_on(empty: Application, tmp_path: Path) -> None:
    files = {"py/app.py": "import left_pad\n", "py/requirements.txt": LIST}
    add(empty, "Clerk", f"{PYTHON}, FunctionName: clerk", files)
    adopt(empty, "Clerk")
    with once_up(empty.folder, tmp_path) as up:
        up.wait_for("operation clerk: its function Clerk cannot be loaded")
        functions = boto3.client("lambda", endpoint_url=up.given["AWS_ENDPOINT_URL"], **keys(up.given))
        for _ in range(3):
            functions.invoke(FunctionName="clerk", Payload=b"{}")
        (empty.folder / "py/left_pad.py").write_text("def handler(event, context): return 1")
        (empty.folder / "py/app.py").write_text("from left_pad import handler")
        up.wait_for("✓ Deployed again: ")
    said = up.err.read_text()
    assert said.count("✗ No module named 'left_pad': install what py/requirements.txt names") == 1
    assert said.count("Runtime.ImportModuleError") <= 2 and "LAMBDA_WARNING" not in said, said
