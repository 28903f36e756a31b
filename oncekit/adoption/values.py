"""Writes placeholders for what a template takes from elsewhere into the file that has its values on this machine."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from oncekit.adoption.inside import check_inside
from oncekit.adoption.texts import text
from oncekit.adoption.yaml_file import YamlFile
from oncekit.local.elsewhere import FILE, KINDS, Missing
from oncekit.own_stack import ONCE
from oncekit.problem import Problem

_REFERS = re.compile(r"ImportValue|\{\{resolve:|AWS::SSM::Parameter::Value")
_INSIDE = ("AWS::Serverless::Application", "AWS::CloudFormation::Stack")


class ValuesFile(YamlFile):
    """The file, as text and as values."""

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise Problem(" ".join(f"{self.path} is not YAML: {error}".split())) from error
        return value if isinstance(value, dict) else {}


def add_missing(template: Path) -> list[Missing]:
    """Add a placeholder for each value that the file does not have. Gives what it adds. Raises Problem."""
    if not _may_need_some(template):
        return []
    from oncekit.local.deploy import missing_values

    file, missing = template.parent / FILE, missing_values(template)
    check_inside(template.parent, file)
    lines = {kind: [_line(each) for each in missing if each.kind == kind] for kind in KINDS}
    if missing and not file.exists():
        sections = (f"{kind}:\n" + "".join(f"  {line}\n" for line in lines[kind]) for kind in KINDS if lines[kind])
        file.write_text(text("values.yaml") + "".join(sections), encoding="utf-8")
    elif missing:
        values = ValuesFile(file)
        for kind in KINDS:
            _add(values, kind, lines[kind])
        values.save()
    return missing


def _line(missing: Missing) -> str:
    return yaml.safe_dump({missing.name: missing.placeholder}, allow_unicode=True, width=math.inf).strip()


def _add(values: ValuesFile, kind: str, lines: Sequence[str]) -> None:
    if isinstance(values.value.get(kind), dict):
        for line in lines:
            values.append((kind,), [line])
    elif lines:
        values.append((), [f"{kind}:", *(f"  {line}" for line in lines)])


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
