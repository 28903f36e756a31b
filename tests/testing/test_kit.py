"""What a user may expect of the test kit. The proof runs the matrix of the examples, too."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping

import pytest
from kit import APPLICATION, assert_holds, outcomes_of

FEWEST = {
    "test_bootstrap.py": 6,
    "test_direct_lane.py": 4,
    "test_elsewhere.py": 4,
    "test_faults.py": 16,
    "test_matrix.py": 4,
    "test_matrix_findings.py": 16,
    "test_outside.py": 29,
    "test_page.py": 7,
    "test_strikes.py": 31,
    "test_values.py": 2,
}
"""Tests that each file has at least."""
WITH_NODE = {"test_node.py": 18}
if shutil.which("node") is not None:
    FEWEST |= WITH_NODE
IN_THE_PROOF = {"test_examples.py"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    return outcomes_of(FEWEST, tmp_path_factory.mktemp("kit"))


@pytest.mark.parametrize("file", FEWEST)
def test_what_a_user_may_expect_of_the_kit_holds(outcomes: Mapping[str, list[str]], file: str) -> None:
    assert_holds(outcomes[file], FEWEST[file])


def test_every_file_of_the_application_is_run_here_or_in_the_proof() -> None:
    assert {path.name for path in APPLICATION.glob("test_*.py")} == {*FEWEST, *WITH_NODE, *IN_THE_PROOF}


def test_a_run_that_uses_no_fixture_imports_nothing_of_the_local_cloud() -> None:
    program = "import oncekit.testing.plugin, sys; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {
        name for name in ("moto", "boto3", "botocore", "yaml", "oncekit.local", "once") if f"'{name}'" in done.stdout
    }
    assert not loaded
