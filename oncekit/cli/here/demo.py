"""`once demo`: tells the story. Every line is a check."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from oncekit.cli.here.cloud import find_template, local_cloud
from oncekit.cli.options import Json, Template


def demo(as_json: Json = False, template: Template = None) -> None:
    """Show what Once does; every line is a check.

    A charge and its duplicates, crashes, a large result, another payload under the same key.
    Exit code 1 when a check fails. JSON: {held, checks: [{check, ok, expected, seen}]}.
    """
    raise typer.Exit(tell(as_json, template))


@dataclass
class Checks:
    """Says each check as it is made and remembers it."""

    say: Callable[[str], None]
    made: list[dict[str, Any]] = field(default_factory=list)

    def check(self, what: str, expected: object, seen: object) -> None:
        ok = expected == seen
        self.made.append({"check": what, "ok": ok, "expected": expected, "seen": seen})
        self.say(f"{'✓' if ok else '✗'} {what}" + ("" if ok else f": expected {expected}, saw {seen}"))

    @property
    def held(self) -> int:
        return sum(check["ok"] for check in self.made)


def tell(as_json: bool, template: Path | None) -> int:
    path = find_template(template)
    from oncekit.cli.here.report import tell_denials
    from oncekit.cli.here.story import CHAPTERS
    from oncekit.cli.outcomes import COLOURS
    from oncekit.cli.paper import Paper
    from oncekit.cli.terminal import say_json

    paper = Paper(error=False, quiet=as_json)

    def say(line: str = "") -> None:
        paper.line(line, COLOURS["✗"] if line.startswith("✗") else "")

    checks = Checks(say)
    started = time.monotonic()
    with local_cloud(path) as cloud:
        for title, chapter in CHAPTERS.items():
            say()
            say(title)
            try:
                chapter(cloud, checks.check)
            except TimeoutError as error:
                checks.check("it comes to an end", "an end", str(error))
        tell_denials(cloud.denials())
    if as_json:
        say_json({"held": checks.held == len(checks.made), "checks": checks.made})
    else:
        say()
        say(f"{checks.held} of {len(checks.made)} checks held, in {time.monotonic() - started:.1f} s.")
    return 0 if checks.held == len(checks.made) else 1
