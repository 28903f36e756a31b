"""One world for the tests of the proof, in a process of its own: a test session has a local cloud open already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from in_world import done

ROOT = Path(__file__).parents[2]
LONGEST_SECONDS = 280


class InWorld:
    """Does a function of `tests/proof/in_world.py` in another process, whose world it is given; what it returns.

    The process and its world stay for the next call: opening a world takes longer than most of what is done in it.
    """

    def __init__(self) -> None:
        self._pools: dict[int, Pool] = {}

    def __call__(self, act: Callable[..., Any], *arguments: Any, root: Path = ROOT, hash_seed: int = 0) -> Any:
        """`root` is another project's folder; another seed of Python's hashes has a process of its own."""
        if hash_seed not in self._pools:
            with patch.dict(os.environ, {"PYTHONHASHSEED": str(hash_seed), "PATH": ""}, clear=True):
                self._pools[hash_seed] = get_context("spawn").Pool(1)
        return self._pools[hash_seed].apply_async(done, (root, act, arguments)).get(LONGEST_SECONDS)

    def end(self) -> None:
        for pool in self._pools.values():
            pool.terminate()


@pytest.fixture(scope="session")
def in_world() -> Iterator[InWorld]:
    runs = InWorld()
    yield runs
    runs.end()


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str, str], Path]:
    """A copy of the project with a text replaced by another in the template, or in each state machine that has it."""

    def copy(old: str, new: str) -> Path:
        parts = ("api", "operations", "announcements", "examples")
        for name in ("template.yaml", *parts, "statemachine", "functions", "shared"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tmp_path / name)
        ends = (tmp_path / "announcements/template.yaml", tmp_path / "functions/announce_end/announcement.py")
        written = [tmp_path / "template.yaml", *(tmp_path / "statemachine").iterdir(), *ends]
        texts = {each: each.read_text(encoding="utf-8") for each in written}
        changed = {each: text.replace(old, new) for each, text in texts.items() if old in text}
        assert changed, old
        for definition, text in changed.items():
            definition.write_text(text, encoding="utf-8")
        return tmp_path

    return copy
