"""The clock of a command is that of the local cloud that it asks, which the console may have moved ahead."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from operating import ID, Operator, put

HOUR = 3600
COMMAND = "from oncekit.cli.main import main; main()"


def test_a_lease_is_over_by_the_clock_of_the_local_cloud(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    put(operator, ID, "IN_PROGRESS", int(time.time()) + HOUR - 300)
    monkeypatch.setattr(operator.cloud.clock, "now", lambda: time.time() + HOUR)
    environment = {**os.environ, **operator.cloud.environment}  # a process of its own comes by the endpoint
    shown = subprocess.run(
        [sys.executable, "-c", COMMAND, "show", ID], env=environment, capture_output=True, text=True, check=True
    )
    assert "lease       over since 5 min" in shown.stdout
