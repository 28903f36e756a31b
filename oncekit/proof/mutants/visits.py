"""What a test visits: the states that its executions enter, and how each was left.

S           the state was entered
S!          it failed there: its retries and catches were looked at
S?2         its third choice was looked at
S=2         its third choice was taken
S=default   no choice was
S*          a test looked at the whole state
*           a test looked at a whole definition
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from oncekit.local import definition
from oncekit.local.engine import states, tasks
from oncekit.local.engine.patching import replaced

_RECORDING: list[Visits] = []


class Visits:
    """Parts that were visited since they were last taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: set[str] = set()

    def add(self, *parts: str) -> None:
        with self._lock:
            self._found.update(parts)

    def taken(self) -> list[str]:
        with self._lock:
            found, self._found = self._found, set()
        return sorted(found)


def seen(state: str) -> None:
    """A test looks at a state by itself, at all of it."""
    for visits in _RECORDING:
        visits.add(f"{state}*")


@contextmanager
def recorded(visits: Visits) -> Iterator[None]:
    """Record while the context is open; it must be opened before a cloud is."""
    enter, fail = states.enter, tasks.retried_or_caught

    def entered(state: Any, env: Any) -> None:
        visits.add(state.name)
        enter(state, env)

    def failed(state: Any, env: Any, error: Exception) -> bool:
        visits.add(f"{state.name}!")
        return fail(state, env, error)

    choosing, read = _choosing(visits), definition.read_definition

    def looked_into(path: Path) -> dict[str, Any]:
        visits.add("*")
        return read(path)

    with replaced(
        (states, "enter", entered),
        (states, "choose", choosing),
        (tasks, "retried_or_caught", failed),
        (definition, "read_definition", looked_into),
    ):
        _RECORDING.append(visits)
        try:
            yield
        finally:
            _RECORDING.remove(visits)


def _choosing(visits: Visits) -> Any:
    choose = states.choose

    def chosen(state: Any, env: Any) -> None:
        """A program is shared by executions, so what watches stands in front of the state and not in it."""
        watched = _Watched(state)
        choose(watched, env)
        visits.add(*(f"{state.name}?{number}" for number in range(watched.looked_at)))
        is_default = watched.ended
        visits.add(f"{state.name}=default" if is_default else f"{state.name}={watched.looked_at - 1}")

    return chosen


class _Watched:
    """A Choice that counts the rules that are looked at."""

    def __init__(self, state: Any) -> None:
        self._state = state
        self.looked_at = 0
        self.ended = False
        self.choices_decl = SimpleNamespace(rules=self._counted())

    def _counted(self) -> Iterator[Any]:
        for rule in self._state.choices_decl.rules:
            self.looked_at += 1
            yield rule
        self.ended = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)
