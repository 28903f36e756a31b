"""Asynchronous Express executions that run more than once.

Developer Guide, *Choosing workflow type*: an asynchronous Express workflow has "At-least-once workflow execution". It
is unconfirmed that a second run has the ARN of the first one; here it has, because that is the harder case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Again = Callable[[str, str], Sequence[float]]
"""Gets the ARN of an execution that has started, and its input; says after how many seconds each it runs once more."""


class Repeats:
    """Who says what is run again, and what is still to come."""

    def __init__(self) -> None:
        self.says: list[Again] = []
        self._to_come: list[Callable[[], None]] = []

    def delays(self, arn: str, text: str) -> list[float]:
        return [delay for says in self.says for delay in says(arn, text)]

    def to_come(self, take_back: Callable[[], None]) -> None:
        self._to_come.append(take_back)

    def forget(self) -> None:
        """Nothing that is still to come will come."""
        for take_back in self._to_come:
            take_back()
        self._to_come.clear()
        self.says.clear()

    close = forget
