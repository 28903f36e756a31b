"""What `sam build` has made: the code of a function, where that is not its source as it is.

TypeScript, Go, a Makefile, esbuild: what these make is run from `.aws-sam/build`, if it is there and newer than the
source. `sam build` writes a template there, which names the folder of each function and layer.
https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-cli-command-reference-sam-build.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncekit.local.lambda_runtime.languages import NODE, NODE_FILES, PROVIDED, PYTHON, language
from oncekit.local.templates.archive import SUFFIX as ARCHIVE
from oncekit.local.templates.intrinsics import TemplateError
from oncekit.local.templates.template import parse

FOLDER = Path(".aws-sam") / "build"
NOT_SOURCE = ("node_modules", "__pycache__", "once", "events", "tests", "build")
"""Folders in an application that no function is built from: npm's, Python's, and what `once` writes."""
NOT_SOURCE_FILES = ("template.yaml", "template.yml", "samconfig.toml")
_CODE = ("CodeUri", "Code", "ContentUri", "Content", "Location", "TemplateURL")


@dataclass(frozen=True)
class Built:
    """What was built of one template."""

    file: Path
    """The template that names it; it may not be there."""
    resources: Mapping[str, Any]

    @classmethod
    def beside(cls, folder: Path) -> Built:
        """Of the template in a folder."""
        return cls._read(folder / FOLDER / "template.yaml")

    @classmethod
    def _read(cls, file: Path) -> Built:
        with suppress(OSError, TemplateError, UnicodeDecodeError):  # what is no template was not built
            return cls(file, parse(file.read_text(), file)["Resources"])
        return cls(file, {})

    def inside(self, logical_id: str) -> Built:
        """What was built of an application in it."""
        return self._read(self._place(logical_id) or self.file / "none")

    def folder_of(self, logical_id: str) -> Path | None:
        """What was built of a function or a layer."""
        place = self._place(logical_id)
        return place if place is not None and place.is_dir() else None

    def layer(self, logical_id: str, source: Path) -> Path:
        """The folder of a layer: what make or npm has made of it, else its source.

        What pip has made for Lambda's processor may not run on this one, which has its own.
        """
        made = self.folder_of(logical_id)
        is_made = any((source / each).is_file() for each in ("Makefile", "package.json"))
        return made if made is not None and is_made and self.is_newer(source) else source

    def is_newer(self, source: Path) -> bool:
        """Than every file of a source."""
        return self.newest(source) is None

    def newest(self, source: Path) -> Path | None:
        """The newest file of a source, if it has changed since."""
        files = {file: file.stat().st_mtime for file in _source_files(source)}
        file = max(files, key=lambda each: files[each], default=None)
        return file if file is not None and files[file] > self.file.stat().st_mtime else None

    def _place(self, logical_id: str) -> Path | None:
        properties = (self.resources.get(logical_id) or {}).get("Properties") or {}
        place = next((properties[each] for each in _CODE if isinstance(properties.get(each), str)), None)
        return None if place is None else self.file.parent / place


def _source_files(source: Path) -> Iterator[Path]:
    for name, inside, files in os.walk(source):
        inside[:] = [each for each in inside if each not in NOT_SOURCE and not each.startswith(".")]
        yield from (Path(name, each) for each in files if each not in NOT_SOURCE_FILES and not each.startswith("."))


@dataclass(frozen=True)
class Source:
    """A function as its template has it."""

    logical_id: str
    folder: Path
    """What its CodeUri names: that may be an archive."""
    runtime: str
    handler: str
    method: str
    """The BuildMethod of its Metadata; empty for none."""
    layers: tuple[Path, ...] = ()
    """What is /opt of each."""

    def code(self, built: Built) -> Path | str:
        """The folder that is run; a text says why none is."""
        made = built.folder_of(self.logical_id)
        if self.wants_a_build():
            if made is not None and built.is_newer(self.folder):
                return made
            if self._needs_a_build():
                return self._told(built, made)
        return self.folder

    def _told(self, built: Built, made: Path | None) -> str:
        if made is not None and (newest := built.newest(self.folder)):
            return f"what `sam build` made of it is older than {newest.name}: run `sam build` again"
        return f"it is made by a build ({self._by()}): run `sam build` first"

    def _by(self) -> str:
        if self.method:
            return f"BuildMethod {self.method}"
        return "it has no `bootstrap`" if language(self.runtime) == PROVIDED else "its code is TypeScript"

    def _needs_a_build(self) -> bool:
        if language(self.runtime) == PYTHON:
            return False
        if language(self.runtime) == PROVIDED:
            return not any((each / "bootstrap").is_file() for each in (self.folder, *self.layers))
        return bool(self.method) or (not self._is_there(NODE_FILES) and self._is_there((".ts", ".mts", ".cts", ".tsx")))

    def wants_a_build(self) -> bool:
        """Whether what is built is more than the source. Packages of Python are those of this machine."""
        if self.folder.suffix == ARCHIVE:  # `sam build` leaves it as it is
            return False
        if language(self.runtime) == PYTHON:
            return self.method == "makefile"
        return bool(self.method) or self._needs_a_build() or (language(self.runtime) == NODE and self._lacks_packages())

    def _is_there(self, ends: tuple[str, ...]) -> bool:
        module = self.folder / Path(self.handler).parent / Path(self.handler).name.partition(".")[0]
        return any(module.with_name(module.name + end).is_file() for end in ends)

    def _lacks_packages(self) -> bool:
        package = self.folder / "package.json"
        with suppress(OSError, ValueError):
            told = json.loads(package.read_text())
            wants = isinstance(told, dict) and bool(told.get("dependencies"))
            return wants and not (self.folder / "node_modules").is_dir()
        return False
