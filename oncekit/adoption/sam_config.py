"""samconfig.toml: the capabilities that `sam deploy` must acknowledge for an application inside another one.

CAPABILITY_IAM for its roles, CAPABILITY_AUTO_EXPAND for its transforms. Source: *CreateStack*, Capabilities, in
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oncekit.adoption.problem import Problem

NAME = "samconfig.toml"
CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")
_COVERS = {"CAPABILITY_NAMED_IAM": "CAPABILITY_IAM"}
_NEW = """# Settings of the sam commands.
version = 0.1

[default.deploy.parameters]
capabilities = "{capabilities}"
resolve_s3 = true
confirm_changeset = true
"""
_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_LINE = re.compile(r"""(\s*capabilities\s*=\s*)(["'])([^"'\[\]]*)\2(.*)""", re.DOTALL)
_LIST = re.compile(r"(\s*capabilities\s*=\s*\[.*?)(\s*,)?(\s*\].*)", re.DOTALL)


def with_capabilities(path: Path) -> str | None:
    """The text of the file with the capabilities in each section of `deploy`; None when they are there.

    Raises Problem, with the line to write, when they cannot be put in.
    """
    if not path.exists():
        return _NEW.format(capabilities=" ".join(CAPABILITIES))
    text = path.read_bytes().decode()
    lacking = _lacking(_read(text, path))
    if not lacking:
        return None
    changed = "".join(_changed(text.splitlines(keepends=True), lacking))
    try:
        left = _lacking(tomllib.loads(changed))
    except tomllib.TOMLDecodeError:
        left = lacking
    if left:
        name, words = next(iter(left.items()))
        raise Problem(f"{path}: add {' '.join(words)} to the capabilities in [{name}]")
    return changed


def _read(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Problem(f"{path} is not TOML: {error}") from error


def _lacking(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """By section what its capabilities lack. Without any section, that of the environment `default` lacks all."""
    found = {
        f"{name}.deploy.parameters": _missing(each["deploy"].get("parameters", {}).get("capabilities", ""))
        for name, each in config.items()
        if isinstance(each, dict) and "deploy" in each
    }
    return {name: words for name, words in (found or {"default.deploy.parameters": [*CAPABILITIES]}).items() if words}


def _missing(given: str | list[str]) -> list[str]:
    words = given.split() if isinstance(given, str) else given
    there = {*words, *(_COVERS.get(word, word) for word in words)}
    return [each for each in CAPABILITIES if each not in there]


def _changed(lines: list[str], lacking: Mapping[str, list[str]]) -> Iterator[str]:
    section, wanted = "", dict(lacking)
    written = {match[1] for line in lines if (match := _HEADER.match(line))}
    has_line = _sections_with_capabilities(lines)
    for line in lines:
        if match := _HEADER.match(line):
            section = match[1]
            yield line if line.endswith("\n") else f"{line}\n"
            if section in wanted and section not in has_line:
                yield f'capabilities = "{" ".join(wanted.pop(section))}"\n'
        elif section in wanted and re.match(r"\s*capabilities\s*=", line):
            yield _with(line, wanted.pop(section))
        else:
            yield line
    for name, words in wanted.items():
        if name not in written:
            yield f'\n[{name}]\ncapabilities = "{" ".join(words)}"\n'


def _sections_with_capabilities(lines: list[str]) -> set[str]:
    section, found = "", set()
    for line in lines:
        if match := _HEADER.match(line):
            section = match[1]
        elif re.match(r"\s*capabilities\s*=", line):
            found.add(section)
    return found


def _with(line: str, words: list[str]) -> str:
    if match := _LINE.fullmatch(line):
        start, quote, given, rest = match.groups()
        return f"{start}{quote}{' '.join([*given.split(), *words])}{quote}{rest}"
    if match := _LIST.fullmatch(line):
        start, _, rest = match.groups()
        added = ", ".join(f'"{word}"' for word in words)
        return f"{start}{'' if start.rstrip().endswith('[') else ', '}{added}{rest}"
    return line
