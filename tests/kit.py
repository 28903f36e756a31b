"""The test kit as a user has it: a pytest of its own, in a folder of its own, with the plugin that is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

APPLICATION = Path(__file__).with_name("testing") / "application"
UNUSED = ("cacheprovider", "schemathesis", "hypothesispytest")
"""Plugins that take a second of each process; the last imports all of hypothesis at the end of any run."""
PYTEST = [sys.executable, "-m", "pytest", "-q", *(each for name in UNUSED for each in ("-p", f"no:{name}"))]
OF_A_USER = ("-c", "/dev/null", "--rootdir", ".", "--confcutdir", ".")
"""Without the settings and the fixtures of this repository."""


def outcomes_of(files: Iterable[str], folder: Path) -> Mapping[str, list[str]]:
    """By file of the application: what failed, and as many empty texts as tests that passed."""
    report = folder / "report.xml"
    command = [*PYTEST, *OF_A_USER, f"--junitxml={report}", *files]
    done = subprocess.run(command, cwd=APPLICATION, capture_output=True, text=True, timeout=600)
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        failed = [each for each in case if each.tag in ("failure", "error", "skipped")]
        told = "\n".join(f"{case.get('name')}: {each.text}" for each in failed)
        found.setdefault(f"{str(case.get('classname')).rpartition('.')[2]}.py", []).append(told)
    return found


def assert_holds(outcomes: list[str], fewest: int) -> None:
    """That all tests of a file passed, and that there are as many: one that is not collected does not fail."""
    assert not (failed := [each for each in outcomes if each]), "\n".join(failed)
    assert len(outcomes) >= fewest
