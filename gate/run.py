"""All checks, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gate import expressions, variables
from gate.finding import Check, Finding
from gate.project import Project
from local.definition import DefinitionError
from local.template import TemplateError

CHECKS: tuple[Check, ...] = (expressions.check, variables.check)


def findings(path: Path, checks: Sequence[Check] = CHECKS) -> list[Finding]:
    """What the checks find in the template at `path` and in the files that it names."""
    try:
        project = Project.at(path)
        return sorted({found for check in checks for found in check(project)})
    except (DefinitionError, TemplateError, OSError) as error:
        return [Finding(path.name, "", str(error).removeprefix(f"{path}: "))]
