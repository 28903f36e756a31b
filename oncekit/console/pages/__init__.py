"""HTML of the console: templates in which every value is escaped, and what cannot be seen is shown as its escape."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from oncekit.console.visible import visible

FOLDER = Path(__file__).parent


def rendered(template: str, **values: Any) -> str:
    """A template of this folder with these values."""
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )


def prepare() -> None:
    """Compile all templates, which takes a while the first time."""
    for name in _environment().list_templates(["html"]):
        _environment().get_template(name)


def _seen(value: Any) -> Any:
    """What a template prints: text of others in characters that can be seen."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


@functools.cache
def asset(name: str) -> str:
    """A file of this folder that pages load; the style has the rules of pictures, too."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    if name.endswith(".css"):
        from oncekit.console.drawing.svg import style
        from oncekit.console.picture import WITHIN

        return text + style(WITHIN)
    return text
