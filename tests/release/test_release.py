"""What a release is made of: its notes, its bundle, and that the version is said in one place."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from oncekit.problem import Problem
from oncekit.release import bundle, check, notes
from oncekit.release.__main__ import version as to_release

ROOT = Path(__file__).parents[2]
CHANGELOG = "# Changelog\n\nWords.\n\n## 0.2.0 (2026-12-24)\n\n- Two\n\n## 0.1.0 (not released yet)\n\n- One\n- More\n"


# ---- notes ----


def test_the_notes_of_a_release_are_the_section_of_its_version() -> None:
    assert notes.cut(CHANGELOG, "0.2.0", released=True) == "- Two\n"
    assert notes.cut(CHANGELOG, "0.1.0", released=False) == "- One\n- More\n"


@pytest.mark.parametrize(
    ("wanted", "released", "why"),
    [
        ("0.3.0", False, "says nothing of 0.3.0"),
        ("0.1", False, "says nothing of 0.1"),
        ("0.1.0", True, "'not released yet' in the place of the date"),
    ],
)
def test_a_release_without_its_section_or_date_is_none(wanted: str, released: bool, why: str) -> None:
    with pytest.raises(Problem, match=why):
        notes.cut(CHANGELOG, wanted, released=released)


def test_the_changelog_has_a_section_of_the_version_that_is_next() -> None:
    assert to_release() == version("oncekit")
    assert notes.cut((ROOT / "CHANGELOG.md").read_text(), to_release(), released=False)


def test_a_tag_is_the_version(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"the tag is v9\.9\.9, and pyproject\.toml has"):
        next(check.release(ROOT, tmp_path, to_release(), "v9.9.9"))


# ---- bundle ----

TEMPLATE = """\
Transform: AWS::Serverless-2016-10-31
Parameters:
  Architecture:
    Type: String
    Default: arm64
Resources:
  Layer:
    Type: AWS::Serverless::LayerVersion
    Metadata:
      BuildMethod: python3.13
      SamResourceId: Layer
    Properties: { ContentUri: Layer }
  Machine:
    Type: AWS::Serverless::StateMachine
    Properties: { DefinitionUri: ../../statemachine/m.asl.yaml }
  Inside:
    Type: AWS::Serverless::Application
    Properties: { Location: Inside/template.yaml }
"""
INSIDE = """\
Resources:
  Work:
    Type: AWS::Serverless::Function
    Properties: { CodeUri: Work }
"""
COMPILED = "Layer/python/rpds/rpds.cpython-313-aarch64-linux-gnu.so"
LAYER = ("Layer/python/once/__init__.py", "Layer/python/rpds_py-1.dist-info/METADATA", COMPILED)
PACKAGES = ["rpds-py"]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """What `sam build` makes of a small application, in build/made of a checkout."""
    folder = tmp_path / "build" / "made"
    files = {
        "template.yaml": TEMPLATE,
        "Inside/template.yaml": INSIDE,
        "Inside/Work/app.py": "",
        **dict.fromkeys(LAYER, ""),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "statemachine").mkdir()
    for beside in ("statemachine/m.asl.yaml", "samconfig.toml", "LICENSE", "CHANGELOG.md"):
        (tmp_path / beside).write_text("x")
    return folder


def unpacked(built: Path, architecture: str = "arm64") -> Path:
    """Where nothing of the checkout is beside it."""
    packed = bundle.make(built, built.parents[1], built.parent, "1.0.0", architecture)
    to = built.parents[1] / "elsewhere" / "of" / "another"
    zipfile.ZipFile(packed).extractall(to)
    return to / f"once-1.0.0-{architecture}"


def test_a_bundle_has_all_that_its_templates_name(built: Path) -> None:
    folder = unpacked(built)
    assert bundle.missing(folder, PACKAGES, "arm64") == []
    assert "DefinitionUri: statemachine/m.asl.yaml" in (folder / "template.yaml").read_text()
    assert (folder / "samconfig.toml").is_file()


@pytest.mark.parametrize(
    ("gone", "says"),
    [
        ("statemachine/m.asl.yaml", "DefinitionUri of Machine is statemachine/m.asl.yaml, which is not in the bundle"),
        ("Inside/Work/app.py", "CodeUri of Work is Work, which is not in the bundle"),
        ("Inside/template.yaml", "Location of Inside is Inside/template.yaml, which is not in the bundle"),
        ("Layer/python/once/__init__.py", "Layer has no library"),
        ("Layer/python/rpds_py-1.dist-info/METADATA", "Layer has no rpds-py"),
    ],
)
def test_what_a_bundle_lacks_is_named(built: Path, gone: str, says: str) -> None:
    folder = unpacked(built)
    (folder / gone).unlink()
    if not any((folder / gone).parent.iterdir()):
        (folder / gone).parent.rmdir()
    [told] = bundle.missing(folder, PACKAGES, "arm64")
    assert says in told


def test_what_a_bundle_takes_from_beside_it_is_missing(built: Path) -> None:
    folder = unpacked(built)
    (folder / "template.yaml").write_text(TEMPLATE)
    (folder / "../../statemachine").mkdir()
    (folder / "../../statemachine/m.asl.yaml").touch()
    [told] = bundle.missing(folder, PACKAGES, "arm64")
    assert "DefinitionUri of Machine" in told


def test_a_bundle_is_deployed_for_its_processor_and_built_for_no_other(built: Path) -> None:
    folder = unpacked(built, "x86_64")
    assert "    Default: x86_64\n" in (folder / "template.yaml").read_text()
    [told] = bundle.missing(folder, PACKAGES, "x86_64")
    assert "aarch64-linux-gnu.so is not for x86_64" in told


def test_a_layer_that_is_built_is_not_built_again(built: Path) -> None:
    assert "BuildMethod" not in (unpacked(built) / "template.yaml").read_text()


def test_the_same_build_is_the_same_bundle(built: Path) -> None:
    first = bundle.make(built, built.parents[1], built.parent, "1.0.0", "arm64").read_bytes()
    (built / "template.yaml").touch()
    again = bundle.make(built, built.parents[1], built.parent, "1.0.0", "arm64").read_bytes()
    assert hashlib.sha256(first).digest() == hashlib.sha256(again).digest()


# ---- what is uploaded ----


def test_all_that_is_uploaded_has_its_sum(tmp_path: Path) -> None:
    """Who uploads to the index writes an attestation beside each package, before the release of GitHub is made."""
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["publish"]["steps"]
    [command] = [each["run"] for each in steps if "gh release create" in each.get("run", "")]
    folder = tmp_path / "release" / "index"
    folder.mkdir(parents=True)
    packages = {"oncekit-1.0.0.tar.gz", "oncekit-1.0.0-py3-none-any.whl"}
    for name in packages:
        (folder / name).touch()
        (folder / f"{name}.publish.attestation").touch()
    patterns = [each for each in command.split() if each.startswith("release/index/")]
    assert {found.name for each in patterns for found in tmp_path.glob(each)} == packages


# ---- packages ----


def packages(folder: Path, *, more: str = "", less: str = "") -> tuple[Path, Path]:
    """An sdist and a wheel with the announcements, as far as their names go, and another file or one less."""
    tracked = subprocess.run(["git", "ls-files", "announcements", "events"], cwd=ROOT, capture_output=True, text=True)
    names = [*(set(tracked.stdout.split()) - {less}), *filter(None, [more])]
    source, wheel = folder / "a.tar.gz", folder / "a.whl"
    with tarfile.open(source, "w:gz") as sdist, zipfile.ZipFile(wheel, "w") as packed:
        for name in names:
            sdist.addfile(tarfile.TarInfo(f"a-1/{name}"))
            packed.writestr(f"oncekit/application/{name}", "")
        sdist.addfile(tarfile.TarInfo("a-1/PKG-INFO"))
        packed.writestr("oncekit/problem.py", "")
    return source, wheel


def test_a_package_whose_application_is_the_committed_one_differs_in_nothing(tmp_path: Path) -> None:
    assert list(check.differences(ROOT, *packages(tmp_path))) == []


@pytest.mark.parametrize(
    ("name", "how"),
    [("announcements/build/local/template-0", "more"), ("events/charge-payment.json", "less")],
)
def test_what_a_package_has_more_or_less_than_is_committed_is_named(tmp_path: Path, name: str, how: str) -> None:
    told = list(check.differences(ROOT, *packages(tmp_path, **{how: name})))
    assert told == [
        f"a.tar.gz differs from what is committed in {name}",
        f"a.whl differs from what is committed in {name}",
    ]


def test_without_the_functions_runtime_a_release_is_refused_before_it_installs(
    tmp_path: Path,
) -> None:
    make = ("make", "-f", str(ROOT / "Makefile"), "release", "RUNTIME=python-that-is-not-here")
    done = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "sam build needs python-that-is-not-here on PATH" in done.stderr
    assert list(tmp_path.iterdir()) == []
