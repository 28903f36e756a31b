"""Latches that hold business logic in the middle of its work."""

from __future__ import annotations

import time
from pathlib import Path


class Latches:
    """Holds scripted business logic at a named point until the test opens it; counts the starts it has seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, name: str) -> None:
        (self.folder / name).touch()

    def starts(self) -> int:
        log = self.folder / "starts"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def wait_for_starts(self, count: int) -> None:
        end = time.monotonic() + 20
        while self.starts() < count:
            assert time.monotonic() < end, f"{self.starts()} starts after 20 s, {count} expected"
            time.sleep(0.005)
