"""Parsed definitions: one program for all executions of a definition, cached for the next process.

An execution only reads its program; its own data is in its environment. Parsing the operation machine takes half a
second, reading the cached program a hundredth of that.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import moto
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

from oncekit.local.engine.patching import replaced
from oncekit.local.kept_files import KeptFiles

_ENDPOINT = "{endpoint}"
WORTH_KEEPING = 10_000
"""Characters of a definition. A shorter one is parsed as quickly as its file is found, and many of them would take the
places of the few that matter.
"""


class _Writer(pickle.Pickler):
    """Puts a placeholder for the endpoint. Each of these two is a class: Python 3.13.0 lets no instance be changed."""

    def __init__(self, file: io.BytesIO, endpoint_url: str) -> None:
        super().__init__(file)
        self._endpoint_url = endpoint_url

    def persistent_id(self, value: Any) -> str | None:
        if isinstance(value, str) and self._endpoint_url in value:
            return value.replace(self._endpoint_url, _ENDPOINT)
        return None


class _Reader(pickle.Unpickler):  # whoever writes to the folder can change the functions, too
    """Puts this cloud's endpoint for the placeholder."""

    def __init__(self, file: io.BytesIO, endpoint_url: str) -> None:
        super().__init__(file)
        self._endpoint_url = endpoint_url

    def persistent_load(self, text: str) -> str:
        return text.replace(_ENDPOINT, self._endpoint_url)


class KeptPrograms:
    """Programs in files of a folder. The endpoint, which has another port each time, stands in none of them."""

    def __init__(self, folder: Path, endpoint_url: str) -> None:
        self._files = KeptFiles(folder, "program", 100)
        self._endpoint_url = endpoint_url
        # Of whom a program is: this Python, this moto, and the modules that change what moto makes of a definition.
        modules = sorted(Path(__file__).parent.glob("*.py"))
        self._makers = repr((sys.version, moto.__version__, [(each.name, each.stat().st_mtime_ns) for each in modules]))

    def get(self, definition: str) -> Any:
        """The program of a definition, None when none is kept."""
        kept = self._files.get(self._key(definition))
        if kept is None:
            return None
        return _Reader(io.BytesIO(kept), self._endpoint_url).load()

    def keep(self, definition: str, program: Any) -> None:
        content = io.BytesIO()
        _Writer(content, self._endpoint_url).dump(program)
        self._files.keep(self._key(definition), content.getvalue())

    def _key(self, definition: str) -> str:
        return self._makers + definition.replace(self._endpoint_url, _ENDPOINT)


@contextmanager
def patch(kept: KeptPrograms | None) -> Iterator[None]:
    parse_anew = AmazonStateLanguageParser.parse

    @functools.lru_cache(maxsize=32)
    def program_of(definition: str) -> Any:
        if kept is None or len(definition) < WORTH_KEEPING:
            return parse_anew(definition)[0]
        program = kept.get(definition)
        if program is None:
            program = parse_anew(definition)[0]
            kept.keep(definition, program)
        return program

    def parse(definition: str) -> tuple[Any, None]:
        return program_of(definition), None

    with replaced((AmazonStateLanguageParser, "parse", staticmethod(parse))):
        yield
