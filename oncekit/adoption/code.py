"""What the code of a function says about it: the module of its handler, and those of its folder that it imports.

It is read, never run. Code in another language, or in no folder, says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

LIBRARY = "once"
BATCHES = "aws_lambda_powertools.utilities.batch"
RECORDS = "Records"
_READS_RECORDS = re.compile(rf"""\bevent(\[|\.get\()["']{RECORDS}["']""")


@dataclass(frozen=True)
class Code:
    """The code of a function."""

    folder: Path
    imported: frozenset[str]
    """The names of the modules that it imports from elsewhere."""
    texts: tuple[str, ...]
    """Of its own modules."""

    @classmethod
    def of(cls, properties: Mapping[str, Any], root: Path) -> Code:
        """By the properties of the function in the template in `root`."""
        place, handler = properties.get("CodeUri", properties.get("Code")), properties.get("Handler")
        if not isinstance(place, str) or not isinstance(handler, str):
            return cls(root, frozenset(), ())
        folder = root / place
        finder = _Finder([str(folder)], excludes=[LIBRARY])
        for module in _modules(folder, handler.replace("/", ".").rpartition(".")[0]):
            try:
                finder.import_hook(module)
            except (ImportError, SyntaxError, ValueError):  # it says nothing here; Lambda will say why
                continue
        files = filter(None, (getattr(each, "__file__", None) for each in finder.modules.values()))
        texts = (Path(each).read_text(encoding="utf-8", errors="replace") for each in files)
        return cls(folder, frozenset(finder.badmodules), tuple(texts))

    @property
    def knows_once(self) -> bool:
        """Whether it imports the library."""
        return self._imports(LIBRARY)

    @property
    def takes_batches(self) -> bool:
        """Whether it expects the list of records that Lambda makes of the messages of a queue or a stream."""
        return self._imports(BATCHES) or any(map(_READS_RECORDS.search, self.texts))

    def _imports(self, wanted: str) -> bool:
        return any(f"{name}.".startswith(f"{wanted}.") for name in self.imported)


class _Finder(ModuleFinder):
    """Follows imports into folders without `__init__.py`, too: ModuleFinder fails on them (python/cpython#84530).

    But the library is never one of them: its package, from the layer, comes before the folder `once/` of `once init`.
    """

    def import_module(self, partname: str, fqname: str, parent: Any) -> Any:
        path = parent.__path__ if parent else self.path
        PathFinder.invalidate_caches()
        spec = PathFinder.find_spec(partname, path) if path else None
        if spec is None or spec.origin or fqname == LIBRARY:
            return super().import_module(partname, fqname, parent)
        module: Any = self.add_module(fqname)
        module.__path__ = list(spec.submodule_search_locations or ())
        return module


def _modules(folder: Path, handler: str) -> Iterator[str]:
    """That of the handler; where it is not in the folder, as a layer may have it, all that are."""
    of_handler = folder.joinpath(*handler.split("."))
    if of_handler.with_suffix(".py").is_file() or (of_handler / "__init__.py").is_file():
        yield handler
        return
    for file in folder.rglob("*.py") if folder.is_dir() else ():
        yield ".".join(file.relative_to(folder).with_suffix("").parts)
