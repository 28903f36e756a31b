"""Tests that ask AWS: what came of them, by the row that each of them names."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from oncekit.evidence.finding import GREEN, NOBODY, RED, Finding

ROOT = Path(__file__).parents[2]
PASSED = "PASSED"


def run_tests(arguments: Sequence[str], others: str) -> Iterator[Finding]:
    """Findings of `pytest ARGUMENTS --backend=aws`; `others` is the row of tests that name none."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "--backend=aws", f"--junitxml={report}", *arguments]
        done = subprocess.run(command, cwd=ROOT, check=False)  # noqa: S603
        if not report.exists():
            yield Finding(others, PASSED, f"pytest ended with {done.returncode}, and ran no test", NOBODY)
            return
        yield from findings_in(report.read_bytes(), others)


def findings_in(report: bytes, others: str) -> Iterator[Finding]:
    """Of a report in JUnit's form, whose tests have their rows as properties. Half a row is not
    green: where a test was skipped, nobody has looked."""
    outcomes: dict[str, list[tuple[str, str]]] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314 pytest has just written it
        named = [each.get("value", "") for each in case.iter("property") if each.get("name") == "row"]
        for row in named or [others]:
            outcomes.setdefault(row, []).append((_outcome(case), f"{case.get('name')}: {_told(case)}"))
    for row, each in outcomes.items():
        failed = [told for outcome, told in each if outcome == RED]
        skipped = [told for outcome, told in each if outcome == NOBODY]
        ran = len(each) - len(skipped)
        if failed:
            yield Finding(row, PASSED, f"{len(failed)} of {ran} failed: {failed[0]}", RED)
        elif skipped:
            yield Finding(row, PASSED, f"{ran} of {len(each)} passed; skipped: {skipped[0]}", NOBODY)
        else:
            yield Finding(row, PASSED, f"{PASSED}: {ran} tests", GREEN)


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return RED
    return NOBODY if case.find("skipped") is not None else GREEN


def _told(case: ElementTree.Element) -> str:
    told = [each.get("message", "") for each in case if each.tag in ("failure", "error", "skipped")]
    return told[0] if told else ""
