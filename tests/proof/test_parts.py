"""The command of the proof: each of its parts is where the command looks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_part_of_the_proof_is_there() -> None:
    """Their modules are named by text, which no type checker follows."""
    done = subprocess.run(
        [sys.executable, "-m", "oncekit.proof", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
