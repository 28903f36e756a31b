"""Adds lines to a template, or takes some away. Every other byte of it stays: comments, quotes, ends of lines.

A parser says where a mapping or a list ends, and the lines go there. The result is parsed once more: it must be the
former template with the new member and nothing else, or nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from oncekit.local.templates.definition import FastLoader
from oncekit.local.templates.template import TemplateError, parse
from oncekit.problem import Problem

Keys = tuple[str, ...]
"""Where a node is: the keys that lead to it from the top."""


class YamlFile:
    """A template as text and as values. `append` and `remove` change both; `save` writes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise Problem(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}") from error
        self.before = self.text
        self.value = self._parsed(self.text)

    def _parsed(self, text: str) -> dict[str, Any]:
        try:
            return parse(text, self.path)
        except TemplateError as error:
            raise Problem(" ".join(str(error).split())) from error

    def at(self, *keys: str) -> Any:
        """The value at these keys, None if there is none."""
        return found(self.value, keys)

    def append(self, keys: Keys, lines: Sequence[str], apart: bool = False) -> None:
        """Add lines at the end of the mapping or list at `keys`, indented as its members are; with `apart` after an
        empty line. They are one new member of a mapping, or one item of a list.

        Into braces or brackets goes what is one line. Raises Problem, with what to add, for more, for what is empty,
        and where all of the file is in braces: it may be JSON, which stays that.
        """
        root: Any = yaml.compose(self.text, Loader=FastLoader)
        node = _node(root, keys)
        takes = isinstance(node, yaml.CollectionNode) and node.value and not (node.flow_style and len(lines) > 1)
        if not takes or root.flow_style:
            raise self._by_hand(keys, lines)
        if node.flow_style:
            end = node.end_mark.index - 1
            self._change(f"{self.text[:end].rstrip(' ')}, {lines[0].removeprefix('- ')}{self.text[end:]}", keys, lines)
            return
        indent = " " * node.start_mark.column
        written = self.text.splitlines(keepends=True)
        end = "\r\n" if written[0].endswith("\r\n") else "\n"
        place = _after(node, written)
        if not written[place - 1].endswith("\n"):
            written[place - 1] += end
        new = [f"{indent}{line}{end}" if line else end for line in lines]
        self._change("".join([*written[:place], *([end] if apart else []), *new, *written[place:]]), keys, lines)

    def _change(self, changed: str, keys: Keys, lines: Sequence[str]) -> None:
        if not self._has_only_that_new(changed, keys):
            raise self._by_hand(keys, lines)
        self.text, self.value = changed, self._parsed(changed)

    def append_resources(self, resources: Sequence[Sequence[str]]) -> None:
        """Add resources, each by its lines. Raises Problem when one has a name that is taken."""
        for lines in resources:
            name = next(line for line in lines if not line.startswith("#")).rstrip(":")
            if name in (self.value["Resources"] or {}):
                raise Problem(f"{self.path} has a resource {name} already")
            self.append(("Resources",), lines, apart=True)

    def remove(self, keys: Keys, apart: bool = False) -> None:
        """Take away the lines of a member of a mapping, with `apart` what is above it, too: its comments, and the
        empty line before them. Raises Problem when other members are on its lines.
        """
        within = _node(yaml.compose(self.text, Loader=FastLoader), keys[:-1])
        name, value = next(pair for pair in within.value if pair[0].value == keys[-1])
        written = self.text.splitlines(keepends=True)
        first = name.start_mark.line
        while apart and written[first - 1].startswith(" " * name.start_mark.column + "#"):
            first -= 1
        first -= apart and not written[first - 1].strip()
        changed = "".join([*written[:first], *written[_last_line(value) + 1 :]])
        without = deepcopy(self.value)
        del found(without, keys[:-1])[keys[-1]]
        if within.flow_style or self._parsed(changed) != without:
            raise Problem(f"{self.path}: {keys[-1]} is not on lines of its own: take it away by hand")
        self.text, self.value = changed, without

    def _has_only_that_new(self, changed: str, keys: Keys) -> bool:
        try:
            value = self._parsed(changed)
        except Problem:
            return False
        inside, former = found(value, keys), found(self.value, keys)
        if isinstance(inside, dict):
            for name in inside.keys() - former.keys():
                del inside[name]
        elif isinstance(inside, list):
            del inside[len(former) :]
        return value == self.value

    def _by_hand(self, keys: Keys, lines: Sequence[str]) -> Problem:
        """With what to add as JSON, which is YAML, too, and has its place in one line."""
        there = " of ".join(reversed(keys)) or "it"
        new = self._parsed("\n".join(["Resources: {}", "New:", *(f"  {line}" for line in lines)]))["New"]
        return Problem(
            f"{self.path}: {there} is not written line by line, so it stays as it is; add there: "
            + json.dumps(new, ensure_ascii=False)[1:-1]
        )

    def save(self) -> bool:
        """Write the file if it has changed; whether it has."""
        if self.text == self.before:
            return False
        self.path.write_bytes(self.text.encode())
        self.before = self.text
        return True


def found(value: Any, keys: Sequence[str]) -> Any:
    """What is at these keys; a list is found under the name of its function, such as Fn::Join."""
    for key in keys:
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    return value


def _node(node: Any, keys: Keys) -> Any:
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), None)
        elif isinstance(node, yaml.SequenceNode):
            # `!Join [",", [...]]` is a list under a tag; a plain value has it under the name Fn::Join.
            node = node if key == f"Fn::{node.tag.removeprefix('!')}" else _item(node, key)
        else:
            return None
    return node


def _item(node: yaml.SequenceNode, key: str) -> Any:
    return node.value[int(key)] if key.isdigit() and int(key) < len(node.value) else None


def _after(node: yaml.Node, written: Sequence[str]) -> int:
    """The line after the last one of a node, and after the comments under it that are indented as it is."""
    place = _last_line(node) + 1
    while place > 1 and not written[place - 1].strip():
        place -= 1
    while place < len(written) and (line := written[place].lstrip(" ")).startswith("#"):
        if len(written[place]) - len(line) < node.start_mark.column:
            break
        place += 1
    return place


def _last_line(node: yaml.Node) -> int:
    """The last line with something of the node on it, from 0. A block ends, for the parser, where the next begins."""
    if isinstance(node, yaml.ScalarNode):
        return int(node.end_mark.line) - (node.style in ("|", ">") and node.end_mark.column == 0)
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.line)
    last = node.value[-1]
    if not isinstance(last, tuple):
        return _last_line(last)
    name, value = last
    # What an alias stands for is written elsewhere, before it.
    return max(_last_line(name), _last_line(value) if value.start_mark.line >= name.start_mark.line else 0)
