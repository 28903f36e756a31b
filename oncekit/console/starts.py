"""Each start of business logic in a run, how it ended, and so what is known of its effect."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from oncekit.console.json_text import members_of
from oncekit.console.run import Failure, Run, Visit

WORK = "ExecuteBusinessLogic"
End = Literal["answered", "failed", "lost", "refused", "running"]
"""`failed` with an error of its own; `lost`: it was started, and nobody knows how far it came; `refused`: Lambda did
not start it; `running` also where its owner was stopped meanwhile."""
REFUSED = ("Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException")
"""As ExecuteBusinessLogic has them: nothing was started, unless the function itself raised an error of this name."""
NOT_LOADED = ("Runtime.ImportModuleError", "Runtime.HandlerNotFound", "Runtime.UserCodeSyntaxError")
"""Of Lambda, but no effect is in question: there was no code to run."""
OF_LAMBDA = ("Runtime.", "Sandbox.", "Extension.")
"""How Lambda's names of errors begin that say only that a process is gone, or that its time is over."""


@dataclass(frozen=True)
class Start:
    end: End
    error: str = ""
    """Its name."""
    at: datetime.datetime | None = None
    until: datetime.datetime | None = None
    """As its state was entered and left: of a call that Lambda's client repeats, there are no times in between."""


def starts_of(run: Run) -> tuple[Start, ...]:
    """In their order; also those that Lambda refused."""
    following = (*run.visits[1:], None)
    return tuple(
        replace(start, at=visit.entered_at, until=visit.exited_at)
        for visit, after in zip(run.visits, following, strict=False)  # a run that has only begun has no visit
        if visit.state == WORK
        for start in _starts(visit, after)
    )


def _starts(visit: Visit, after: Visit | None) -> Iterator[Start]:
    yield from (how_it_failed(each.failure) for each in visit.attempts if each.failure)
    if visit.attempts and visit.attempts[-1].failure:
        return
    if visit.outcome in ("running", "stopped"):
        yield Start("running")
    elif visit.outcome != "succeeded":
        yield Start("lost", str(visit.failures[-1].error) if visit.failures else "")
    else:  # an answer may say that it failed, as for API Gateway
        failure = members_of(((after and after.variables) or {}).get("failure"))
        yield Start("failed", str(failure.get("name"))) if failure else Start("answered")


def how_it_failed(failure: Failure) -> Start:
    name = str(failure.error)
    if not (failure.cause or "").startswith("{"):  # that of an error which a function raised is JSON
        return Start("refused" if name in REFUSED else "lost", name)
    return Start("lost" if name.startswith(OF_LAMBDA) and name not in NOT_LOADED else "failed", name)


def begun(starts: Sequence[Start]) -> int:
    """How many may have had an effect."""
    return sum(each.end != "refused" for each in starts)


def locks_of(run: Run) -> Mapping[int, Mapping[str, Any]]:
    """The lock that the execution held at each visit that started business logic, by the visit's number.

    As its own states assigned it, never as the event says it: that may be a payload alone, which is the application's.
    """
    locks: dict[int, Mapping[str, Any]] = {}
    lock: Mapping[str, Any] = {}
    for visit in run.visits:
        if visit.state == WORK:
            locks[visit.number] = lock
        lock = _assigned(visit) or lock
    return locks


def first_lock(run: Run) -> Mapping[str, Any]:
    """The first that the execution held, not one that it read; empty where its history does not say."""
    return next((lock for lock in map(_assigned, run.visits) if f"{lock.get('owner')}:".startswith(f"{run.arn}:")), {})


def on_crash(run: Run) -> str:
    """What the record says, as the execution knew it last."""
    said = [lock["onCrash"] for lock in map(_assigned, run.visits) if "onCrash" in lock]
    return str(said[-1]) if said else ""


def _assigned(visit: Visit) -> Mapping[str, Any]:
    return members_of((visit.variables or {}).get("lock"))
