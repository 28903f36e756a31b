"""Imports point inward and in no circle, and what a request does not need is not on its cold path."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*ROOT.glob("shared/**/*.py"), *ROOT.glob("functions/**/*.py")])
FUNCTIONS = sorted(path.parent.name for path in ROOT.glob("functions/*/app.py"))
NEEDED_BY_EVERY_REQUEST = {"place_order": {"boto3"}}  # its conditions are boto3's
WITHOUT_THE_LAYER = {"announce_end": {"boto3"}}
"""Functions that no request waits for, and what they need of the packages that Lambda's Python has itself."""
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
    assert needed <= own | WITHOUT_THE_LAYER.get(folder, {"once"}) | set(sys.stdlib_module_names)


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


@pytest.mark.parametrize("folder", [each for each in FUNCTIONS if each not in WITHOUT_THE_LAYER])
def test_a_function_starts_without_what_only_a_refusal_needs(folder: str) -> None:
    modules = loaded(folder)
    assert "once" in modules
    not_needed = {"jsonschema", "oncekit"} | ({"boto3"} - NEEDED_BY_EVERY_REQUEST.get(folder, set()))
    assert not not_needed & set(modules)


def test_a_small_result_needs_no_aws_client() -> None:
    event = (ROOT / "events/functions/build-report.json").read_text(encoding="utf-8").replace("300000", "2000")
    assert "botocore.session" not in loaded("build_report", f"app.handler(json.loads({event!r}), None)")


def test_what_goes_on_elsewhere_needs_no_aws_client() -> None:
    then = """
from once import Request, operation
elsewhere = operation()(lambda request: request.pending(len(request.ticket)))
"""
    event = (ROOT / "events/functions/build-report.json").read_text(encoding="utf-8")
    assert "botocore.session" not in loaded("build_report", f"{then}elsewhere(json.loads({event!r}))")


# ---- circles ----

INWARD = (
    "once",
    "oncekit.problem",
    "oncekit.application",
    "oncekit.contract",
    "oncekit.own_template",
    "oncekit.asl",
    "oncekit.console",
    "oncekit.stack",
    "oncekit.cli",
    "oncekit.local",
    "oncekit.console.here",
    "oncekit.console.logs",
    "oncekit.console.written",
    "oncekit.console.local_source",
    "oncekit.console.server",
    "oncekit.promises",
    "oncekit.testing",
    "oncekit.adoption",
    "oncekit.cli.template",
    "oncekit.cli.here",
    "oncekit.gate",
    "oncekit.bench",
    "oncekit.release",
    "oncekit.proof",
    "oncekit.evidence",
)
"""The rooms of which each may import only those before it; a module is in the last of them that has it."""


@pytest.fixture(scope="module")
def house_imports() -> dict[str, set[str]]:
    """Of every module by its name; a package itself is `package.__init__`."""
    files = {path: path.relative_to(ROOT) for path in sorted(ROOT.glob("oncekit/**/*.py"))}
    files |= {path: path.relative_to(ROOT / "shared") for path in sorted(ROOT.glob("shared/once/**/*.py"))}
    return imports(
        {".".join(name.with_suffix("").parts): ast.parse(path.read_text("utf-8")) for path, name in files.items()}
    )


def imports(modules: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """By module: those of the others that it names in an import, wherever in it that stands."""

    def module_of(name: str) -> Iterator[str]:
        yield from (each for each in (name, f"{name}.__init__") if each in modules)

    def named(tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from module_of(alias.name)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield from [*module_of(f"{node.module}.{alias.name}")] or module_of(str(node.module))

    return {name: set(named(tree)) - {name} for name, tree in modules.items()}


def test_nothing_imports_what_imports_it(house_imports: Mapping[str, set[str]]) -> None:
    """Every import counts, whether it is at the top of a module, in a function or for the type checker alone: the last
    two hide a circle from Python, and not from whoever reads."""
    TopologicalSorter(house_imports).prepare()


def test_no_room_imports_one_that_is_further_out(house_imports: Mapping[str, set[str]]) -> None:
    def room(module: str) -> int | None:
        return max((INWARD.index(name) for name in INWARD if f"{module}.".startswith(f"{name}.")), default=None)

    assert {".".join(module.split(".")[:2]) for module in house_imports if room(module) is None} == {"oncekit.__init__"}
    found = [(importer, each) for importer, imported in house_imports.items() for each in imported]
    rooms = [(importer, each, room(importer), room(each)) for importer, each in found]
    assert [each[:2] for each in rooms if None not in each[2:] and each[2] < each[3]] == []


def test_nothing_imports_the_commands_but_they_themselves(house_imports: Mapping[str, set[str]]) -> None:
    others = {name: found for name, found in house_imports.items() if not name.startswith("oncekit.cli.")}
    assert [name for name, found in others.items() if any(each.startswith("oncekit.cli.") for each in found)] == []


def test_the_local_cloud_knows_once_in_one_place_and_beneath_it_what_a_template_needs(
    house_imports: Mapping[str, set[str]],
) -> None:
    of_aws = {"oncekit.contract.quotas"}
    known = {each for each in house_imports if each.startswith(("oncekit.contract.", "oncekit.own_template"))} - of_aws
    local = {name: found for name, found in house_imports.items() if name.startswith("oncekit.local.")}
    knowing = {name for name, found in local.items() if found & known}
    assert knowing == {"oncekit.local.once_cloud", "oncekit.local.once_inside"}


def test_what_works_on_a_stack_loads_nothing_of_the_local_cloud() -> None:
    folders = [ROOT / "oncekit" / each for each in ("contract", "stack", "cli/deployed")]
    files = [path.relative_to(ROOT) for folder in folders for path in sorted(folder.rglob("*.py"))]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    program = f"import importlib, sys\nfor each in {names}: importlib.import_module(each)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    not_needed = ("moto.", "werkzeug.", "jsonata.", *(f"{room}." for room in INWARD[INWARD.index("oncekit.local") :]))
    assert {*names} <= {*loaded} and [each for each in loaded if f"{each}.".startswith(not_needed)] == []
