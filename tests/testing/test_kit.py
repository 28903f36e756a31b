"""The test kit as a user has it: a pytest of its own, in a folder of its own, with the plugin that is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

APPLICATION = Path(__file__).with_name("application")
FEWEST = {"test_faults.py": 13, "test_matrix.py": 15, "test_page.py": 6, "test_request.py": 3}
"""Tests that each file has at least: one that is not collected does not fail."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """By file of the application: what failed, and as many empty texts as tests that passed."""
    report = tmp_path_factory.mktemp("kit") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    done = subprocess.run(
        [*command, f"--junitxml={report}", "."], cwd=APPLICATION, capture_output=True, text=True, timeout=600
    )
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        failed = [each for each in case if each.tag in ("failure", "error", "skipped")]
        told = "\n".join(f"{case.get('name')}: {each.text}" for each in failed)
        found.setdefault(f"{str(case.get('classname')).rpartition('.')[2]}.py", []).append(told)
    return found


@pytest.mark.parametrize("file", sorted(path.name for path in APPLICATION.glob("test_*.py")))
def test_what_a_user_may_expect_of_the_kit_holds(outcomes: Mapping[str, list[str]], file: str) -> None:
    assert not (failed := [each for each in outcomes[file] if each]), "\n".join(failed)
    assert len(outcomes[file]) >= FEWEST[file]


def test_a_run_that_uses_no_fixture_imports_nothing_of_the_local_cloud() -> None:
    program = "import oncekit.testing.plugin, sys; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {
        name for name in ("moto", "boto3", "botocore", "yaml", "oncekit.local", "once") if f"'{name}'" in done.stdout
    }
    assert not loaded
