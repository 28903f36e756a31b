"""samconfig.toml: the capabilities that `sam deploy` must acknowledge for an application inside another one.

CAPABILITY_IAM for its roles, CAPABILITY_AUTO_EXPAND for its transforms. Source: *CreateStack*, Capabilities, in
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
"""

from __future__ import annotations

import re
from pathlib import Path

from oncekit.problem import Problem

NAME = "samconfig.toml"
CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")
_NEW = """# Settings of the sam commands.
version = 0.1

[default.deploy.parameters]
capabilities = "{capabilities}"
resolve_s3 = true
confirm_changeset = true
"""
_LINE = re.compile(r"""^(capabilities\s*=\s*)(.*)$""", re.MULTILINE)


def with_capabilities(path: Path) -> str | None:
    """The text of the file with the capabilities in each line of them; None when they are there.

    They are put into texts such as `sam init` writes. Raises Problem, with what to add, where there is none.
    """
    if not path.exists():
        return _NEW.format(capabilities=" ".join(CAPABILITIES))
    text = path.read_bytes().decode()
    changed = _LINE.sub(lambda line: f"{line[1]}{_completed(line[2])}", text)
    if not all(_missing(line[2]) == [] for line in _LINE.finditer(changed)) or not _LINE.search(text):
        raise Problem(f"{path}: add {' '.join(CAPABILITIES)} to the capabilities of each deploy.parameters")
    return None if changed == text else changed


def _completed(given: str) -> str:
    """The value of a line: in a text of its own, the missing ones are added at its end."""
    return re.sub(
        r"""^(["'])([A-Z_ ]*)\1""",
        lambda old: f"{old[1]}{' '.join([*old[2].split(), *_missing(given)])}{old[1]}",
        given,
    )


def _missing(given: str) -> list[str]:
    there = set(re.findall(r"\w+", given.replace("CAPABILITY_NAMED_IAM", "CAPABILITY_IAM")))
    return [each for each in CAPABILITIES if each not in there]
