"""Renders a state machine's definition with its substitutions: the one function for lint, tests, local cloud and graph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class DefinitionError(ValueError):
    """A placeholder without a substitution, or a substitution that no placeholder uses."""


def render_definition(path: Path, substitutions: Mapping[str, object]) -> dict[str, Any]:
    """The definition at `path` with every `${Name}` replaced, as text inside strings, as CloudFormation does.

    Raises DefinitionError when a name has no substitution or a substitution no use.
    """
    used: set[str] = set()

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name not in substitutions:
            raise DefinitionError(f"{path}: ${{{name}}} has no substitution; add it to DefinitionSubstitutions")
        used.add(name)
        return str(substitutions[name])

    def render(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: render(value) for key, value in node.items()}
        if isinstance(node, list):
            return [render(value) for value in node]
        return _PLACEHOLDER.sub(value_of, node) if isinstance(node, str) else node

    rendered: dict[str, Any] = render(yaml.safe_load(path.read_text()))
    if unused := set(substitutions) - used:
        raise DefinitionError(f"{path}: no placeholder uses {', '.join(sorted(unused))}; remove it from DefinitionSubstitutions")
    return rendered
