"""HTML of the console: templates in which every value is escaped, and what cannot be seen is shown as its escape."""

from __future__ import annotations

import functools
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from oncekit.console.json_text import as_it_is, set_out
from oncekit.console.picture import KINDS, SIGNS, words_of
from oncekit.console.visible import visible
from oncekit.console.words import day_and_time, duration, iso

FOLDER = Path(__file__).parent
_BAR = Markup('<svg class="bar" width="100%" height="8" aria-hidden="true">{}</svg>')
LEAST_OF_A_BAR = 0.8
"""Percent: so wide that it is seen."""


def run_address(arn: str) -> str:
    return f"/run/{quote(arn, safe=':', errors='replace')}"


def record_address(id: str) -> str:
    return f"/record/{_part(id)}"


def _part(text: str) -> str:
    """As a part of an address."""
    return quote(text, safe="", errors="replace")


def rendered(template: str, **values: Any) -> str:
    """A template of this folder with these values."""
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    made.filters.update(
        run_address=run_address,
        record_address=record_address,
        part=_part,
        iso=iso,
        day=day_and_time,
        duration=duration,
        set_out=set_out,
        as_it_is=as_it_is,
        sign=SIGNS.__getitem__,
        kind=KINDS.__getitem__,
    )
    made.globals.update(words=words_of, bar=bar)
    return made


def bar(begin: datetime | None, end: datetime | None, at: datetime | None, until: datetime | None) -> Markup:
    """When something was, within a time. An SVG: no style is allowed within a page."""
    whole = (end - begin).total_seconds() if begin and end else 0.0
    if begin is None or at is None or whole <= 0:
        return _BAR.format("")
    width = max(((until or at) - at).total_seconds() / whole * 100, LEAST_OF_A_BAR)
    x = min(max((at - begin).total_seconds() / whole * 100, 0.0), 100 - LEAST_OF_A_BAR)
    rect = Markup('<rect x="{}%" width="{}%" height="8" rx="2"/>').format(f"{x:.2f}", f"{min(width, 100 - x):.2f}")
    return _BAR.format(rect)


def _seen(value: Any) -> Any:
    """What a template prints: text of others in characters that can be seen."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


@functools.cache
def asset(name: str) -> str:
    """A file of this folder that pages load; the style has the rules of pictures, too."""
    text = (FOLDER / name).read_text("utf-8")
    return text + (FOLDER / "picture.css").read_text("utf-8") if name.endswith(".css") else text
