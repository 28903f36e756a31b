"""The data of a function, and of one invocation of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncekit.local.once_inside import LIVE

Code = frozenset[tuple[str, int, int]]
"""Path, time of change and size of every file that a function is made of."""
_NOT_CODE = ("__pycache__", "node_modules")


@dataclass(frozen=True)
class FunctionSpec:
    """A function as it is registered. `timeout` in seconds, `memory` in MiB, `concurrency` None for no cap."""

    code: Path
    handler: str = "app.handler"
    timeout: float = 30
    environment: Mapping[str, str] = field(default_factory=dict)
    memory: int = 256
    concurrency: int | None = None
    runtime: str = "python3.13"
    python_path: tuple[Path, ...] = ()
    """Folders after the code's own on the import path: what is /opt/python of each layer, and its site-packages."""
    layers: tuple[Path, ...] = ()
    """What is /opt of each layer."""
    role: str | None = None
    """ARN of the role whose policies its calls are checked against; None for no check."""
    aliases: frozenset[str] = frozenset({LIVE})
    """Each stands for the newest code."""


def code_of(spec: FunctionSpec) -> Code:
    """The code of a function as it is on disk, its layers included.

    The folder of one without a CodeUri is that of the whole application: packages and what tools keep are no code.
    """
    files = (file for folder in (spec.code, *spec.python_path, *spec.layers) for file in _files(folder))
    stats = ((file, file.stat()) for file in files if file.is_file())
    return frozenset((str(file), stat.st_mtime_ns, stat.st_size) for file, stat in stats)


def _files(folder: Path) -> Iterator[Path]:
    for name, inside, files in os.walk(folder):
        inside[:] = [each for each in inside if each not in _NOT_CODE and not each.startswith(".")]
        yield from (Path(name, each) for each in files)


@dataclass(frozen=True)
class LogLine:
    """A line of a function's log. `stream` is that of its environment."""

    function: str
    stream: str
    text: str
    is_mark: bool = False
    """Whether Lambda marks an invocation by it: START, END or REPORT, which people are not shown."""
    is_of_init: bool = False
    """Whether it was printed before the environment was ready for its first event."""


@dataclass(frozen=True)
class Invocation:
    """One call of a function. Times in epoch seconds; `outcome` is `succeeded`, an error type, or `running`."""

    request_id: str
    function: str
    event: Any
    started_at: float
    ended_at: float | None
    outcome: str
    is_started: bool = True
    """Whether the function was called. False for one that could not be loaded; True until that is known."""
