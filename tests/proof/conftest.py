"""One world for the tests of the proof, in a process of its own: a test session has a local cloud open already."""

from __future__ import annotations

import json
import shutil
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


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the project in which one of the state machines has one text replaced by another."""

    def copy(old: str, new: str) -> Path:
        for name in ("template.yaml", "statemachine", "functions", "shared"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tmp_path / name)
        texts = {each: each.read_text(encoding="utf-8") for each in (tmp_path / "statemachine").iterdir()}
        [definition] = [each for each, text in texts.items() if old in text]
        definition.write_text(texts[definition].replace(old, new), encoding="utf-8")
        return tmp_path

    return copy
