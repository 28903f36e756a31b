"""A cache on disk, for what takes long to make.

A file that was changed or damaged is not used. If the folder cannot be written to, things are only slower.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from oncekit import application


@dataclass(frozen=True)
class KeptFiles:
    """At most `most` files of one kind in a folder; of more, the oldest go."""

    folder: Path
    kind: str
    most: int

    def get(self, key: str) -> bytes | None:
        """The cached value of a key, None if there is none."""
        with suppress(OSError, zlib.error):
            return zlib.decompress(self._file(key).read_bytes())  # which notices damage
        return None

    def keep(self, key: str, content: bytes) -> None:
        """Writes the file completely, or not at all."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "wb") as stream:
                stream.write(zlib.compress(content, zlib.Z_BEST_SPEED))
            Path(name).replace(self._file(key))
            kept = sorted(self.folder.glob(f"{self.kind}-*"), key=lambda each: each.stat().st_mtime)
            for old in kept[: -self.most]:
                old.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self.folder / f"{self.kind}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def makers(package: str) -> str:
    """Who makes a file, for its key: this Python, the package, and the modules that change what that does."""
    folder = Path(__file__).parent
    modules = [(str(each.relative_to(folder)), each.stat().st_mtime_ns) for each in sorted(folder.rglob("*.py"))]
    return repr((sys.version, version(package), modules))


def beside(template: Path) -> Path:
    """The cache folder of a template: beside it in a checkout, the user's own where the package is installed."""
    if not application.is_installed():
        return template.parent / "build" / "local"
    return folder_of_the_user(template)


def folder_of_the_user(template: Path) -> Path:
    """A folder for the folder of a template, which only the user writes to."""
    of_template = hashlib.sha256(str(template.parent.resolve()).encode()).hexdigest()[:16]
    return caches_of_the_user() / "oncekit" / of_template


def caches_of_the_user() -> Path:
    """As the XDG Base Directory Specification says: a relative path is to be ignored."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"
