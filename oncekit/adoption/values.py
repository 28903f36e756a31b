"""Writes placeholders for what a template takes from elsewhere into the file that has its values on this machine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from oncekit.adoption.inside import check_inside
from oncekit.adoption.texts import text
from oncekit.adoption.yaml_file import YamlFile
from oncekit.contract.own_stack import ONCE
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.templates.definition import DefinitionError, FastLoader, read_yaml, why_not_read
from oncekit.local.templates.elsewhere import FILE, KINDS, Elsewhere, Missing, line_of
from oncekit.problem import Problem

_REFERS = re.compile(r"ImportValue|\{\{resolve:|AWS::SSM::Parameter::Value")
_INSIDE = ("AWS::Serverless::Application", "AWS::CloudFormation::Stack")


class ValuesFile(YamlFile):
    """The file, as text and as values."""

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            value = read_yaml(text)
        except yaml.YAMLError as error:
            raise Problem(" ".join(f"{self.path} is not YAML: {why_not_read(error)}".split())) from error
        except DefinitionError as error:
            raise Problem(f"{self.path} {error}") from error
        return value if isinstance(value, dict) else {}

    def add(self, kind: str, lines: Sequence[str]) -> None:
        """Add values of a kind. Raises Problem where they cannot be told from what is there."""
        section = [f"{kind}:", *(f"  {line}" for line in lines)]
        root: Any = yaml.compose(self.text, Loader=FastLoader)
        if root is None:  # it has comments only
            end = "" if self.text.endswith("\n") or not self.text else "\n"
            self._change(self.text + end + "".join(f"{line}\n" for line in section), (), section)
        elif self.value.get(kind):
            for line in lines:
                self.append((kind,), [line])
        elif kind in self.value:
            self._fill(next(pair for pair in root.value if pair[0].value == kind), kind, section[1:])
        else:
            self.append((), section)

    def _fill(self, empty: tuple[yaml.Node, yaml.Node], kind: str, lines: Sequence[str]) -> None:
        """A section that has nothing in it yet."""
        name, value = empty
        without = self.text[: value.start_mark.index] + self.text[value.end_mark.index :]
        comment, _, after = without[name.end_mark.index :].partition("\n")
        written = "".join(f"{line}\n" for line in lines)
        self.value[kind] = {}
        self._change(f"{without[: name.end_mark.index]}{comment}\n{written}{after}", (kind,), lines)


def with_missing(template: Path, queue: str = "") -> tuple[list[Missing], str]:
    """What the file does not have, and its text with a placeholder for each. Raises Problem.

    `queue` is the name of the one that is the ARN of a queue: there is one here then, to which its test sends.
    """
    if not _may_need_some(template):
        return [], ""
    from oncekit.local.deployment.deploy import missing_values

    file, missing = template.parent / FILE, missing_values(template)
    missing = [replace(each, placeholder=_arn(queue)) if each.name == queue else each for each in missing]
    check_inside(template.parent, file)
    lines = {kind: [_line(each) for each in missing if each.kind == kind] for kind in KINDS}
    if not missing:
        return [], ""
    if not file.exists():
        sections = (f"{kind}:\n" + "".join(f"  {line}\n" for line in lines[kind]) for kind in KINDS if lines[kind])
        return missing, text("values.yaml") + "".join(sections)
    values = ValuesFile(file)
    for kind in KINDS:
        if lines[kind]:
            values.add(kind, lines[kind])
    return missing, values.text


def told_of_queue(template: Path, queue: str) -> Iterator[str]:
    """Where the file has another value for the ARN of a queue, such as a placeholder of a time when it was not one."""
    file = template.parent / FILE
    for kind, known in Elsewhere.of(template).known.items():
        if queue in known and ":sqs:" not in str(known[queue]):
            yield (
                f"{FILE}:{line_of(file, kind, queue)}: {queue} is {known[queue]}: write the ARN of a queue, such as "
                f"{_arn(queue)}, or its test has nowhere to send to"
            )


def _arn(queue: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{re.sub(r'[^A-Za-z0-9_-]', '-', queue)[:80]}"


def _line(missing: Missing) -> str:
    return yaml.safe_dump({missing.name: missing.placeholder}, allow_unicode=True, width=math.inf).strip()


def _may_need_some(template: Path) -> bool:
    """Whether to look at all of it, which takes a second."""
    found = YamlFile(template)
    parameters, resources = found.value.get("Parameters"), found.value["Resources"]
    declared = parameters.values() if isinstance(parameters, dict) else ()
    return (
        any("Default" not in each for each in declared if isinstance(each, dict))
        or _REFERS.search(found.text) is not None
        or any(
            each.get("Type") in _INSIDE for name, each in resources.items() if isinstance(each, dict) and name != ONCE
        )
    )
