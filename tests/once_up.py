"""`once up` as a process of its own, on free ports."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-c", "from oncekit.cli.main import main; main()", "up", "--port", "0", "--http-port", "0"]
IS_UP_S = 60
ENDS_S = 20
"""How long a test waits at most: a busy machine is no verdict."""


@dataclass(frozen=True)
class Up:
    """A process that serves, and the files that it writes to."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def lines(self) -> list[str]:
        return self.out.read_text().splitlines()

    @property
    def given(self) -> dict[str, str]:
        """The variables of the environment that its `export` lines set."""
        return dict(line.removeprefix("export ").split("=", 1) for line in self.lines if line.startswith("export "))

    def wait_for(self, words: str) -> None:
        """Until it has told them."""
        end = time.monotonic() + IS_UP_S
        while words not in self.err.read_text():
            assert time.monotonic() < end and self.process.poll() is None, self.err.read_text()
            time.sleep(0.05)


@contextmanager
def once_up(folder: Path, output: Path, *options: str) -> Iterator[Up]:
    """Serves what is in `folder`, from when it is up until the end of the block; writes to files in `output`."""
    out, err = output / "out", output / "err"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen([*COMMAND, *options], cwd=folder, stdout=stdout, stderr=stderr)
    up = Up(process, out, err)
    try:
        up.wait_for("is up")
        yield up
    finally:
        process.send_signal(signal.SIGINT)  # does nothing to one that has ended
        try:
            process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
