"""The tools that tests run, each in an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool(name: str) -> Path:
    """A tool of `make lint`; the test is skipped where it is not installed, which in CI is a failure."""
    path = ROOT / name
    if not path.exists():
        assert not os.environ.get("CI"), f"{name} is missing: run make lint"
        pytest.skip(f"{name} is not installed; `make lint` installs it")
    return path
