""".gitignore: what tests, the local cloud, sam and `once env --sam` make in an application, and nobody commits."""

from __future__ import annotations

from pathlib import Path

from oncekit.adoption.texts import text

NAME = ".gitignore"


def with_entries(path: Path) -> str | None:
    """The text of the file, with the entries that it has not under any name; None when it has all."""
    there = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
    known = {_plain(line) for line in there.splitlines()}
    entries = text("gitignore.txt").splitlines()
    lacking = [each for each in entries if not known & {_plain(each), _plain(each).partition("/")[0]}]
    if not lacking:
        return None
    end = "\r\n" if "\r\n" in there else "\n"
    between = end if there and not there.endswith("\n") else ""
    return there + between + "".join(f"{each}{end}" for each in lacking)


def _plain(line: str) -> str:
    """`build` of `/build/`, `**/build/` and `build/*`: they all ignore what Once makes there."""
    return line.strip().removeprefix("**").removesuffix("*").removesuffix("*").strip("/")
