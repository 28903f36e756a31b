"""cfn-lint on the translated template, with its definitions rendered.

`sam validate --lint` does not see a definition that is in a file, so here each state machine has its own inside.
Warnings are left to `sam validate`, which has them on the template as it is written.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from oncekit.gate.finding import Finding
from oncekit.gate.project import Project
from oncekit.local.account import REGION


def check(project: Project) -> Iterator[Finding]:
    from cfnlint.api import ManualArgs, lint  # type: ignore[import-untyped]  # here: it takes half a second

    body, files = _plain(project)
    for match in lint(json.dumps(body), config=ManualArgs(regions=[REGION])):
        path = [str(part) for part in getattr(match, "path", None) or []]
        if match.rule.id.startswith("E") and not _is_mistaken(match.rule.id, path, body):
            yield _finding(project, files, path, f"{match.message} (cfn-lint {match.rule.id}); see its rules")


def _plain(project: Project) -> tuple[dict[str, Any], dict[str, str]]:
    """The template with its definitions in it, and the file of each machine."""
    body: dict[str, Any] = copy.deepcopy(dict(project.translated.body))
    files: dict[str, str] = {}
    for machine in project.machines:
        files[machine.logical_id] = machine.file
        properties = body["Resources"][machine.logical_id]["Properties"]
        properties.pop("DefinitionS3Location")
        properties.pop("DefinitionSubstitutions", None)
        properties["Definition"] = machine.definition
    return body, files


def _is_mistaken(rule: str, path: Sequence[str], body: Any) -> bool:
    """AWS takes an expression for TimeoutSeconds; cfn-lint's schema knows only numbers."""
    if rule != "E3601" or path[-1:] != ["TimeoutSeconds"]:
        return False
    for part in path:
        body = body[int(part) if isinstance(body, list) else part]
    return isinstance(body, str) and body.startswith("{%")


def _finding(project: Project, files: dict[str, str], path: Sequence[str], text: str) -> Finding:
    """Names the innermost state, or the resource."""
    logical_id = path[1] if len(path) > 1 else ""
    if logical_id not in files:
        return Finding(project.path.name, logical_id, text)
    at = [number for number, part in enumerate(path[:-1]) if part == "States"]
    state, field = (path[at[-1] + 1], path[at[-1] + 2 :]) if at else ("", path[4:])
    return Finding(files[logical_id], state, f"{'.'.join(field)}: {text}" if field else text)
