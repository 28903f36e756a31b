"""CONTRIBUTING.md: the places that a new state touches are those that name all of a kind; what CI runs."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from one_state import states_of

from oncekit.local.deployment.deploy import rendered_definitions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MACHINES = rendered_definitions(ROOT / "template.yaml")
LANES = {name: MACHINES[name]["States"] for name in ("operation", "fast")}
OF_EITHER: Mapping[str, Mapping[str, Any]] = {name: state for lane in LANES.values() for name, state in lane.items()}
ERRORS = [state["Error"] for state in OF_EITHER.values() if state["Type"] == "Fail"]
REFUSED_AS = re.findall(r'"refusedAs": "([^"]+)"', json.dumps(LANES))
KINDS = {
    "of any machine": {name for machine in MACHINES.values() for name, _ in states_of(machine)},
    "of the full lane": set(LANES["operation"]),
    "of the fast lane": set(LANES["fast"]),
    "of either lane": set(OF_EITHER),
    "that writes the record": {n for n, state in OF_EITHER.items() if "updateItem" in state.get("Resource", "")},
    "that fails an execution": {name for name, state in OF_EITHER.items() if state["Type"] == "Fail"},
    "that fails with a new error": {
        error for said in [*ERRORS, *REFUSED_AS] for error in re.findall(r"\b[A-Z]\w+", said)
    },
}
PLACES = re.findall(r"^\| ((?:of|that) [a-z ]+) \| `([\w./-]+)` \| (.+) \|$", PAGE, re.MULTILINE)


def words(path: Path) -> set[str]:
    files = [path] if path.is_file() else path.rglob("*.py")
    return {word for file in files for word in re.findall(r"\b[A-Z]\w+", file.read_text(encoding="utf-8"))}


def missing(names: set[str], kind: str) -> Iterator[str]:
    """A sentence for each place that does not name a state of this kind."""
    for of, place, otherwise in PLACES:
        for name in sorted(names - words(ROOT / place)) if of == kind else ():
            yield f"{name} is missing in {place}: {otherwise}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_is_named_in_every_place_that_names_its_kind(kind: str) -> None:
    assert "\n".join(missing(KINDS[kind], kind)) == ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_named_nowhere_is_missing_in_every_place_of_its_kind(kind: str) -> None:
    new = f"{min(KINDS[kind])}Too"
    told = list(missing({new}, kind))
    places = [place for of, place, _ in PLACES if of == kind]
    assert places and [each.split(":")[0] for each in told] == [f"{new} is missing in {place}" for place in places]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_names_all_of_a_kind_is_on_the_page(kind: str) -> None:
    listed = {place for _, place, _ in PLACES}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [each for each in tracked if each.endswith((".py", ".md", ".yaml", ".svg")) and each not in listed]
    found = [each for each in files if KINDS[kind] <= words(ROOT / each)]
    assert [each for each in found if not each.startswith("statemachine/")] == []


def test_the_page_says_what_is_run_for_every_change() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"].values()
    run = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    [said] = re.findall(r"^## What CI runs\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    assert run and [each for each in run if f"`{each}`" not in said and not each.startswith("make tools")] == []


def test_the_page_can_be_read_in_one_go() -> None:
    assert len(PAGE.splitlines()) <= 100
