"""Whether a function can load its layer with the library, whose compiled parts are for one Python and processor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from oncekit.adoption import folder
from oncekit.adoption.application_template import FUNCTIONS, USUAL, ApplicationTemplate

LOWEST = 11
"""Of Python 3: the library and what it is made of need no less."""


def too_old(template: ApplicationTemplate, function: str) -> str | None:
    """What is wrong where no layer with the library can be made for the Runtime of a function."""
    runtime = known(template, template.function(function).get("Runtime")) or ""
    version = re.fullmatch(r"python3\.(\d+)", runtime)
    if version is None or int(version[1]) >= LOWEST:
        return None
    return f"{function} has the Runtime {runtime}, and the library needs python3.{LOWEST} or later"


def unlike(template: ApplicationTemplate) -> Iterator[tuple[str, str]]:
    """Each function whose Runtime or Architectures differ from its layer's, and what is wrong.

    What only a deployment knows is not told.
    """
    for name, each in template.resources.items():
        if each.get("Type") in FUNCTIONS:
            yield from ((name, told) for layer in libraries(template, name) for told in _of(template, name, layer))


def libraries(template: ApplicationTemplate, function: str) -> Iterator[str]:
    """Its layers that are made of the folder of the library."""
    root = template.path.parent
    for layer in (each["Ref"] for each in template.layers(function) if isinstance(each, dict) and "Ref" in each):
        place = template.at("Resources", layer, "Properties", "ContentUri")
        if isinstance(place, str) and root / place == root / folder.NAME / "shared":
            yield layer


def _of(template: ApplicationTemplate, function: str, layer: str) -> Iterator[str]:
    properties, metadata = template.function(function), template.at("Resources", layer, "Metadata") or {}
    processors = properties.get("Architectures") or [USUAL]
    compared = {
        "Runtime": (properties.get("Runtime"), metadata.get("BuildMethod")),
        "Architectures": (
            processors[0] if isinstance(processors, list) else processors,
            metadata.get("BuildArchitecture", USUAL),
        ),
    }
    for what, pair in compared.items():
        has, made = (known(template, each) for each in pair)
        if has and made and has != made and made != "makefile":
            yield (
                f"{function} has the {what} {has}, and its layer {layer} is made for {made}: give both the same, or "
                "it cannot import what of the library is compiled"
            )


def known(template: ApplicationTemplate, value: Any) -> str | None:
    """A text, or the default of the parameter that is named."""
    if isinstance(value, dict) and "Ref" in value:
        value = template.at("Parameters", value["Ref"], "Default")
    return value if isinstance(value, str) else None
