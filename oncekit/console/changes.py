"""A count of changes, and a wait for the next one: what every source of the console has."""

from __future__ import annotations

import threading


class Changes:
    """Grows by one with each change of what is listed. Thread-safe; `changed` is the lock of what is listed, too."""

    def __init__(self) -> None:
        self._version = 0
        self.changed = threading.Condition()

    def version(self) -> int:
        """A number that grows with every change of what is listed."""
        return self._version

    def wait(self, version: int, seconds: float) -> int:
        """The version, as soon as it is another one, or after this many seconds."""
        with self.changed:
            self.changed.wait_for(lambda: self._version != version, seconds)
            return self._version

    def note(self) -> None:
        """Something changed."""
        with self.changed:
            self._version += 1
            self.changed.notify_all()
