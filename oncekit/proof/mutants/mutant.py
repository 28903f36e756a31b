"""A mutant: one change at one place of one parsed document, under a name that stays when the rest changes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
"""Members and numbers of items that lead from the whole document to the place."""


@dataclass(frozen=True)
class Gone:
    """In place of a value: the member or the item is taken out."""


GONE = Gone()


@dataclass(frozen=True)
class Edit:
    """What stands at a place afterwards."""

    path: Path
    value: Any


@dataclass(frozen=True)
class Mutant:
    """One breakage. `part` is what a test must have visited to see it, empty where that is not known."""

    file: str
    where: str
    """The state or the resource, and the place in it: `AcquireLock.Arguments.ConditionExpression`."""
    what: str
    kind: str
    edits: tuple[Edit, ...]
    part: str = ""
    kin: str = ""
    """What those have in common that the same tests kill; by itself the place."""

    @property
    def name(self) -> str:
        return f"{self.file.rpartition('/')[2].partition('.')[0]}:{self.where}: {self.what}"

    @property
    def family(self) -> str:
        return self.kin or self.place

    @property
    def place(self) -> str:
        """The state or the resource alone."""
        return self.where.partition(".")[0]

    def applied(self, document: Any) -> Any:
        """The document with this change in it; what was given stays as it is."""
        changed = copy.deepcopy(document)
        for edit in self.edits:
            changed = _set(changed, edit.path, edit.value)
        return changed


def _set(document: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    node = document
    for step in path[:-1]:
        node = node[step]
    if isinstance(value, Gone):
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return document


def at(document: Any, path: Path) -> Any:
    """What stands at a place."""
    for step in path:
        document = document[step]
    return document


def written(path: Path) -> str:
    """A place as people write it: `Catch[1].Assign.failure`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def told_apart(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """The mutants without those that change the same thing twice; one with a name that is taken gets a number."""
    names: dict[str, int] = {}
    seen: set[str] = set()
    for mutant in mutants:
        change = repr((mutant.file, mutant.edits))
        if change in seen:
            continue
        seen.add(change)
        count = names[mutant.name] = names.get(mutant.name, 0) + 1
        yield mutant if count == 1 else Mutant(**{**vars(mutant), "what": f"{mutant.what} ({count})"})
