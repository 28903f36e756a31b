"""What a page says of a run, ready to be written into it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oncekit.console.events import iso
from oncekit.console.json_text import as_it_is, members_of, set_out
from oncekit.console.machine import Definition
from oncekit.console.picture import SIGNS, WORDS, picture_in_page
from oncekit.console.requests import id_in, parts_of
from oncekit.console.rows import Log
from oncekit.console.run import RUNNING, Event, Outcome, Run, Visit
from oncekit.console.words import clock, day_and_time, duration
from oncekit.local.lanes import lane_of

BAR = 1000
"""Units of width that the whole time of a run has."""
LEAST_BAR = 6


NOTHING_PRINTED: Log = {}


@dataclass(frozen=True)
class Said:
    """A piece of data under its name: as HTML, and as the text that is copied."""

    name: str
    shown: Markup
    text: str | None


@dataclass(frozen=True)
class Span:
    """The time of a run, and what part of it something took."""

    began: datetime.datetime
    end: datetime.datetime

    def bar(self, entered: datetime.datetime, exited: datetime.datetime | None) -> tuple[int, int]:
        """Where a bar begins, and how wide it is; what still goes on lasts to the end."""
        whole = max((self.end - self.began).total_seconds(), 0.001)
        before, lasted = ((entered - self.began).total_seconds(), ((exited or self.end) - entered).total_seconds())
        x = min(round(before / whole * BAR), BAR - LEAST_BAR)
        return x, min(max(round(lasted / whole * BAR), LEAST_BAR), BAR - x)


@dataclass(frozen=True)
class CallView:
    """What was called, how that ended, with what, and what the function printed."""

    resource: str
    ended: str
    parameters: Said | None
    printed: Said | None


@dataclass(frozen=True)
class VisitView:
    visit: Visit
    sign: str
    words: str
    at: str
    lasted: str
    bar_x: int
    bar_width: int
    data: Sequence[Said]
    calls: Sequence[CallView]
    parts: Sequence[tuple[int, int, str]]
    """Of each call where its bar begins, how wide it is, and the class of how it ended."""
    depth: int
    """How many Maps and Parallels it is within."""


@dataclass(frozen=True)
class EventView:
    id: int
    kind: str
    at: str
    visit: int | None
    state: str
    detail: str


@dataclass(frozen=True)
class RunView:
    run: Run
    id: str
    kind: str
    sign: str
    outcome: str
    """EXECUTED, REPLAYED..., or the error."""
    facts: Mapping[str, str]
    message: str
    picture: Markup
    visits: Sequence[VisitView]
    further: int
    """How many visits come after these."""
    scale: Sequence[str]
    """The times of the beginning, the middle and the end; none where all happened at once."""
    events: Sequence[EventView]
    data: Sequence[Said]
    is_running: bool
    is_long: bool
    """Whether data and events come only when they are asked for."""


def run_view(
    run: Run,
    definition: Definition | None,
    now: datetime.datetime,
    *,
    is_long: bool = False,
    first: int = 0,
    last: int | None = None,
    log: Log = NOTHING_PRINTED,
) -> RunView:
    """`now` ends the bars of what still runs. Of the visits it has those from `first` to before `last`."""
    end = run.ended_at or max(now, run.started_at)
    whole = (end - run.started_at).total_seconds()
    kind, outcome = kind_and_outcome(run.status, run.output, run.error)
    return RunView(
        run=run,
        id=id_in(run.input or "") or "",
        kind=kind,
        sign=sign_of(kind),
        outcome=outcome,
        facts=_facts(run, end),
        message=_message(run.cause) if run.cause else "",
        picture=Markup("") if definition is None else Markup(picture_in_page(definition, run)),  # noqa: S704 escaped there
        visits=_visits(run, slice(first, last), end, {} if is_long else log, data=not is_long),
        further=max(0, len(run.visits) - last) if last else 0,
        scale=[duration(whole * part) for part in (0, 0.5, 1)] if whole else [],
        events=[] if is_long else events_view(run),
        data=list(data_of({"input": run.input, "output": run.output, "cause": run.cause})),
        is_running=run.status == RUNNING,
        is_long=is_long,
    )


def visit_view(run: Run, number: int, now: datetime.datetime, log: Log = NOTHING_PRINTED) -> VisitView | None:
    """One visit with its data; None where there is none of this number."""
    visit = next((each for each in run.visits if each.number == number), None)
    end = run.ended_at or max(now, run.started_at)
    return None if visit is None else _visit(visit, Span(run.started_at, end), 0, log)


def events_view(run: Run) -> list[EventView]:
    names = {visit.number: visit.state for visit in run.visits}
    return [_event(each, names) for each in run.events]


def kind_and_outcome(status: str, output: str | None, error: str | None) -> tuple[str, str]:
    """The class of an execution's colour and sign, and its end in a word."""
    if status == RUNNING:
        return "running", "RUNNING"
    if status != "SUCCEEDED":
        return ("failed" if status == "FAILED" else "stopped"), error or status
    disposition = _disposition(output)
    return ("replayed" if disposition in ("REPLAYED", "IN_PROGRESS") else "succeeded"), disposition or status


def attempt_in(output: str | None) -> int | None:
    """Which attempt of business logic an answer says that it is of."""
    found = members_of(output).get("attempt")
    return found if isinstance(found, int) else None


def sign_of(kind: str) -> str:
    return "↻" if kind == "replayed" else SIGNS[_OUTCOMES[kind]]


_OUTCOMES: dict[str, Outcome] = {
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "stopped": "stopped",
}


def _disposition(output: str | None) -> str | None:
    found = members_of(output).get("disposition")
    return found if isinstance(found, str) else None


def _facts(run: Run, end: datetime.datetime) -> dict[str, str]:
    return {
        **parts_of(run.input or ""),
        "Lane": lane_of(run.arn),
        "Execution": run.name,
        "Started": day_and_time(run.started_at),
        "Duration": duration((end - run.started_at).total_seconds()),
        "Transitions": str(run.transitions),
    }


def _message(cause: str) -> str:
    told = members_of(cause)
    message = told.get("message", told.get("errorMessage"))
    return message if isinstance(message, str) else cause


def _visits(run: Run, part: slice, end: datetime.datetime, log: Log, *, data: bool) -> list[VisitView]:
    span = Span(run.started_at, end)
    depths: dict[int | None, int] = {None: -1}
    for each in run.visits:
        depths[each.number] = depths[each.parent] + 1
    return [_visit(each, span, depths[each.number], log, data=data) for each in run.visits[part]]


def _visit(visit: Visit, span: Span, depth: int, log: Log, *, data: bool = True) -> VisitView:
    again = f", {visit.retries} {'retry' if visit.retries == 1 else 'retries'}" if visit.retries else ""
    x, width = span.bar(visit.entered_at, visit.exited_at)
    calls = [
        CallView(
            each.resource,
            "called" if each.failure is None else each.failure.error or "failed",
            next(data_of({"parameters": each.parameters}), None),
            log_of(log.get((visit.number, number), ())),
        )
        for number, each in enumerate(visit.attempts)
        if data
    ]
    said = {"input": visit.input, "output": visit.output, **_variables(visit)} if data else {}
    return VisitView(
        visit=visit,
        sign=SIGNS[visit.outcome],
        words=WORDS[visit.outcome] + again,
        at=clock(visit.entered_at),
        lasted=duration(((visit.exited_at or span.end) - visit.entered_at).total_seconds()),
        bar_x=x,
        bar_width=width,
        data=list(data_of(said)),
        calls=calls,
        parts=[(*span.bar(each.began_at, each.ended_at), "failed" if each.failure else "") for each in visit.attempts],
        depth=depth,
    )


def _variables(visit: Visit) -> dict[str, str]:
    return {f"${name}": value for name, value in visit.variables.items()}


def data_of(named: Mapping[str, str | None]) -> Iterator[Said]:
    """Those that are there."""
    for name, text in named.items():
        if text is not None:
            yield Said(name, set_out(text), text)


def log_of(lines: Sequence[str]) -> Said | None:
    """Lines that were printed, each as it is: they are told apart by it."""
    text = "\n".join(lines)
    return Said("log", as_it_is(text), text) if text else None


def _event(event: Event, names: Mapping[int, str]) -> EventView:
    details = event.details
    resource = f"{details['resourceType']}:{details['resource']}" if "resourceType" in details else ""
    detail = str(details.get("error") or resource)
    return EventView(event.id, event.kind, iso(event.at) or "", event.visit, names.get(event.visit or 0, ""), detail)
