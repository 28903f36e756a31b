"""What the local cloud believes of AWS: each test of a behaviour names where that is written, or says `unconfirmed`.

@pytest.mark.aws(page, says)              a document and its page, and a sentence of it
@pytest.mark.aws(model=..., says=...)     a sentence of the API's model, which is looked up in botocore
@pytest.mark.aws(recorded=..., says=...)  a recorded answer, and what it holds
@pytest.mark.aws(unconfirmed="V74")       the row of docs/verify-on-aws.md that settles it
@pytest.mark.ours                         not AWS's: what the local cloud decides for itself
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from botocore.loaders import Loader

from oncekit.evidence.after import After
from oncekit.evidence.before import Before
from oncekit.evidence.rows import rows_of

HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parent / "asl")
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "verify-on-aws.md"
TEMPLATE = ROOT / "template.yaml"
TESTS = sorted(path for folder in ("scenarios", "states") for path in (ROOT / "tests" / folder).glob("test_*.py"))
TEXTS = {".py", ".md", ".yaml"}
OWN_EXAMPLES = "tests/evidence/test_finding.py"
DOCUMENTS = ("Guide, ", "specification", "Knowledge Center, ")
FEWEST_WORDS = 5
NUMBER = re.compile(r"\bV[1-9][0-9]{0,2}\b")
NAMING = ("oncekit", "shared", "functions", "statemachine", "tests", "docs", "api", "examples", "template.yaml")

pytestmark = pytest.mark.ours

Marked = tuple[str, list[pytest.Mark]]


def marked_tests() -> Iterator[Marked]:
    """Every test of these folders, with its marks and its module's."""
    for path in sorted(path for folder in FOLDERS for path in folder.glob("test_*.py")):
        module = _module(path)
        of_module = getattr(module, "pytestmark", [])
        shared = of_module if isinstance(of_module, list) else [of_module]
        for name, member in vars(module).items():
            if name.startswith("test_") and isinstance(member, FunctionType) and member.__module__ == module.__name__:
                own = getattr(member, "pytestmark", [])
                yield f"{path.stem}::{name}", [*own, *(each.mark for each in shared)]


def _module(path: Path) -> Any:
    name = f"ledger_{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def beliefs() -> Iterator[tuple[str, pytest.Mark]]:
    for name, marks in marked_tests():
        yield from ((name, mark) for mark in marks if mark.name == "aws")


def problem_of(mark: pytest.Mark) -> str | None:
    """What is wrong with a source, None when it can be followed."""
    given = {**dict(zip(("page", "says"), mark.args, strict=False)), **mark.kwargs}
    if set(given) == {"unconfirmed"}:
        return None if given["unconfirmed"] in rows_of(PAGE) else f"no row {given['unconfirmed']}"
    if len(str(given.get("says", "")).split()) < FEWEST_WORDS:
        return "quotes too little"
    if set(given) == {"page", "says"}:
        return None if any(word in given["page"] for word in DOCUMENTS) else f"no document: {given['page']}"
    if set(given) == {"recorded", "says"}:
        return None if ".json" in given["recorded"] else "no recording"
    if set(given) == {"suite", "says"}:
        return None if "/test/" in given["suite"].replace(", ", "/") else "no suite"
    if set(given) == {"model", "says"}:
        return None if _plain(given["says"]) in model_text(given["model"]) else f"not in the model: {given['says']}"
    return f"not a source: {sorted(given)}"


@functools.cache
def model_text(service: str) -> str:
    return _plain(json.dumps(Loader().load_service_model(service, "service-2"), ensure_ascii=False))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text).replace("’", "'"))


def test_every_test_says_whose_behaviour_it_is_about() -> None:
    silent = [name for name, marks in marked_tests() if not {"aws", "ours"} & {mark.name for mark in marks}]
    assert silent == []


def test_every_source_can_be_followed() -> None:
    problems = {name: problem for name, mark in beliefs() if (problem := problem_of(mark)) is not None}
    assert problems == {}


def test_a_row_is_one_fact_with_a_command_and_what_to_expect() -> None:
    rows = rows_of(PAGE)
    assert [number for number in rows if not NUMBER.fullmatch(number)] == []
    assert [row.number for row in rows.values() if "" in (row.fact, row.why, row.how, row.expected)] == []
    assert "<br>" not in PAGE.read_text()


def test_no_two_rows_have_one_number() -> None:
    numbers = re.findall(r"^\| (V\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(numbers) > 50 and {each for each in numbers if numbers.count(each) > 1} == set()


def test_whoever_names_a_row_finds_it() -> None:
    command = ["git", "ls-files", "-z", *NAMING]
    listed = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip("\0").split("\0")
    )
    told = {
        path: (ROOT / path).read_bytes().decode(errors="ignore")
        for path in listed
        if Path(path).suffix in TEXTS and path != OWN_EXAMPLES
    }
    named = {(path, number) for path, text in told.items() for number in NUMBER.findall(text)}
    assert named - {(path, number) for path, number in named if number in rows_of(PAGE)} == set()


def test_a_state_whose_answer_is_a_mock_settles_no_row() -> None:
    others = [path for path in TESTS if path.parent.name == "states" and path.name != "test_beliefs.py"]
    assert [path.name for path in others if "unconfirmed=" in path.read_text()] == []


def test_what_a_command_settles_is_asked_by_it() -> None:
    """By a question, or by a test that has the row's number."""
    rows = rows_of(PAGE).values()
    asked = {each.row for each in [*Before(None, TEMPLATE, {}, "once").questions(), *After(None, ()).questions()]}
    asked |= {number for path in TESTS for number in re.findall(r'unconfirmed="(V\d+)"', path.read_text())}
    assert {row.number for row in rows if row.how.startswith(("`make before-deploy", "`make evidence"))} <= asked
