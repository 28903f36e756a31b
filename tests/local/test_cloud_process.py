"""What can only be seen in a process of its own: opening and closing, the port, and following changed files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from copies import copy_project

pytestmark = pytest.mark.ours

ROOT = Path(__file__).parents[2]

SCRIPT = """
import os, socket, sys
from pathlib import Path
from oncekit.local import LocalCloud
from oncekit.local.definition import DefinitionError
from oncekit.local.start_errors import PortInUseError

payload = {"orderId": "1", "amount": 1, "currency": "EUR"}
charge = {"operation": "charge-payment", "idempotencyKey": "k", "payload": payload}
os.environ["AWS_PROFILE"] = "mine"
definition, handler = Path("statemachine/operation.asl.yaml"), Path("functions/charge_payment/app.py")
written = definition.read_text()

with LocalCloud(Path("template.yaml")) as cloud:
    assert "AWS_PROFILE" not in os.environ
    assert cloud.run(charge).output["disposition"] == "EXECUTED"

    definition.write_text(written.replace("'disposition': 'REPLAYED'", "'disposition': 'AGAIN'"))
    cloud.redeploy()
    assert cloud.run(charge).output["disposition"] == "AGAIN", "a changed definition, and the data that was there"

    definition.write_text(written.replace("${TableName}", "${Unknown}"))
    try:
        cloud.redeploy()
    except DefinitionError as error:
        print("said:", error)
    assert cloud.run(charge).output["disposition"] == "AGAIN", "a broken definition leaves what was there"

    definition.write_text(written)
    handler.write_text("def handler(event, context):\\n    return 'changed'\\n")
    cloud.redeploy()
    again = cloud.run({**charge, "idempotencyKey": "l"})
    assert again.output["result"] == '"changed"', again

assert os.environ["AWS_PROFILE"] == "mine"
with socket.socket() as busy:
    busy.bind(("127.0.0.1", 0))
    busy.listen()
    try:
        LocalCloud(Path("template.yaml"), port=busy.getsockname()[1]).__enter__()
    except PortInUseError as error:
        print("said:", error)
print("done")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project(tmp_path, changed=("functions", "statemachine"))


def test_cloud_opens_follows_changes_and_closes_without_a_trace(project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = [line for line in run.stdout.splitlines() if line.startswith("said:")]
    assert "${Unknown} has no substitution" in said[0]
    assert "is in use" in said[1]
    assert run.stdout.splitlines()[-1] == "done"
