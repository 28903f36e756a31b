""".gitignore: what tests, the local cloud, sam and `once env --sam` make in an application, and nobody commits."""

from __future__ import annotations

from pathlib import Path

from oncekit.adoption.texts import text

NAME = ".gitignore"


def with_entries(path: Path) -> str | None:
    """The text of the file, with the entries that it has not; None when it has all."""
    there = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
    known = {line.strip().strip("/") for line in there.splitlines()}
    lacking = [each for each in text("gitignore.txt").splitlines() if each.strip("/") not in known]
    if not lacking:
        return None
    end = "\r\n" if "\r\n" in there else "\n"
    between = end if there and not there.endswith("\n") else ""
    return there + between + "".join(f"{each}{end}" for each in lacking)
