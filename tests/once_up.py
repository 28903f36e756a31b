"""`once up` as a process of its own, on free ports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PORTS = [argument for name in ("--port", "--http-port", "--console-port") for argument in (name, "0")]
COMMAND = [sys.executable, "-c", "from oncekit.cli.main import main; main()", "up", *PORTS]
IS_UP_S = 60
ENDS_S = 20
"""How long a test waits at most: a busy machine is no verdict."""


@dataclass(frozen=True)
class Up:
    """A process that serves, and the files that it writes to."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    cache: Path

    @property
    def lines(self) -> list[str]:
        return self.out.read_text().splitlines()

    @property
    def given(self) -> dict[str, str]:
        """The variables of the environment that `once env` sets."""
        [kept] = self.cache.rglob("*.json")
        given: dict[str, str] = json.loads(kept.read_text())
        return given

    def wait_for(self, words: str, file: Path | None = None) -> None:
        """Until it has told them."""
        end = time.monotonic() + IS_UP_S
        while words not in (file or self.err).read_text():
            assert time.monotonic() < end and self.process.poll() is None, self.err.read_text()
            time.sleep(0.05)


@contextmanager
def once_up(folder: Path, output: Path, *options: str) -> Iterator[Up]:
    """Serves what is in `folder`, from when it is up until the end of the block; writes to files in `output`."""
    out, err, cache = output / "out", output / "err", output / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen([*COMMAND, *options], cwd=folder, stdout=stdout, stderr=stderr, env=environment)
    up = Up(process, out, err, cache)
    try:
        up.wait_for("Watch it in a browser", out)
        yield up
    finally:
        process.send_signal(signal.SIGINT)  # does nothing to one that has ended
        try:
            process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
