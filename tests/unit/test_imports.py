"""Imports point inward, and what a request does not need is not on its cold path."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*ROOT.glob("shared/**/*.py"), *ROOT.glob("functions/**/*.py")])
FUNCTIONS = sorted(path.parent.name for path in ROOT.glob("functions/*/app.py"))
NEEDED_BY_EVERY_REQUEST = {"place_order": {"boto3"}}  # its conditions are boto3's
LAYER = {"boto3", "botocore", "aws_lambda_powertools", "jsonschema", "fastjsonschema"}


def imported(path: Path, *, run: bool) -> Iterator[str]:
    """The top-level packages that a file imports; with `run`, without those that only a type checker sees."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for test in ast.walk(tree)
        if run and isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield str(node.module).partition(".")[0]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_shipped_knows_nothing_of_the_local_cloud_or_the_command(path: Path) -> None:
    assert not {"oncekit", "moto", "tests"} & set(imported(path, run=False))


@pytest.mark.parametrize("path", sorted(ROOT.glob("shared/**/*.py")), ids=lambda path: path.stem)
def test_the_library_needs_nothing_that_the_layer_lacks(path: Path) -> None:
    assert set(imported(path, run=True)) <= LAYER | {"once"} | set(sys.stdlib_module_names)


@pytest.mark.parametrize("folder", FUNCTIONS)
def test_a_function_needs_only_its_folder_and_the_library(folder: str) -> None:
    own = {path.stem for path in ROOT.glob(f"functions/{folder}/*.py")}
    needed = {name for path in ROOT.glob(f"functions/{folder}/*.py") for name in imported(path, run=True)}
    assert needed <= own | {"once"} | set(sys.stdlib_module_names)


def loaded(folder: str, then: str = "") -> list[str]:
    """What is in memory after a fresh process with an empty environment has imported a function, and done `then`."""
    program = f"import app, json, sys\n{then}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "functions" / folder,
        env={"PYTHONPATH": str(ROOT / "shared")},
        capture_output=True,
        text=True,
        check=True,
    )
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


@pytest.mark.parametrize("folder", FUNCTIONS)
def test_a_function_starts_without_an_environment_and_without_what_only_a_refusal_needs(folder: str) -> None:
    modules = loaded(folder)
    assert "once" in modules
    not_needed = {"jsonschema", "oncekit"} | ({"boto3"} - NEEDED_BY_EVERY_REQUEST.get(folder, set()))
    assert not not_needed & set(modules)


def test_a_small_result_needs_no_aws_client() -> None:
    event = (ROOT / "events/functions/build-report.json").read_text(encoding="utf-8").replace("300000", "2000")
    assert "botocore.session" not in loaded("build_report", f"app.handler(json.loads({event!r}), None)")
