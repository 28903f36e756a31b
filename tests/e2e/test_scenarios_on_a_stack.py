"""Some scenarios as `make e2e` runs them, against the stack of `once up`; the proof does so with all of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scenario_runs import ROOT, assert_empty, assert_told, command, run_id_of, stack_up

SOME = "ten_requests or declined_card or acknowledged or nothing_to_do"


def test_scenarios_hold_and_leave_nothing_behind(tmp_path: Path) -> None:
    with stack_up(tmp_path) as up:
        done = subprocess.run(
            command("--lane", "full", "-k", SOME),
            cwd=ROOT,
            env=up,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert_told(done.stdout, 1)
        assert_empty(up, run_id_of(done.stdout))
