"""Owners are processes, the table is atomic, and a process can be killed anywhere: one effect, one answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dynoxide import DYNOXIDE, Connection, server
from killing import EFFECTS, RECORDS, STEPS

OWNERS, SEED = 30, 7
KILLING = Path(__file__).with_name("killing.py")


@pytest.mark.skipif(not DYNOXIDE.exists() and not os.environ.get("CI"), reason="`make tools` installs Dynoxide")
def test_operation_of_a_killed_process_is_completed_by_another_one_once() -> None:
    path = os.pathsep.join(map(str, (KILLING.parents[2] / "shared", KILLING.parents[2])))
    with server(RECORDS, EFFECTS) as port:
        # A process of its own: it forks, which a process with threads must not.
        done = subprocess.run(
            [sys.executable, str(KILLING), str(port), str(SEED), str(OWNERS)],
            capture_output=True,
            text=True,
            timeout=180,
            env={"PYTHONPATH": path, "POWERTOOLS_LOG_LEVEL": "CRITICAL", "PATH": ""},
        )
        assert done.returncode == 0 and not done.stderr, done.stderr[-3000:]
        runs = list(map(json.loads, done.stdout.splitlines()))
        effects = {item["id"]["S"]: item["n"]["N"] for item in Connection(port).items(EFFECTS)}
        records = {item["id"]["S"]: item for item in Connection(port).items(RECORDS)}
    assert len(runs) == OWNERS
    assert {"AcquireLock", "ExecuteBusinessLogic", "write", "Finalize"} <= {
        where.split()[-1] for _, where, _, _ in runs
    }
    for id, where, heir, duplicate in runs:
        assert records[id]["status"] == {"S": "COMPLETED"}, where
        assert heir == duplicate == [None, records[id]["result"]["S"]], where
        assert {name: effects[f"{id}/{name}"] for name in STEPS} == dict.fromkeys(STEPS, "1"), where
    assert {record["fence"]["N"] for record in records.values()} == {"1", "2"}, "some were taken over"
