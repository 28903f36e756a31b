"""Which template an application has: the one that `once init` has noted beside it, or one of the usual name."""

from __future__ import annotations

import json
from pathlib import Path

from oncekit.problem import Problem

NAMES = ("template.yaml", "template.yml")
NOTED = "once/.installed.json"
"""What `once init` writes in the folder of the template."""
TEMPLATES = "templates"
"""The member of it that has the names of the templates that Once was put into."""


def template_of(folder: Path) -> Path | None:
    """The template of the application in a folder; None where there is none. Raises Problem where it may be another."""
    there = [folder / name for name in noted_in(folder) if (folder / name).is_file()]
    usual = [each for each in there if each.name in NAMES]
    if len(there) > 1 and not usual:
        raise Problem(f"{folder} has Once in {', '.join(each.name for each in there)}: name one with --template")
    usual = usual or there or [folder / each for each in NAMES if (folder / each).is_file()]
    return next(iter(usual), None)


def template_above(folder: Path) -> Path | None:
    """That of a folder, or of the nearest one above it that has one."""
    return next((found for each in (folder, *folder.parents) if (found := template_of(each)) is not None), None)


def noted_in(folder: Path) -> list[str]:
    """The names of the templates in a folder that Once was put into, as far as that is noted."""
    try:
        noted = json.loads((folder / NOTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    names = noted.get(TEMPLATES) if isinstance(noted, dict) else None
    of_files = names if isinstance(names, list) else []
    return [each for each in of_files if isinstance(each, str) and Path(each).name == each]
