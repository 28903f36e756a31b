"""What runs a function on this machine, by its Runtime: a runtime client for Python or Node.js, or its `bootstrap`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from oncekit.local.lambda_runtime.spec import FunctionSpec

PYTHON, NODE, PROVIDED = "python", "nodejs", "provided"
NAMES = {PYTHON: "Python", NODE: "Node.js", PROVIDED: "a runtime of its own"}
NODE_FILES = (".js", ".mjs", ".cjs")
"""How the names of the files end that it loads."""
_HERE = Path(__file__).parent
ENTRIES = {PYTHON: _HERE / "entry.py", NODE: _HERE / "entry.cjs", PROVIDED: _HERE / "bootstrap.py"}
"""By language, the file that runs first in a function's process. The test kit has its own before each."""
_SINCE_NODE_24 = "experimental-require-module"
"""`require` of an ES module."""
_IN_NODE_20_AND_24 = "experimental-detect-module"
"""Node.js finds out itself which kind of module a file is."""

AN_IMAGE = "it is an image, and containers do not run here"


def language(runtime: str) -> str | None:
    """One of those that run here; None for any other."""
    return next((each for each in ENTRIES if runtime.startswith(each)), None)


def runtime_in(code: Path) -> str:
    """That of a function of which only the folder is known."""
    if (code / "bootstrap").is_file():
        return PROVIDED
    return NODE if any((code / f"app{end}").is_file() for end in NODE_FILES) else PYTHON


def why_not(runtime: str) -> str | None:
    """Why no function of a Runtime runs on this machine; None where it does."""
    known = language(runtime)
    if known is None:
        return f"it has the Runtime {runtime}, and Python, Node.js and an executable `bootstrap` are what runs here"
    if known == NODE and shutil.which("node") is None:
        return f"it has the Runtime {runtime}, and there is no `node` on this machine's PATH: install Node.js"
    return None


def command_of(spec: FunctionSpec) -> list[str]:
    """Starts its runtime client."""
    known = language(spec.runtime)
    assert known is not None, "a function in any other language is in name only"
    # -P: the folder of entry.py does not belong on a function's import path.
    ours = [sys.executable, "-P"]
    # -I: nor is what that folder has meant for what is ours.
    interpreters = {PYTHON: ours, NODE: _node_of(spec), PROVIDED: [sys.executable, "-I"]}
    return [*interpreters[known], str(ENTRIES[known]), spec.handler]


def node_version(runtime: str) -> int:
    """That of Node.js by the Runtime of a function; 0 where it says none."""
    number = runtime.removeprefix(NODE).partition(".")[0]
    return int(number) if number.isdecimal() else 0


def _node_of(spec: FunctionSpec) -> list[str]:
    """Without what the machine's version does unasked and the function's does not, or Lambda has turned off in it.

    https://docs.aws.amazon.com/lambda/latest/dg/lambda-nodejs.html: both for Node.js 22, the first for 20, unless the
    function's NODE_OPTIONS turn it on. That 18 does neither (V119), and that 24 turns off none (V120), is unconfirmed.
    """
    node, version = shutil.which("node") or "node", node_version(spec.runtime)
    off = [_SINCE_NODE_24] if version < 24 else []
    off += [_IN_NODE_20_AND_24] if version < 24 and version != 20 else []
    wanted = spec.environment.get("NODE_OPTIONS", "")
    return [node, *(f"--no-{flag}" for flag in off if f"--{flag}" not in wanted and flag in _flags(node))]


@cache
def _flags(node: str) -> str:
    """Those that a `node` knows; it does not start with another one."""
    told = "[...process.allowedNodeEnvironmentFlags].join()"
    return subprocess.run([node, "-p", told], capture_output=True, text=True, check=False).stdout  # noqa: S603
