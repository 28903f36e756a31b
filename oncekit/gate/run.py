"""All checks, one after the other."""

from __future__ import annotations

from pathlib import Path

from oncekit.gate import errors, expressions, timeouts, variables, writes
from oncekit.gate.finding import Finding
from oncekit.gate.project import Project
from oncekit.local.definition import DefinitionError
from oncekit.local.template import TemplateError


def findings(path: Path) -> list[Finding]:
    """What the checks find in the definitions of the template at `path`; or the reason why they cannot be read."""
    found: set[Finding] = set()
    try:
        project = Project(path)
        for machine in project.machines:
            for check in (expressions.check, variables.check, errors.check, writes.check):
                found.update(check(machine))
        found.update(timeouts.check(project))
    except (DefinitionError, TemplateError) as error:
        return [Finding(path.name, "", str(error))]
    except OSError as error:
        return [Finding(path.name, "", f"{error.strerror}; name the template with --template")]
    return sorted(found)
