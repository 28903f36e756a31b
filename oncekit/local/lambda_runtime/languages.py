"""What runs a function on this machine, by its Runtime: a runtime client for Python or Node.js, or its `bootstrap`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from oncekit.local.lambda_runtime.spec import FunctionSpec

PYTHON, NODE, PROVIDED = "python", "nodejs", "provided"
NAMES = {PYTHON: "Python", NODE: "Node.js", PROVIDED: "a runtime of its own"}
NODE_FILES = (".js", ".mjs", ".cjs")
"""How the names of the files end that it loads."""
_HERE = Path(__file__).parent
ENTRIES = {PYTHON: _HERE / "entry.py", NODE: _HERE / "entry.cjs", PROVIDED: _HERE / "bootstrap.py"}
"""By language, the file that runs first in a function's process. The test kit has its own before each."""


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
    interpreters = {PYTHON: ours, NODE: [shutil.which("node") or "node"], PROVIDED: [sys.executable, "-I"]}
    return [*interpreters[known], str(ENTRIES[known]), spec.handler]
