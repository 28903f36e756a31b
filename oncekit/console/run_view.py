"""What a page says of a run, ready to be written into it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from oncekit.console.events import iso
from oncekit.console.json_text import set_out
from oncekit.console.machine import Definition
from oncekit.console.picture import SIGNS, WORDS, picture_in_page
from oncekit.console.requests import id_in, parts_of
from oncekit.console.run import RUNNING, Event, Outcome, Run, Visit
from oncekit.console.words import clock, day_and_time, duration
from oncekit.local.lanes import lane_of

LEFT_OUT = Markup('<em class="left-out">left out</em>')
BAR = 1000
"""Units of width that the whole time of a run has."""
LEAST_BAR = 6
STATUS_KINDS = {"SUCCEEDED": "succeeded", "RUNNING": "running", "FAILED": "failed"}
ANSWERED = {"EXECUTED": "executed", "REPLAYED": "replayed", "IN_PROGRESS": "in progress"}


@dataclass(frozen=True)
class Said:
    """A piece of data under its name: as HTML, and as the text that is copied."""

    name: str
    shown: Markup
    text: str | None


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
    calls: Sequence[tuple[str, str, Said | None]]
    """What was called, how that ended, and with what."""


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
    events: Sequence[EventView]
    data: Sequence[Said]
    is_running: bool
    has_payloads: bool
    is_long: bool
    """Whether data and events come only when they are asked for."""


def run_view(
    run: Run,
    definition: Definition | None,
    now: datetime.datetime,
    *,
    payloads: bool = True,
    is_long: bool = False,
) -> RunView:
    """`now` ends the bars of what still runs; without `payloads` nothing that a request, a function or a service said
    is in it but operation, tenant and names of errors.
    """
    end = run.ended_at or max(now, run.started_at)
    whole = max((end - run.started_at).total_seconds(), 0.001)
    kind, outcome = kind_and_outcome(run.status, run.output, run.error)
    return RunView(
        run=run,
        id=_id(run, payloads),
        kind=kind,
        sign=sign_of(kind),
        outcome=outcome,
        facts=_facts(run, end, payloads),
        message=_message(run.cause) if payloads and run.cause else "",
        picture=Markup("") if definition is None else Markup(picture_in_page(definition, run)),  # noqa: S704 escaped there
        visits=[_visit(each, run.started_at, end, whole, payloads, data=not is_long) for each in run.visits],
        events=[] if is_long else events_view(run),
        data=list(_data({"input": run.input, "output": run.output, "cause": run.cause}, payloads)),
        is_running=run.status == RUNNING,
        has_payloads=payloads,
        is_long=is_long,
    )


def visit_view(run: Run, number: int, now: datetime.datetime) -> VisitView | None:
    """One visit with its data; None where there is none of this number."""
    visit = next((each for each in run.visits if each.number == number), None)
    end = run.ended_at or max(now, run.started_at)
    whole = max((end - run.started_at).total_seconds(), 0.001)
    return None if visit is None else _visit(visit, run.started_at, end, whole, payloads=True)


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


def sign_of(kind: str) -> str:
    return "↻" if kind == "replayed" else SIGNS[_OUTCOMES[kind]]


_OUTCOMES: dict[str, Outcome] = {
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "stopped": "stopped",
}


def _disposition(output: str | None) -> str | None:
    try:
        told = json.loads(output or "")
    except (ValueError, RecursionError):
        return None
    found = told.get("disposition") if isinstance(told, dict) else None
    return found if isinstance(found, str) else None


def _id(run: Run, payloads: bool) -> str:
    """A key is of the request, as its payload is."""
    id = id_in(run.input or "") or ""
    return id if payloads or not id else "#".join([*id.split("#", 2)[:2], "…"])


def _facts(run: Run, end: datetime.datetime, payloads: bool) -> dict[str, str]:
    parts = parts_of(run.input or "")
    return {
        **{name: part for name, part in parts.items() if payloads or name != "Key"},
        "Lane": lane_of(run.arn),
        "Execution": run.name,
        "Started": day_and_time(run.started_at),
        "Duration": duration((end - run.started_at).total_seconds()),
        "Transitions": str(run.transitions),
    }


def _message(cause: str) -> str:
    try:
        told = json.loads(cause)
    except (ValueError, RecursionError):
        return cause
    message = told.get("message", told.get("errorMessage")) if isinstance(told, dict) else None
    return message if isinstance(message, str) else cause


def _visit(
    visit: Visit,
    began: datetime.datetime,
    end: datetime.datetime,
    whole: float,
    payloads: bool,
    *,
    data: bool = True,
) -> VisitView:
    exited = visit.exited_at or end
    before, lasted = (visit.entered_at - began).total_seconds(), (exited - visit.entered_at).total_seconds()
    x = min(round(before / whole * BAR), BAR - LEAST_BAR)
    again = f", {visit.retries} {'retry' if visit.retries == 1 else 'retries'}" if visit.retries else ""
    return VisitView(
        visit=visit,
        sign=SIGNS[visit.outcome],
        words=WORDS[visit.outcome] + again,
        at=clock(visit.entered_at),
        lasted=duration(lasted),
        bar_x=x,
        bar_width=min(max(round(lasted / whole * BAR), LEAST_BAR), BAR - x),
        data=list(_data({"input": visit.input, "output": visit.output, **_variables(visit)}, payloads)) if data else [],
        calls=[
            (
                each.resource,
                "called" if each.failure is None else each.failure.error or "failed",
                next(_data({"parameters": each.parameters}, payloads), None),
            )
            for each in visit.attempts
            if data
        ],
    )


def _variables(visit: Visit) -> dict[str, str]:
    return {f"${name}": value for name, value in visit.variables.items()}


def _data(named: Mapping[str, str | None], payloads: bool) -> Any:
    for name, text in named.items():
        if text is not None:
            yield Said(name, set_out(text) if payloads else LEFT_OUT, text if payloads else None)


def _event(event: Event, names: Mapping[int, str]) -> EventView:
    details = event.details
    resource = f"{details['resourceType']}:{details['resource']}" if "resourceType" in details else ""
    detail = str(details.get("error") or resource)
    return EventView(event.id, event.kind, iso(event.at) or "", event.visit, names.get(event.visit or 0, ""), detail)
