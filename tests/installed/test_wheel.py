"""The wheel in an empty environment, away from this checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from installed.conftest import LEFT, Installed
from packaging.requirements import Requirement

from oncekit.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


def test_a_request_runs_in_an_empty_folder_with_the_sample_application(whole: Installed) -> None:
    done = whole.once("run", "events/charge-payment.json", "--times", "2", "--json")
    assert done.returncode == 0, done.stderr
    dispositions = [each["disposition"] for each in json.loads(done.stdout)["executions"]]
    assert dispositions == ["EXECUTED", "REPLAYED"] and "example application" in done.stderr
    assert not list(whole.work.iterdir()), "nothing is left in the folder"
    assert not list((whole.folder / "lib").rglob("application/build")), "nor in the package"
    assert list((whole.folder / ".cache" / "oncekit").iterdir()), "caches are the user's"


def test_an_application_of_ones_own_is_found_before_the_sample(whole: Installed) -> None:
    (whole.work / "template.yaml").write_text("Resources: {}")
    done = whole.once("run", "-")
    (whole.work / "template.yaml").unlink()
    assert done.returncode == 2 and "example application" not in done.stderr


def test_an_application_is_made_of_what_is_installed(whole: Installed) -> None:
    done = whole.once("init")
    made = {str(each.relative_to(whole.work)) for each in whole.work.rglob("*.yaml")}
    again = whole.once("init", "--upgrade")
    for each in whole.work.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    assert (done.returncode, again.returncode, again.stdout) == (0, 0, ""), done.stderr + again.stderr
    assert {
        "template.yaml",
        "once/operations.yaml",
        "once/template.yaml",
        "once/statemachine/recovery.asl.yaml",
    } <= made


def test_without_the_extra_every_command_has_its_help(bare: Installed) -> None:
    told = bare.once("-h")
    assert told.returncode == 0 and all(f"  {name} " in told.stdout for name in COMMANDS), told.stderr


def test_without_the_extra_run_says_what_to_install(bare: Installed, wheel: Path) -> None:
    done = bare.once("run", "events/charge-payment.json")
    assert done.returncode == 2 and done.stdout == ""
    assert f"pip install 'build/wheel/{wheel.name}[local]'" in done.stderr and "Traceback" not in done.stderr


def test_without_the_extra_the_library_and_all_that_operators_use_can_be_imported(bare: Installed) -> None:
    folders = ("oncekit/contract", "oncekit/stack", "oncekit/cli/deployed", "oncekit/console/drawing")
    modules = [*(each for folder in folders for each in _modules(folder)), "oncekit.cli.paper", "once"]
    done = bare.run(str(bare.python), "-c", "".join(f"import {each}\n" for each in modules))
    assert done.returncode == 0, done.stderr


def test_without_the_extra_an_operator_command_gets_as_far_as_aws(bare: Installed) -> None:
    done = bare.once("ls", "--region", "us-east-1")
    assert done.returncode == 2 and "credentials" in done.stderr.lower(), done.stderr


def _modules(folder: str) -> Iterator[str]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_the_wheel_has_types_and_nothing_that_is_only_for_this_repository(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"once/py.typed", "oncekit/py.typed"} <= set(names)
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"once", "oncekit"}
    left_out = ("oncekit/gate", "oncekit/proof", "oncekit/bench", "oncekit/evidence", "oncekit/release")
    assert not [name for name in names if name.startswith(left_out) or "__pycache__" in name]


def test_what_a_local_cloud_left_beside_the_templates_is_in_no_package(
    source: Path, wheel: Path, tmp_path: Path
) -> None:
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=source, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = [*zipfile.ZipFile(wheel).namelist(), *packed.getnames()]
    assert [*source.rglob(LEFT)] and [name for name in names if name.endswith(LEFT)] == []


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    left_out = ("gate", "proof", "bench", "evidence", "release", "application", "__pycache__")
    files = [path.relative_to(ROOT) for path in (ROOT / "oncekit").rglob("*") if path.is_file()]
    wanted = {str(path) for path in files if not set(path.parts) & set(left_out)}
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("folder", ["statemachine", "functions", "shared", "events"])
def test_the_application_in_the_wheel_is_the_one_here(wheel: Path, folder: str) -> None:
    packed = zipfile.ZipFile(wheel)
    for path in (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        if ".egg-info" not in str(path):
            assert packed.read(f"oncekit/application/{path.relative_to(ROOT)}") == path.read_bytes()


def test_what_the_wheel_asks_for_is_what_the_tests_run_with() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(each) for each in [*project["dependencies"], *project["optional-dependencies"]["local"]]]
    lines = [line for name in ("layer", "local", "development") for line in _lines(f"requirements/{name}.in")]
    pinned = {each.name: each for each in map(Requirement, lines)}
    oldest = pinned | {each.name: each for each in map(Requirement, _lines("requirements/moto.in"))}
    for each in asked:
        least = {s.version for s in each.specifier if s.operator in (">=", "==")}
        same = least == {s.version for s in oldest[each.name].specifier}
        assert each.extras == pinned[each.name].extras and (same or each.name == "pytest"), each
        assert all(each.specifier.contains(s.version) for s in pinned[each.name].specifier), each
    assert {each.name for each in map(Requirement, _lines("requirements/local.in"))} - {a.name for a in asked} == {
        "setuptools"  # builds the wheel
    }


def _lines(name: str) -> list[str]:
    text = (ROOT / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-"))]


def test_the_test_kit_is_on_when_it_is_installed(whole: Installed) -> None:
    (whole.work / "test_mine.py").write_text(
        "import pytest\n"
        "from oncekit import application\n"
        "@pytest.fixture(scope='session')\n"
        "def once_template(): return application.folder() / application.TEMPLATE\n"
        "def test_charge(once_cloud):\n"
        "    request = {'operation': 'build-report', 'idempotencyKey': 'k', 'payload': {'bytes': 2000}}\n"
        "    assert once_cloud.finish(request).output['disposition'] == 'REPLAYED'\n"
    )
    done = whole.run(str(whole.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")
    (whole.work / "test_mine.py").unlink()
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
