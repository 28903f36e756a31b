"""The fuzzer: what it finds in the project, and that it finds something in a broken one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oncekit.proof.fuzz.judge import Judge, Stack

ROOT = Path(__file__).parents[2]
FAST, CLOUD = ("request", "reply", "record"), ("message", "endpoint", "http-api", "cli")


def fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: a test session has a local cloud open already."""
    return subprocess.run(
        [sys.executable, "-m", "oncekit.proof.fuzz", "--workers", "1", *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}", "PATH": ""},
    )


def only(*kinds: str) -> list[str]:
    return [word for kind in kinds for word in ("--only", kind)]


@pytest.mark.parametrize(("kinds", "cases"), [(FAST, 120), (CLOUD, 15)], ids=["fast lane", "local cloud"])
def test_odd_input_crashes_nothing_prints_nothing_raw_and_touches_nothing_of_another(
    kinds: tuple[str, ...], cases: int
) -> None:
    done = fuzz(*only(*kinds), "--cases", str(cases), "--seed", "10")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert re.findall(r"^✓ ([\w-]+): [1-9]\d* cases, 0 findings$", done.stdout, re.MULTILINE) == list(kinds)


@pytest.mark.parametrize(
    ("kind", "cases", "old", "new", "finding"),
    [
        (
            "request",
            30,
            "or $not($contains($tenant, /^[a-z][a-z0-9-]{0,39}$/))",
            "or $tenant = ''",
            "is taken, and should be refused",
        ),
        (
            "reply",
            12,
            "Key: \"{% 'requests/' & $request.tenant & '/' & $request.idHash",
            "Key: \"{% 'requests/' & $request.idHash",
            "puts another's object",
        ),
        ("http-api", 15, "$util.urlEncode($input.body)", "$input.body", "refuses what should be taken"),
        ("http-api", 15, "$util.urlEncode($headers.get($name))", "$headers.get($name)", "refuses what should be taken"),
    ],
    ids=["tenant", "kept request", "spliced body", "spliced header"],
)
def test_a_broken_definition_is_found_and_its_case_repeats_by_the_command_that_is_printed(
    kind: str, cases: int, old: str, new: str, finding: str, broken: Callable[[str, str], Path]
) -> None:
    template = ("--template", str(broken(old, new) / "template.yaml"))
    done = fuzz(*only(kind), "--cases", str(cases), *template)
    assert (done.returncode, finding in done.stdout) == (1, True), done.stdout[-3000:]
    case = re.findall(rf"  case (\d+): .*{finding}.*\n    python -m oncekit.proof\.fuzz (.*)", done.stdout)[0]
    again = fuzz(*case[1].split(), *template)
    assert (again.returncode, finding in again.stdout) == (1, True)
    assert case[1] == f"--only {kind} --seed 1 --case {case[0]}"


def test_one_case_alone_is_of_one_kind() -> None:
    assert fuzz("--case", "1").returncode == 2


def test_recovery_may_only_look_for_a_request_that_is_to_be_refused() -> None:
    stack = Stack("table", "bucket", "queue", "once_op-", "live", "cache")
    judge = Judge(stack, named="default#charge#k")

    def wrong(resource: str, **arguments: object) -> bool:
        return bool(list(judge.of(resource, arguments)))

    own, other = {"id": {"S": "default#charge#k"}}, {"id": {"S": "acme#charge#k"}}
    assert not wrong("dynamodb:getItem", TableName="table", Key=own)
    assert wrong("dynamodb:getItem", TableName="table", Key=other)
    assert wrong("dynamodb:getItem", TableName="other", Key=own)
    assert wrong("dynamodb:updateItem", TableName="table", Key=own)
    assert not wrong("sfn:describeExecution", ExecutionArn=stack.execution("e1"))
    assert wrong("sfn:describeExecution", ExecutionArn="arn:aws:states:us-east-1:123456789012:execution:Other:e1")
    assert wrong("sfn:redriveExecution", ExecutionArn=stack.execution("e1"))
    assert wrong("lambda:invoke", FunctionName="once_op-charge")
