"""Errors of states: their names, and which of them a Retry or a Catch is for.

`States.ALL` matches neither `States.DataLimitExceeded` nor `States.Runtime`. `States.TaskFailed` matches "any known
error name except for `States.Timeout`" (Developer Guide, *Handling errors*); that it does not match those two either is
unconfirmed. What AWS recorded differs from its guide: see Reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass

DATA_LIMIT = "States.DataLimitExceeded"
NO_CHOICE = "States.NoChoiceMatched"
QUERY = "States.QueryEvaluationError"
RUNTIME = "States.Runtime"
TIMEOUT = "States.Timeout"


class StateError(Exception):
    """A state that failed, or an execution."""

    def __init__(self, error: str | None, cause: str | None = None) -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause
        self.told = False
        """Whether its event is in the history."""

    @property
    def details(self) -> dict[str, str]:
        """As events have them: what is not there is left out."""
        pairs = (("error", self.error), ("cause", self.cause))
        return {name: value for name, value in pairs if value is not None}

    @property
    def output(self) -> dict[str, str | None]:
        """What a Catch reads in `$states.errorOutput`."""
        return {"Error": self.error, "Cause": self.cause or ""}


class QueryError(StateError):
    """An expression or a field that has no right value; `location` is the field, `Output/total`."""

    def __init__(self, cause: str, location: str | None) -> None:
        super().__init__(QUERY, cause)
        self.location = location


@dataclass(frozen=True)
class Reading:
    """How AWS may match two errors; by default as its guide says. A machine must do right under each of READINGS."""

    all_has_data_limit: bool = False
    """States.ALL matches States.DataLimitExceeded: two answers of AWS that LocalStack's tests recorded in 2024-03."""
    runtime_is_caught: bool = True
    """By its name; "will always cause the execution to fail", says the guide, and so it was recorded in 2023-11."""


READINGS = tuple(Reading(with_it, caught) for with_it in (False, True) for caught in (True, False))
_reading = Reading()


@contextmanager
def read_as(reading: Reading) -> Iterator[None]:
    """For tests: AWS matches errors so while the context is open."""
    global _reading
    before, _reading = _reading, reading
    try:
        yield
    finally:
        _reading = before


def is_named(names: Set[str], error: str | None) -> bool:
    """Whether one of these names, of a Retry or a Catch, is for this error."""
    if error == RUNTIME and not _reading.runtime_is_caught:
        return False
    if error in names:
        return True
    special = {DATA_LIMIT, RUNTIME}
    if "States.ALL" in names:
        return error not in special or (error != RUNTIME and _reading.all_has_data_limit)
    return "States.TaskFailed" in names and error not in special | {TIMEOUT}
