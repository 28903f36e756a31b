"""A client that a tool generates from docs/openapi.yaml talks to the API."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from http_client import POOL, token

from oncekit.local import LocalCloud

ROOT = Path(__file__).parents[2]
BIN = ROOT / ".venv-client" / "bin"


@pytest.fixture
def once_client(tmp_path: Path) -> Path:
    """The folder with the package `once_client`; skipped where its generator is not installed, a failure in CI."""
    if not (BIN / "openapi-python-client").exists():
        assert not os.environ.get("CI"), "the generator of clients is missing: run make tools"
        pytest.skip("the generator of clients is not installed; `make tools` installs it")
    where = ["--path", str(ROOT / "docs/openapi.yaml"), "--output-path", str(tmp_path / "once_client")]
    command = [str(BIN / "openapi-python-client"), "generate", *where, "--meta", "none"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    return tmp_path


def test_a_generated_client_requests_an_operation_and_reads_every_answer(cloud: LocalCloud, once_client: Path) -> None:
    claims = {"exp": cloud.clock.now() + 3600, "custom:tenant": "acme"}
    script = Path(__file__).with_name("generated_client.py")
    with cloud.deployed_with({"HttpUserPoolArn": POOL}):
        command = [str(BIN / "python"), str(script), str(once_client), cloud.http_url, token(cloud, **claims)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, again, asked, mismatch = json.loads(done.stdout)
    assert [each["status"] for each in (first, again, asked, mismatch)] == [200, 200, 200, 422]
    assert first["parsed"] == again["parsed"] == asked["parsed"]
    assert first["parsed"]["amount"] == 4200
    assert (first["replayed"], again["replayed"]) == (None, "true")
    assert mismatch["parsed"]["type"] == "urn:problem-type:once:payload-mismatch"
