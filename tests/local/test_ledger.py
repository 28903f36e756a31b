"""What the local cloud believes of AWS: each test of a behaviour names where that is written, or says `unconfirmed`.

@pytest.mark.aws(page, says)              a document and its page, and a sentence of it
@pytest.mark.aws(model=..., says=...)     a sentence of the API's model, which is looked up in botocore
@pytest.mark.aws(recorded=..., says=...)  a recorded answer, and what it holds
@pytest.mark.aws(unconfirmed="V7")        the line of docs/verify-on-aws.md that settles it
@pytest.mark.ours                         not AWS's: what the local cloud decides for itself
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from botocore.loaders import Loader

HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parent / "asl")
PAGE = HERE.parents[1] / "docs" / "verify-on-aws.md"
MOST_LINES = 30
"""Somebody goes through all of them after a first deployment."""
DOCUMENTS = ("Guide, ", "specification")
FEWEST_WORDS = 5
BELIEFS = range(22, 40)
"""The numbers of the lines of the page that are there for a belief; the others are about the product."""

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


def lines() -> dict[str, list[str]]:
    """The cells of each line of the page, by each number of what it checks: `V62, V63` or `V1 to V9`."""
    rows = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if re.match(r"\| V\d+", line)]
    assert len(rows) <= MOST_LINES
    return {number: [cell.strip() for cell in row[1:]] for row in rows for number in _numbers(row[0])}


def _numbers(cell: str) -> list[str]:
    first, to, last = cell.partition(" to ")
    if to:
        return [f"V{each}" for each in range(int(first.strip()[1:]), int(last.strip()[1:]) + 1)]
    return [each.strip() for each in cell.split(",")]


def problem_of(mark: pytest.Mark) -> str | None:
    """What is wrong with a source, None when it can be followed."""
    given = {**dict(zip(("page", "says"), mark.args, strict=False)), **mark.kwargs}
    if set(given) == {"unconfirmed"}:
        return None if given["unconfirmed"] in lines() else f"no line {given['unconfirmed']}"
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


def test_lines_that_are_there_for_a_belief_are_named_by_a_test() -> None:
    """A line whose command is `make e2e` or a walk through the stack is about the product, not about a belief."""
    named = {mark.kwargs["unconfirmed"] for _, mark in beliefs() if "unconfirmed" in mark.kwargs}
    about_beliefs = {number for number in lines() if int(number[1:]) in BELIEFS}
    assert about_beliefs - named == set()
