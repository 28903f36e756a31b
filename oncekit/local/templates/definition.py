"""Renders a state machine's definition with its substitutions: the same code for lint, tests, local cloud and graph."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

FastLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C takes 10 ms for the operation machine where the other takes 70."""
MOST_CHARACTERS = 1_048_576
"""Of a template or a definition: more neither CloudFormation nor Step Functions takes, by their quotas."""
MOST_DEEP = 200
"""Values inside of values: Python can read twice as many."""
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


def read_yaml(text: str, loader: Any = FastLoader) -> Any:
    """The value of a text. `loader` is a SafeLoader or made of one.

    Raises yaml.YAMLError, and DefinitionError for aliases that repeat more than AWS takes: a few lines can stand for
    more values than there are seconds; for what is too deep; and for a name that is there twice, of which the
    parser would take the last.
    """
    reading = loader(text)
    try:
        node = reading.get_single_node()
        if node is not None and _size(node, {}) > MOST_CHARACTERS:
            raise DefinitionError("is larger than 1 MB with what its aliases repeat: AWS takes no more")
        return None if node is None else reading.construct_document(node)
    finally:
        reading.dispose()


def _size(node: yaml.Node, sizes: dict[yaml.Node, int], deep: int = 0) -> int:
    """In characters; what aliases repeat counts each time, and is looked at once."""
    if deep > MOST_DEEP:
        raise DefinitionError(f"has more than {MOST_DEEP} values, each inside of another: no more are read here")
    if isinstance(node.value, str):
        return len(node.value) + 1
    if node not in sizes:
        sizes[node] = MOST_CHARACTERS + 1  # what contains itself has no end
        if isinstance(node, yaml.MappingNode):
            _check_names(node)
        inside = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
        sizes[node] = 1 + sum(_size(each, sizes, deep + 1) for each in inside)
    return sizes[node]


def _check_names(node: yaml.MappingNode) -> None:
    there: dict[tuple[str, str], yaml.Node] = {}
    for name, _ in node.value:
        if isinstance(name, yaml.ScalarNode) and name.value != "<<":  # of these, each adds what it stands for
            first = there.setdefault((name.tag, name.value), name)
            if first is not name:
                lines = f"{first.start_mark.line + 1} and {name.start_mark.line + 1}"
                raise DefinitionError(f"has {name.value} twice in one place, in lines {lines}")


def why_not_read(error: Exception) -> str:
    """What is wrong, and where, of a text of which the parser knows no file."""
    return str(error).replace('in "<unicode string>", ', "in ")


class Bare(str):
    """A string without quotes: CloudFormation substitutes before it reads YAML, so that 3 becomes a number."""

    __slots__ = ()


class _DefinitionLoader(FastLoader):  # type: ignore[misc] # it is of no known type, because it may be the one in C
    """Knows bare strings from quoted ones, where they are a placeholder."""


def _string(loader: Any, node: Any) -> str:
    return Bare(node.value) if not node.style and node.value.startswith("${") else str(node.value)


_DefinitionLoader.add_constructor("tag:yaml.org,2002:str", _string)


class DefinitionError(ValueError):
    """A placeholder without a substitution, or a substitution that no placeholder uses."""


@functools.lru_cache(maxsize=1024)
def _value_of(text: str) -> Any:
    """What YAML reads in it; the same few values are in many places."""
    return read_yaml(text)


def render_definition(path: Path, substitutions: Mapping[str, object], exactly: bool = True) -> dict[str, Any]:
    """The definition at `path` with every `${Name}` replaced, as text, as CloudFormation does.

    Raises DefinitionError, with `exactly` also when a name has no substitution or a substitution no use, which
    CloudFormation takes.
    """
    try:
        written = read_definition(path)
    except DefinitionError:
        if not path.is_file():
            raise
        # A placeholder may stand where only its value makes it JSON or YAML.
        return rendered_text(path.read_text(), substitutions, path)
    return rendered(written, substitutions, path, exactly)


def rendered_text(text: str, substitutions: Mapping[str, object], path: Path) -> dict[str, Any]:
    """A definition, as text, with its substitutions; `path` is where it is from."""
    replaced = _PLACEHOLDER.sub(lambda match: _text_of(substitutions.get(match[1], match[0])), text)
    return _definition_of(lambda: _read(replaced), path)


def rendered(
    written: Mapping[str, Any], substitutions: Mapping[str, object], path: Path, exactly: bool = True
) -> dict[str, Any]:
    """The same for a definition that was read already, from `path`."""
    used: set[str] = set()

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name not in substitutions:
            if not exactly:
                return match[0]
            raise DefinitionError(f"{path}: ${{{name}}} has no substitution; add it to DefinitionSubstitutions")
        used.add(name)
        return _text_of(substitutions[name])

    def render(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: render(value) for key, value in node.items()}
        if isinstance(node, list):
            return [render(value) for value in node]
        if not isinstance(node, str) or "${" not in node:
            return node
        text = _PLACEHOLDER.sub(value_of, node)
        return _value_of(text) if isinstance(node, Bare) and text and text != node else text

    try:
        definition: dict[str, Any] = render(written)
    except yaml.YAMLError as error:
        raise DefinitionError(f"{path} is not YAML with its substitutions: {why_not_read(error)}") from error
    if exactly and (unused := set(substitutions) - used):
        raise DefinitionError(
            f"{path}: no placeholder uses {', '.join(sorted(unused))}; remove it from DefinitionSubstitutions"
        )
    return definition


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_definition(path: Path) -> dict[str, Any]:
    """The definition at `path` as written, placeholders included. Raises DefinitionError unless it is an object."""
    return _definition_of(lambda: _read(path.read_text()), path)


def _definition_of(read: Callable[[], Any], path: Path) -> dict[str, Any]:
    try:
        definition = read()
    except OSError as error:
        raise DefinitionError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise DefinitionError(f"{path} is not YAML: {why_not_read(error)}") from error
    except DefinitionError as error:
        raise DefinitionError(f"{path} {error}") from error
    if not isinstance(definition, dict):
        raise DefinitionError(f"{path} is not an object")
    return definition


@functools.lru_cache(maxsize=16)
def _read(text: str) -> Any:
    """Once for all deployments of a definition: who renders it makes another one."""
    try:
        return read_yaml(text, _DefinitionLoader)
    except yaml.YAMLError:
        with suppress(ValueError):  # JSON that is indented by tabs is no YAML
            return json.loads(text)
        raise
