"""Translations of templates, kept: one is for all values of parameters that differ only where it did not look."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oncekit.local.kept_files import KeptFiles

_MOST = 300
"""Of 40 KB each. One run of the tests needs more than 100; one that is made again takes a tenth of a second."""


class Given(dict[str, Any]):
    """Values of parameters for the translator. It makes a copy of them, and `used` are the names that it looks up in
    the copy: all of them, should it ever make none.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.used = set(values)

    def __deepcopy__(self, _: object) -> _Watched:
        watched = _Watched(self)
        self.used = watched.used
        return watched


class _Watched(dict[str, Any]):
    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.used.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 which would be this method

    def __iter__(self) -> Iterator[str]:
        """Python copies a dictionary in its own way unless it has this."""
        return super().__iter__()

    def copy(self) -> dict[str, Any]:
        return {name: self[name] for name in self}

    def items(self) -> Any:
        return self.copy().items()

    def values(self) -> Any:
        return self.copy().values()


@dataclass(frozen=True)
class _Known:
    """Of a template: its parameters as they are declared, and those that a translation of it ever looked at."""

    declared: Mapping[str, Any]
    used: Collection[str]


class Translations:
    """Those of one template."""

    def __init__(self, folder: Path, template: bytes) -> None:
        self._bodies, self._known = KeptFiles(folder, "template", _MOST), KeptFiles(folder, "parameters", _MOST)
        # Of whom a translation is: the translator, and the modules that read and change what it is given and gives.
        modules = sorted(Path(__file__).parent.glob("*.py"))
        makers = [version("aws-sam-translator"), [(each.name, each.stat().st_mtime_ns) for each in modules]]
        self._of = [makers, hashlib.sha256(template).hexdigest()]

    def declared(self) -> Mapping[str, Any] | None:
        """Its parameters, None where none of its translations was kept."""
        known = self._read()
        return None if known is None else known.declared

    def body(self, values: Mapping[str, str]) -> dict[str, Any] | None:
        """The translation for these values of its parameters, None where none was kept."""
        known = self._read()
        kept = None if known is None else self._bodies.get(self._key(known, values))
        return None if kept is None else json.loads(kept)

    def keep(self, declared: Mapping[str, Any], given: Given, values: Mapping[str, str], body: object) -> None:
        before = self._read()
        used = {*given.used, *(() if before is None else before.used)} & values.keys()
        known = _Known(declared, sorted(used))
        if known != before:
            self._known.keep(json.dumps(self._of), json.dumps(vars(known)).encode())
        self._bodies.keep(self._key(known, values), json.dumps(body).encode())

    def _read(self) -> _Known | None:
        kept = self._known.get(json.dumps(self._of))
        return None if kept is None else _Known(**json.loads(kept))

    def _key(self, known: _Known, values: Mapping[str, str]) -> str:
        return json.dumps([*self._of, {name: values[name] for name in known.used}], sort_keys=True)
