"""The page on the protocol says what the state machines write, and what the library makes of a payload."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from once import canonical

from oncekit.local.deployment.deploy import rendered_definitions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
LITERALS = {
    "inProgress": "IN_PROGRESS",
    "completed": "COMPLETED",
    "failed": "FAILED",
    "fence": "read",
}
"""What the page calls a value of a machine; others have the same name there."""
EITHER = {"kept": ["request", "requestRef"], "notKept": ["request", "requestRef"], "answer": ["result", "resultRef"]}
"""Attributes by a name that a machine chooses by the size of a text."""
DEFINITIONS = rendered_definitions(ROOT / "template.yaml")
WRITES = {
    name: state["Arguments"]
    for machine in ("operation", "fast")
    for name, state in DEFINITIONS[machine]["States"].items()
    if str(state.get("Resource")).endswith("dynamodb:updateItem")
}


def table(head: str) -> list[list[str]]:
    lines = [*PAGE.splitlines(), ""]
    first = lines.index(head) + 2
    return [re.split(r" ?\| ?", line)[1:-1] for line in lines[first : lines.index("", first)]]


def named(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def of(write: dict[str, Any], verb: str) -> set[str]:
    """The attributes that a machine sets, or removes; steps are removed by one of two expressions."""
    update = "".join(each for each in texts(write["UpdateExpression"]) if each.startswith(("SET ", ", ")))
    [clause] = re.findall(rf"\b{verb} (.*?)(?= REMOVE |$)", update) or [""]
    parts = re.sub(r"\(.*?\)", "", clause).split(",") if clause else []
    names = [part.split("=")[0].strip(" #") for part in parts]
    return {each for name in names for each in EITHER.get(name, [name])}


def texts(expression: str) -> list[str]:
    """An expression of DynamoDB's, or those among which a machine chooses."""
    return re.findall(r"'([^']*)'", expression) if expression.startswith("{%") else [expression]


def conditions(write: dict[str, Any]) -> Iterator[str]:
    for text in texts(write["ConditionExpression"]):
        yield re.sub(r":(\w+)", lambda found: LITERALS.get(found[1], found[1]), text.replace("#", ""))


def test_every_attribute_that_a_machine_writes_or_reads_is_in_the_table_and_no_other() -> None:
    written = {"id"}
    for write in WRITES.values():
        written |= of(write, "SET") | of(write, "REMOVE")
    assert {name for row in table("| attribute | type | is |") for name in named(row[0])} == written


ROWS = table("| write | condition | sets | removes |")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_write_of_the_page_is_that_of_the_machine(row: list[str]) -> None:
    name, condition, sets, removes = row
    write = WRITES[next(iter(named(name)))]
    assert condition.strip("`") in list(conditions(write))
    if sets == "the same":
        return
    assert (named(sets), named(removes)) == (of(write, "SET"), of(write, "REMOVE"))


def test_every_write_of_a_machine_is_on_the_page() -> None:
    assert {each for row in ROWS for each in named(row[0])} | {"TakeNextFence"} == set(WRITES)


@pytest.mark.parametrize("row", table("| payload | form | fingerprint begins |"), ids=lambda row: row[0])
def test_an_example_of_the_fingerprint_is_what_the_library_makes(row: list[str]) -> None:
    payload, form, begins = (each.strip("`") for each in row)
    found = canonical.fingerprint(json.loads(payload))
    assert found == canonical.hash_of(form) and found.startswith(begins) and len(begins) == 16
