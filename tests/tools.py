"""The tools that tests run, each in an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool(name: str, of: str = "make lint") -> Path:
    """A tool; the test is skipped where it is not installed, which in CI is a failure."""
    path = ROOT / name
    if not path.exists():
        assert not os.environ.get("CI"), f"{name} is missing: run {of}"
        pytest.skip(f"{name} is not installed; `{of}` installs it")
    return path
