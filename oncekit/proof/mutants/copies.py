"""Copies of the repository, each with a worker in it."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
LEFT_OUT = (".git", ".venv*", "build", ".*_cache", "*.egg-info", ".hypothesis", ".aws-sam")
"""What was compiled comes along: a worker writes none, and compiling takes seconds of each."""
SLOWNESS = 5.0
"""A test may take this many times as long as it did without a mutant, and LEAST_SECONDS besides."""
LEAST_SECONDS = 60.0
START_SECONDS = 300.0


class Hung(Exception):
    """A test did not end in its time; the worker is gone."""

    def __init__(self, test: str) -> None:
        super().__init__(test)
        self.test = test


class WorkerFailed(Exception):
    """A worker ended without having been told to."""


def copied(to: Path, rewritten: Mapping[str, str]) -> Path:
    """A copy of the repository with some files written otherwise. What only checks or measures is linked."""
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)
    (to / "build").mkdir(exist_ok=True)
    for linked in (".venv", "build/npm"):
        if (ROOT / linked).exists() and not (to / linked).exists():
            (to / linked).symlink_to(ROOT / linked)
    for name, text in rewritten.items():
        (to / name).write_text(text)
    return to


class Copy:
    """One copy and its worker; a worker that hangs is ended, and the next task starts another one."""

    def __init__(self, folder: Path, rewritten: Mapping[str, str], paths: Sequence[str]) -> None:
        self._paths = paths
        self._rewritten = rewritten
        self._folder = copied(folder, rewritten)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def tests(self) -> list[str]:
        """What the worker has collected."""
        self._start()
        return self._tests

    def do(self, task: Mapping[str, Any], seconds: Callable[[str], float]) -> dict[str, Any]:
        """The worker's answer; `seconds` says how long a test takes without a mutant. Raises Hung, WorkerFailed."""
        self._start()
        os.write(self._in, (json.dumps(task) + "\n").encode())
        began, test = time.monotonic(), ""
        limit = START_SECONDS
        while True:
            answer = self._answer(began + limit)
            if answer is None:
                self.end()
                raise Hung(test)
            if "begins" not in answer:
                return answer
            test, began = answer["begins"], time.monotonic()
            limit = LEAST_SECONDS + SLOWNESS * seconds(test)

    def end(self) -> None:
        """End the worker, with the functions that it runs, and put the files back."""
        if self._process is None:
            return
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._process, self._rest = None, b""
        for name, text in self._rewritten.items():
            (self._folder / name).write_text(text)

    def _start(self) -> None:
        if self._process is not None:
            return
        ours_out, theirs_in = os.pipe()[::-1]
        theirs_out, ours_in = os.pipe()[::-1]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self._folder}{os.pathsep}{self._folder / 'shared'}",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        base = self._folder / "build" / "temporary"
        command = [sys.executable, "-m", "oncekit.proof.mutants.worker", f"--basetemp={base}", *self._paths]
        log = (self._folder / "build" / "worker.log").open("ab")
        self._process = subprocess.Popen(  # noqa: S603 its own arguments
            ["/bin/sh", "-c", f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"', "sh", *command],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        log.close()
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_out, ours_in
        said = self._answer(time.monotonic() + START_SECONDS)
        if said is None:
            raise WorkerFailed(f"it does not begin: see {self._folder}/build/worker.log")
        self._tests: list[str] = said["tests"]

    def _answer(self, until: float) -> dict[str, Any] | None:
        """The next line, None when there is none in time."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            read = os.read(self._out, 1 << 20)
            if not read:
                tail = (self._folder / "build" / "worker.log").read_text()[-2000:]
                self.end()
                raise WorkerFailed(tail)
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer
