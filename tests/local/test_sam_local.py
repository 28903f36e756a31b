"""`sam local invoke` with each function's event: in a container, where a container engine is there to run one.

What needs no engine is tried without one: what sam starts a container with, and what its answer means.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from as_sam import SAM, as_sam

pytestmark = pytest.mark.ours

ROOT = Path(__file__).parents[2]
FUNCTIONS = {
    "ChargePaymentFunction": ("charge-payment", "ProviderLedgerTable"),
    "PlaceOrderFunction": ("place-order", "IdempotencyTable"),
    "BuildReportFunction": ("build-report", "ResponseBucket"),
    "CacheResponseFunction": ("cache-response", "ResponseBucket"),
}
BUILDS = {
    "x86_64": (ROOT / ".aws-sam/x86_64/template.yaml", "sam build --config-env x86_64"),
    "arm64": (ROOT / "build/sam/template.yaml", "make lint"),
}
"""By architecture: where the functions are built, and by which command."""
BASE_IMAGE = "public.ecr.aws/lambda/python:3.13-{}"
"""What sam builds the image of a function from, and pulls each time."""


@pytest.fixture(scope="module")
def built() -> tuple[Path, str]:
    """The template that `sam build` made for this machine's processor, which a container engine that answers runs."""
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "info"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("no container engine answers here (docker info): `sam local invoke` is not run")
    if not SAM.exists():
        pytest.skip("`sam` is not installed: run `make sam` before this test")
    architecture = "x86_64" if platform.machine() in ("x86_64", "AMD64") else "arm64"
    template, build = BUILDS[architecture]
    if not template.exists():
        pytest.skip(f"the functions are not built for {architecture}: run `{build}`, with python3.13 on PATH")
    pulled = subprocess.run(
        [docker, "pull", BASE_IMAGE.format(architecture)], capture_output=True, text=True, timeout=600, check=False
    )
    if pulled.returncode:
        pytest.skip(f"the base image of the runtime cannot be pulled: {pulled.stderr.strip()}")
    return template, architecture


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_runs_alone_and_says_what_is_out_of_reach(
    built: tuple[Path, str], function: str, tmp_path: Path
) -> None:
    event, target = FUNCTIONS[function]
    template, architecture = built
    command = [SAM, "local", "invoke", function, "-t", template, "-e", ROOT / f"events/functions/{event}.json"]
    hidden = {"HOME": str(tmp_path), "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    ran = subprocess.run(
        [*command, "--parameter-overrides", f"Architecture={architecture}"],
        env={**os.environ, **hidden, "AWS_DEFAULT_REGION": "us-east-1", "SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    answer = answer_of(ran)
    assert answer["errorType"] == "OutOfReachError", ran.stderr
    assert answer["errorMessage"].startswith(f"{target} is out of reach: ")


def answer_of(ran: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What the function answered. sam ends with 0 also when it has no answer: what it says is on standard error."""
    lines = ran.stdout.strip().splitlines()
    assert ran.returncode == 0 and lines, f"no function answered, sam ended with {ran.returncode}:\n{ran.stderr}"
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


# ---- what needs no container ----


@pytest.mark.skipif(not SAM.exists(), reason="`sam` is not installed: run `make sam` before this test")
def test_sam_starts_a_function_with_the_variables_of_the_file_and_the_architecture(tmp_path: Path) -> None:
    endpoint = "http://host.docker.internal:4599"
    file = {"PlaceOrderFunction": {"ORDERS_TABLE": "once-Orders", "AWS_ENDPOINT_URL": endpoint, "NOT_DECLARED": "x"}}
    [made] = as_sam(ROOT / "template.yaml", file, tmp_path, {"Architecture": "x86_64"})
    assert {tuple(architectures) for architectures, _ in made.values()} == {("x86_64",)}
    order = made["PlaceOrderFunction"][1]
    assert (order["ORDERS_TABLE"], order["AWS_ENDPOINT_URL"]) == ("once-Orders", endpoint)
    assert "NOT_DECLARED" not in order
    assert made["ChargePaymentFunction"][1]["AWS_ENDPOINT_URL"] == "", "which leads nowhere: AWS's own endpoints"


def ended(out: str, err: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(["sam"], code, out, err)


@pytest.mark.parametrize("code", [0, 1])
def test_what_sam_says_is_shown_when_no_function_answered(code: int) -> None:
    with pytest.raises(AssertionError, match="Function timed out after 30 seconds"):
        answer_of(ended("\n", "Function timed out after 30 seconds", code))


def test_an_answer_is_the_last_line() -> None:
    assert answer_of(ended('a print\n{"a": 1}\n', "START")) == {"a": 1}
