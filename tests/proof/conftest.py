"""One world for the tests of the proof, in a process of its own: a test session has a local cloud open already."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def in_world() -> Callable[..., Any]:
    """Runs a function of `tests/proof/in_world.py` in a new process with a world; what it returns."""

    def run(name: str, *arguments: Any, root: Path = ROOT, hash_seed: int = 0) -> Any:
        program = Path(__file__).with_name("in_world.py")
        done = subprocess.run(
            [sys.executable, str(program), str(root), name, json.dumps(arguments)],
            capture_output=True,
            text=True,
            timeout=280,
            env={"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}", "PATH": ""},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run
