"""One world for the tests of the proof, in a process of its own: a test session has a local cloud open already."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_SECONDS = 280


class InWorld:
    """Runs functions of `tests/proof/in_world.py` in another process, and gives what they return.

    The process and its world stay for the next call: opening a world takes longer than most of what is done in it.
    Another seed of Python's hashes has a process of its own.
    """

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        self._processes: dict[int, subprocess.Popen[str]] = {}

    def __call__(self, name: str, *arguments: Any, root: Path = ROOT, hash_seed: int = 0) -> Any:
        process = self._process(hash_seed)
        assert process.stdin is not None and process.stdout is not None
        late = threading.Timer(LONGEST_SECONDS, process.kill)
        late.start()
        try:
            print(json.dumps([str(root), name, arguments]), file=process.stdin, flush=True)
            said = process.stdout.readline()
        finally:
            late.cancel()
        if not said:
            self.end()
            raise AssertionError(self._errors.read_text()[-3000:])
        return json.loads(said)

    def _process(self, hash_seed: int) -> subprocess.Popen[str]:
        if hash_seed not in self._processes:
            with self._errors.open("a") as errors:
                self._processes[hash_seed] = subprocess.Popen(
                    [sys.executable, str(Path(__file__).with_name("in_world.py")), str(ROOT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env={"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}", "PATH": ""},
                )
        return self._processes[hash_seed]

    def end(self) -> None:
        """End the processes; the next call starts another one."""
        for process in self._processes.values():
            process.kill()
            process.communicate()
        self._processes.clear()


@pytest.fixture(scope="session")
def in_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InWorld]:
    """Runs a function of `tests/proof/in_world.py` in a world; what it returns. `root` is another project's folder."""
    runs = InWorld(tmp_path_factory.mktemp("world") / "errors.txt")
    yield runs
    runs.end()


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the project with a text replaced by another in the template, or in each state machine that has it."""

    def copy(old: str, new: str) -> Path:
        for name in ("template.yaml", "api", "operations", "statemachine", "functions", "shared"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tmp_path / name)
        written = [tmp_path / "template.yaml", *(tmp_path / "statemachine").iterdir()]
        texts = {each: each.read_text(encoding="utf-8") for each in written}
        changed = {each: text.replace(old, new) for each, text in texts.items() if old in text}
        assert changed, old
        for definition, text in changed.items():
            definition.write_text(text, encoding="utf-8")
        return tmp_path

    return copy
