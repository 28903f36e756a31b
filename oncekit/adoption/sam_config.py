"""samconfig.toml: the capabilities that `sam deploy` must acknowledge for an application inside another one.

CAPABILITY_IAM for its roles, CAPABILITY_AUTO_EXPAND for its transforms. Source: *CreateStack*, Capabilities, in
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
"""

from __future__ import annotations

import re
import tomllib
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
_LINE = re.compile(r"""^(capabilities\s*=\s*)(["'])([A-Z_ ]*)\2""", re.MULTILINE)


def with_capabilities(path: Path) -> str | None:
    """The text of the file with the capabilities in each section of `deploy`; None when they are there.

    They are put into lines such as `sam init` writes. Raises Problem, with what to add, where there is none.
    """
    if not path.exists():
        return _NEW.format(capabilities=" ".join(CAPABILITIES))
    text = path.read_bytes().decode()
    if not _lacking(_read(text, path)):
        return None
    changed = _LINE.sub(
        lambda line: f"{line[1]}{line[2]}{' '.join([*line[3].split(), *_missing(line[3])])}{line[2]}", text
    )
    if left := _lacking(_read(changed, path)):
        name, words = next(iter(left.items()))
        raise Problem(f"{path}: add {' '.join(words)} to the capabilities in [{name}]")
    return changed


def _read(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Problem(f"{path} is not TOML: {error}") from error


def _lacking(config: dict[str, Any]) -> dict[str, list[str]]:
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
