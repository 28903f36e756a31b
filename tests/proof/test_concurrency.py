"""Definition and library at work in 32 processes that are killed: one effect an id and step, and no money missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oncekit.proof.concurrency.server import ROOT

SECONDS = 4


@pytest.mark.usefixtures("dynoxide")
def test_five_hundred_transfers_survive_being_killed_by_thirty_two_processes() -> None:
    # A process of its own: it forks, which a process with threads must not.
    done = subprocess.run(
        [sys.executable, "-m", "oncekit.proof.concurrency", "--seconds", str(SECONDS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("✓ 32 processes, 500 ids"), done.stdout
