"""Unpacks the archive that a function's code is in, as Lambda does."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from pathlib import Path

from oncekit.local.templates.intrinsics import TemplateError

SUFFIX = ".zip"


def unpack(archive: Path, folder: Path) -> None:
    """Make a folder of all that is in an archive, or none. Raises TemplateError with the reason."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
            made = Path(beside, folder.name)
            made.mkdir()
            try:
                _extract(archive, made)
            except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
                why = (str(error) or type(error).__name__).replace(f"{made}/", "")
                raise TemplateError(f"its CodeUri, {archive}, cannot be unpacked: {why}") from error
            _rename(made, folder)
    except OSError as error:
        raise TemplateError(f"its CodeUri, {archive}, cannot be unpacked into {folder}: {error.strerror}") from error


def _extract(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            made = opened.extract(entry, folder)
            mode = entry.external_attr >> 16 & 0o777
            if mode and not entry.is_dir():  # an archive that was made on Windows has none
                Path(made).chmod(mode)


def _rename(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():  # another process has made it meanwhile
            raise
