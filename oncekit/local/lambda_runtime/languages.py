"""What runs a function on this machine, by its Runtime: AWS's runtime client for Python, or our own for Node.js."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from oncekit.local.lambda_runtime.spec import FunctionSpec

PYTHON, NODE = "python", "nodejs"
NAMES = {PYTHON: "Python", NODE: "Node.js"}
NODE_FILES = (".js", ".mjs", ".cjs")
"""How the names of the files end that it loads."""
_HERE = Path(__file__).parent
ENTRIES = {PYTHON: _HERE / "entry.py", NODE: _HERE / "entry.cjs"}
"""By language, the file that runs first in a function's process. The test kit has its own before each."""


AN_IMAGE = "it is an image, and containers do not run here"


def language(runtime: str) -> str | None:
    """One of those that run here; None for any other."""
    return next((each for each in ENTRIES if runtime.startswith(each)), None)


def why_not(runtime: str) -> str | None:
    """Why no function of a Runtime runs on this machine; None where it does."""
    known = language(runtime)
    if known is None:
        return f"it has the Runtime {runtime}, and functions in Python and Node.js are what runs here"
    if known == NODE and shutil.which("node") is None:
        return f"it has the Runtime {runtime}, and there is no `node` on this machine's PATH: install Node.js"
    return None


def command_of(spec: FunctionSpec) -> list[str]:
    """Starts its runtime client."""
    known = language(spec.runtime)
    assert known is not None, "a function in any other language is in name only"
    # -P: the folder of entry.py does not belong on a function's import path.
    interpreters = {PYTHON: [sys.executable, "-P"], NODE: [shutil.which("node") or "node"]}
    return [*interpreters[known], str(ENTRIES[known]), spec.handler]
