"""The files and the parts of files that the commands write, with places for names: `@{operation}`."""

from __future__ import annotations

import re
from pathlib import Path

_PLACE = re.compile(r"@\{(\w+)\}")


def text(file: str, **names: str) -> str:
    """A text with its places filled. KeyError when one has no name."""
    return _PLACE.sub(lambda place: names[place[1]], (Path(__file__).parent / file).read_text())


def parts(file: str, **names: str) -> list[list[str]]:
    """The lines of each resource of a text. An empty line is between two of them."""
    return [each.split("\n") for each in text(file, **names).strip("\n").split("\n\n")]


def names_in(file: str, operation: str) -> list[str]:
    """The logical ids of the resources of a text, for an operation's name in camel case."""
    lines = (Path(__file__).parent / file).read_text().split("\n")
    return [line.rstrip(":").replace("@{Operation}", operation) for line in lines if line.startswith("@")]
