"""Writes the descriptions in a template as pages: `python tests/docs/write_reference.py --to docs`.

parameters.md    its parameters by group, and its outputs
alarms.md        its alarms
states.md        the states of its state machines
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from glossary_links import linked

from oncekit.console.drawing.graph import HEADING
from oncekit.local.templates.definition import read_yaml
from oncekit.local.templates.template import parse

ALARMS = ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
PARAMETERS = """# Parameters and outputs

What you can set for a stack, and what it returns. This page is generated from `template.yaml`.
"""
ALARMS_HEAD = """# Alarms

Every alarm goes to the topic of `AlarmEmail`. [When something is stuck](runbook.md) says what to do when one goes off.
This page is generated from the templates.
"""
STATES = """# States

What each state does, and why it is there. [How it decides](how-it-decides.md) shows how they work together.
This page is generated from the definitions.
"""


CELL = 200
"""Letters of a description at which it goes on below the table."""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Markdown. Cells are texts of a template, whose `|` would end a cell; what is too long for one stands below."""
    given = [tuple(map(_cell, row)) for row in rows]
    cut = [tuple(_cut(each) for each in row) for row in given]
    lines = [head, tuple("---" for _ in head), *(tuple(first for first, _ in row) for row in cut)]
    below = [f"- **{row[0][0]}**: {rest}" for row in cut for _, rest in row if rest]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), *(["", *below] if below else [])])


def _cut(text: str) -> tuple[str, str]:
    """The sentences that a cell has room for, and the others. The first one stands in it however long it is."""
    first, *others = re.split(r"(?<=\.)(?<!e\.g\.) ", text)
    while others and len(first) + len(others[0]) < CELL:
        first = f"{first} {others.pop(0)}"
    return first, " ".join(others)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def parameters_page(template: Mapping[str, Any]) -> str:
    declared: Mapping[str, Mapping[str, Any]] = template["Parameters"]
    groups = template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    parts = [PARAMETERS]
    for group in groups:
        rows = [_parameter(name, declared[name]) for name in group["Parameters"]]
        parts.append(f"## {group['Label']['default']}\n\n{table(('parameter', 'what it is', 'values'), rows)}\n")
    outputs = [(f"`{name}`", str(each["Description"])) for name, each in template["Outputs"].items()]
    return "\n".join([*parts, f"## Outputs\n\n{table(('output', 'what it is'), outputs)}\n"])


def _parameter(name: str, declared: Mapping[str, Any]) -> tuple[str, str, str]:
    default = _plain(declared.get("Default", ""))
    usual = f"`{default}`" if default else "empty"
    return f"`{name}`", str(declared["Description"]), f"{_values(declared)}; {usual} by default"


def _values(declared: Mapping[str, Any]) -> str:
    if "AllowedValues" in declared:
        return ", ".join(f"`{_plain(each)}`" for each in declared["AllowedValues"])
    if "MinValue" in declared:
        return f"{declared['MinValue']} to {declared['MaxValue']}"
    return str(declared.get("ConstraintDescription", "any text"))


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def alarms_page(resources: Mapping[str, Mapping[str, Any]]) -> str:
    alarms = {name: each for name, each in resources.items() if each.get("Type") in ALARMS}
    rows = [(f"`{name}`", str(each["Properties"]["AlarmDescription"])) for name, each in alarms.items()]
    return f"{ALARMS_HEAD}\n{table(('alarm', 'what it says'), rows)}\n"


def states_page(definitions: Mapping[str, Mapping[str, Any]]) -> str:
    parts = [STATES]
    for name, definition in definitions.items():
        rows = [
            (f"`{state}`", str(each["Type"]), HEADING.sub(r"**\1.** ", each.get("Comment", ""), 1))
            for state, each in _states(definition)
        ]
        head = f"## The {name} machine\n\n{definition['Comment']}\n\n"
        parts.append(f"{head}{table(('state', 'type', 'what it does, and why'), rows)}\n")
    return "\n".join(parts)


def _states(machine: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, state in machine["States"].items():
        yield name, state
        for inner in (*state.get("Branches", []), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])):
            yield from _states(inner)


def pages(template: Path) -> dict[str, str]:
    """The text of each page, by its file's name."""
    parsed = parse(template.read_text(encoding="utf-8"), template)
    parts = [template, *sorted(template.parent.glob("*/template.yaml"))]
    resources = [each for file in parts for each in parse(file.read_text(encoding="utf-8"), file)["Resources"].items()]
    folder = template.parent / "statemachine"
    names = ("operation", "fast", "recovery")
    definitions = {name: read_yaml((folder / f"{name}.asl.yaml").read_text(encoding="utf-8")) for name in names}
    written = {
        "parameters.md": parameters_page(parsed),
        "alarms.md": alarms_page(dict(resources)),
        "states.md": states_page(definitions),
    }
    return {name: linked(_with_pages(text, template.parent / "docs")) for name, text in written.items()}


def _with_pages(text: str, docs: Path) -> str:
    """A page that a template names by its file, for mails of alarms and the console, is a link with the page's name."""

    def link(file: re.Match[str]) -> str:
        title = (docs / file[1]).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"[{title}]({file[1]})"

    return re.sub(r"\bdocs/([\w-]+\.md)\b", link, text)


def main() -> None:
    """Write the pages of a template's parameters, outputs, alarms and states."""
    parser = argparse.ArgumentParser(prog="write_reference.py", description=main.__doc__)
    parser.add_argument("--template", type=Path, default=Path("template.yaml"))
    parser.add_argument("--to", type=Path, required=True, help="the folder to write to")
    arguments = parser.parse_args()
    for name, text in pages(arguments.template).items():
        (arguments.to / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
