"""Scenarios as `make e2e` runs them, against the stack of `once up`: all in the fast lane, some in the full one."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping

import pytest
from scenario_runs import ROOT, assert_empty, assert_told, command, outputs_of, running, stack_up

MOST_DOLLARS = 1


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    with stack_up(tmp_path_factory.mktemp("up")) as environment:
        yield environment


def alike(text: str) -> set[str]:
    """The lines, with every number and id alike."""
    return {re.sub(r"\d[\d.:]*", "n", re.sub(r"e2e-[0-9a-f]{8}", "e2e", line)) for line in text.splitlines()}


def test_every_scenario_holds_and_leaves_nothing_behind(up: Mapping[str, str]) -> None:
    done = subprocess.run(
        command("--lane", "fast"), cwd=ROOT, env=up, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout
    assert_told(done.stdout, MOST_DOLLARS)
    assert_empty(up)
    [shown] = re.findall(r"\$ make e2e STACK=[^\n]*\n(.*?)```", (ROOT / "docs/deploy.md").read_text(), re.DOTALL)
    lines = alike("\n".join(line for line in shown.splitlines() if line != "..." and "passed in" not in line))
    assert lines <= alike(done.stdout)


def test_scenarios_hold_in_the_full_lane(up: Mapping[str, str]) -> None:
    some = "ten_requests or declined_card or acknowledged or nothing_to_do"
    full = command("--lane", "full", "-k", some)
    done = subprocess.run(full, cwd=ROOT, env=up, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout
    assert_told(done.stdout, MOST_DOLLARS)
    assert_empty(up)


def test_interrupted_run_leaves_nothing_behind(up: Mapping[str, str]) -> None:
    machine = outputs_of(up)["StateMachineArn"]
    at_work = command("--lane", "full", "-k", "stopped_owner_that_must_not_run_again or acknowledged")
    process = subprocess.Popen(at_work, cwd=ROOT, env=up, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if "PASSED" in line:
            break
    end = time.monotonic() + 60
    while not running(up, machine):  # a signal between two scenarios would strike pytest itself
        assert time.monotonic() < end and process.poll() is None, printed
    process.send_signal(signal.SIGTERM)
    printed += process.stdout.read()
    assert process.wait(120) == 2, printed
    assert "KeyboardInterrupt" in printed
    assert_empty(up)
