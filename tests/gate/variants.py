"""Broken variants of the template and its definitions, each made by one exact replacement."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).parent / "broken"
FILES = ("template.yaml", "statemachine/operation.asl.yaml", "statemachine/recovery.asl.yaml")


@dataclass(frozen=True)
class Variant:
    """One fault: `text`, which must be there exactly once, replaced by `by`."""

    name: str
    file: str
    within: str
    """The state or the resource whose lines hold the text; empty for the whole file."""
    text: str
    by: str
    finds: str
    """What the line that refuses it begins with, behind the name of the file: the state, and what is wrong with it."""
    found_in: str = ""
    """The file that is refused, where it is another one."""

    def is_refused_by(self, line: str) -> bool:
        return line.startswith(f"{self.found_in or self.file}: {self.finds}")

    def write(self, folder: Path) -> Path:
        """The project with the fault in it; gives the template's path."""
        for name in FILES:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
        whole = (ROOT / self.file).read_text()
        lines = block(whole, self.within) if self.within else whole
        assert lines.count(self.text) == 1, f"{self.name}: the text is there {lines.count(self.text)} times"
        broken = lines.replace(self.text, self.by)
        (folder / self.file).write_text(whole.replace(lines, broken))
        return folder / "template.yaml"


def block(whole: str, name: str) -> str:
    """The lines of the member `name` at any depth, up to the next one that is not deeper."""
    found = re.findall(rf"^(( +){name}:\n(?:\2 +.*\n| *\n)*)", whole, re.MULTILINE)
    assert len(found) == 1, f"{name} is there {len(found)} times"
    lines: str = found[0][0]
    return lines


def variants(kind: str = "*") -> list[Variant]:
    """Those of the files in broken/ that are called like this."""
    return [
        Variant(**each) for file in sorted(BROKEN.glob(f"{kind}.yaml")) for each in yaml.safe_load(file.read_text())
    ]
