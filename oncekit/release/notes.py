"""The notes of a release are the section of its version in CHANGELOG.md."""

from __future__ import annotations

import re

from oncekit.problem import Problem

UNRELEASED = "not released yet"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def cut(changelog: str, version: str, *, released: bool) -> str:
    """The section without its heading. `released`: it is for a tag, so its heading has a date. Raises Problem."""
    found = re.search(rf"^## {re.escape(version)} \(([^\n)]+)\)\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None or not found[2].strip():
        raise Problem(f"CHANGELOG.md says nothing of {version}: it needs a section '## {version} (DATE)'")
    if not _DATE.fullmatch(found[1]) and (released or found[1] != UNRELEASED):
        raise Problem(f"CHANGELOG.md has {found[1]!r} in the place of the date of {version}: write YYYY-MM-DD")
    return found[2].strip() + "\n"
