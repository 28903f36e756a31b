"""The limit of 256 KiB in Step Functions for inputs, outputs, arguments, results and variables, as UTF-8 text.

A larger value fails with `States.DataLimitExceeded`. Neither it nor `States.Runtime` is matched by `States.ALL`.
`States.TaskFailed` matches "any known error name except for `States.Timeout`" (Developer Guide, *Handling errors*);
that it does not match those two either is unconfirmed. What AWS recorded differs from its guide: see Reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.error_equals_decl import ErrorEqualsDecl
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.patching import Change

MAX_BYTES = 262_144
OF_A_TASK_BYTES = MAX_BYTES - 1024
"""What a Task may pass on to the next state. "Internal metadata pushes the total payload over the limit" of an answer
just under it: the Task succeeds, and the execution ends at the transition, where no Catch sees it (seen on AWS:
cdklabs/construct-hub#1885). How much metadata that is, and whether other states have it, is unconfirmed.
"""
RUNTIME = "States.Runtime"


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


def text_of(value: Any) -> str:
    """A value as the JSON text that Step Functions passes on."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def is_within(text: str, most: int = MAX_BYTES) -> bool:
    """Whether a text can be passed on."""
    return len(text) <= most and len(text.encode("utf-8", "surrogatepass")) <= most


def exceeded(env: Any, what: str) -> FailureEventException:
    """The failure of a state whose data is too large."""
    cause = f"{what} with a size exceeding the maximum number of bytes service limit."
    return failed(env, StatesErrorNameType.StatesStatesDataLimitExceeded, cause)


def failed(env: Any, kind: StatesErrorNameType, cause: str) -> FailureEventException:
    """The failure of a task with an error that is Step Functions' own."""
    name = StatesErrorName(typ=kind)
    details = EventDetails(taskFailedEventDetails=TaskFailedEventDetails(error=name.error_name, cause=cause))
    return FailureEventException(
        FailureEvent(env=env, error_name=name, event_type=HistoryEventType.TaskFailed, event_details=details)
    )


def matches(error_equals: Any, error_name: str | None) -> bool:
    """Whether a Retry or Catch that names these errors is for this one."""
    return is_named({each.error_name for each in error_equals.error_names}, error_name)


def is_named(names: Set[str], error: str | None) -> bool:
    """Whether one of these names, of a Retry or a Catch, is for this error."""
    if error == RUNTIME and not _reading.runtime_is_caught:
        return False
    if error in names:
        return True
    special = {"States.DataLimitExceeded", RUNTIME}
    if "States.ALL" in names:
        return error not in special or (error != RUNTIME and _reading.all_has_data_limit)
    return "States.TaskFailed" in names and error not in special | {"States.Timeout"}


def changes() -> list[Change]:
    def is_within_size_quota(value: Any) -> bool:
        return is_within(text_of(value))

    def error_matches(self: Any, env: Any) -> None:
        env.stack.append(matches(self, env.stack.pop().error_name))

    return [
        (ErrorEqualsDecl, "_eval_body", error_matches),
        (state_task_service, "is_within_size_quota", is_within_size_quota),
    ]
