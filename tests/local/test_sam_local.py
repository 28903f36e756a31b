"""`sam local invoke` with each function's event: in a container, where a container engine is there to run one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.ours

ROOT = Path(__file__).parents[2]
SAM = ROOT / ".venv-sam" / "bin" / "sam"
BUILT = ROOT / "build" / "sam" / "template.yaml"
FUNCTIONS = {
    "ChargePaymentFunction": ("charge-payment", "ProviderLedgerTable"),
    "PlaceOrderFunction": ("place-order", "IdempotencyTable"),
    "BuildReportFunction": ("build-report", "ResponseBucket"),
    "CacheResponseFunction": ("cache-response", "ResponseBucket"),
}


@pytest.fixture(scope="module")
def engine() -> None:
    """A container engine that answers, and what `make lint` builds for it."""
    docker = shutil.which("docker")
    answers = docker and subprocess.run([docker, "info"], capture_output=True, timeout=60, check=False).returncode == 0
    if not answers:
        pytest.skip("no container engine answers here (docker info): `sam local invoke` is not run")
    if not SAM.exists() or not BUILT.exists():
        pytest.skip("the functions are not built: run `make lint`, with python3.13 on PATH, before this test")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_runs_alone_and_says_what_is_out_of_reach(engine: None, function: str, tmp_path: Path) -> None:
    event, target = FUNCTIONS[function]
    hidden = {"HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    ran = subprocess.run(
        [SAM, "local", "invoke", function, "-t", BUILT, "-e", ROOT / f"events/functions/{event}.json"],
        env={**os.environ, **hidden, "AWS_DEFAULT_REGION": "us-east-1", "SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    answer = json.loads(ran.stdout.strip().splitlines()[-1])
    assert answer["errorType"] == "OutOfReachError", ran.stderr
    assert answer["errorMessage"].startswith(f"{target} is out of reach: ")
