"""The fixture that names the template for its tests, where pytest would take another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from oncekit import application
from oncekit.adoption.texts import text

CONFTEST = "tests/conftest.py"


def is_lacking(template: Path) -> bool:
    """Whether pytest, started here, would take another template, and no conftest.py names this one."""
    here = Path.cwd()
    if template.name == application.TEMPLATE and template.parent.resolve() in (here, *here.parents):
        return False
    files = (template.parent / each for each in ("conftest.py", CONFTEST))
    return not any(template.name in each.read_text("utf-8", "replace") for each in files if each.is_file())


def conftest(template: Path) -> str:
    return text("conftest.py.txt", template=template.name)


def lines_to_add(template: Path) -> Iterator[str]:
    """To a conftest.py that is there."""
    yield f"pytest does not find {template}: add to {CONFTEST}, or its tests run on another template"
    yield from ("", *(f"    {line}".rstrip() for line in conftest(template).splitlines()), "")
