"""All checks, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from oncekit.gate import (
    alarms,
    buckets,
    cloudformation,
    errors,
    expressions,
    functions,
    nested,
    payloads,
    pipes,
    retries,
    rollouts,
    shape,
    substitutions,
    timeouts,
    variables,
    writes,
)
from oncekit.gate.finding import Finding
from oncekit.gate.project import Project
from oncekit.local.definition import DefinitionError
from oncekit.local.template import TemplateError

Check = Callable[[Project], Iterable[Finding]]

QUICK: tuple[Check, ...] = (
    substitutions.check,
    shape.check,
    expressions.check,
    variables.check,
    errors.check,
    retries.check,
    timeouts.check,
    writes.check,
    payloads.check,
    functions.check,
    nested.check,
    alarms.check,
    rollouts.check,
    pipes.check,
    buckets.check,
)
"""They take a second together."""

ALL: tuple[Check, ...] = (*QUICK, cloudformation.check)


def findings(path: Path, checks: Sequence[Check] = ALL) -> list[Finding]:
    """What the checks find in the template at `path` and in the files that it names.

    A definition that cannot be rendered ends the search with what was found, or else with the reason.
    """
    found: set[Finding] = set()
    try:
        project = Project.at(path)
        for check in checks:
            found.update(check(project))
    except (DefinitionError, TemplateError, OSError) as error:
        if not found:
            return [_unreadable(path, error)]
    return sorted(found)


def _unreadable(path: Path, error: Exception) -> Finding:
    """What stopped the search; a message about a definition begins with its file."""
    if isinstance(error, OSError):
        return Finding(Path(error.filename).name, "", f"{error.strerror}; name the template with --template")
    file, _, text = str(error).removeprefix(f"{path.parent}/").partition(": ")
    return Finding(file, "", text) if file.endswith(".yaml") else Finding(path.name, "", str(error))
