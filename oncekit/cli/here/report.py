"""How executions are shown: as a table for people, as JSON for programs."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oncekit.cli import outcomes
from oncekit.cli.outcomes import AT_WORK, COLOURS, HANDED_OVER, IN_PROGRESS, PENDING, mark_of, message_in
from oncekit.cli.paper import Paper
from oncekit.cli.terminal import say_json
from oncekit.console.here import run_here
from oncekit.console.parts import Part, last_read, part_of
from oncekit.console.story import story
from oncekit.contract.lanes import lane_of
from oncekit.contract.requests import id_of
from oncekit.local import Execution

if TYPE_CHECKING:
    from oncekit.local.permissions import Denial


SHOWN = 8
"""Characters of a hash, or of a name that was made at random."""
STARTERS = ("first", "recover", "replay")
"""How names begin that say who started the execution: the fast lane, recovery, or an operator's command."""


def shown_name(arn: str) -> str:
    """The beginning of a name; of one that says who started the execution, that, and the beginning of its hash."""
    name = arn.split(":")[7]  # what follows in the ARN of an Express execution is the run
    starter, _, rest = name.partition("-")
    return f"{starter}-{rest[:SHOWN]}" if starter in STARTERS else name[:SHOWN]


def mark(execution: Execution) -> str:
    return mark_of(outcome(execution))


def outcome(execution: Execution) -> str:
    """The disposition, or the error, or the status where neither is known."""
    disposition = (execution.output or {}).get("disposition")
    return str(disposition or execution.error or execution.status)


def why_in_progress(execution: Execution) -> str:
    """In a few words why it ended so; empty for any other end."""
    if outcome(execution) != IN_PROGRESS:
        return ""
    if "pendingSince" in last_read(run_here(execution)):
        return PENDING
    return HANDED_OVER if "HandOver" in execution.states else AT_WORK


def as_json(execution: Execution) -> dict[str, Any]:
    output = execution.output or {}
    return {
        "name": execution.name,
        "lane": lane_of(execution.arn),
        "status": execution.status,
        "disposition": output.get("disposition"),
        "error": execution.error,
        "cause": execution.cause,
        "attempt": output.get("attempt"),
        "result": json.loads(output["result"]) if "result" in output else None,
        "resultRef": output.get("resultRef"),
        "states": list(execution.states),
        "transitions": execution.transitions,
    }


def exit_code(executions: Sequence[Execution]) -> int:
    """As `outcomes.exit_code` says."""
    return outcomes.exit_code(((each.output or {}).get("id", ""), outcome(each)) for each in executions)


def print_json(executions: Sequence[Execution], effects: Mapping[str, Any]) -> None:
    told = {"executions": [as_json(e) for e in executions], "summaries": summaries(executions)}
    say_json({**told, "sideEffects": effects})


def summaries(executions: Sequence[Execution]) -> dict[str, str]:
    """What happened to each id, in plain words."""
    parts: dict[str, list[Part]] = {}
    for each in executions:
        if id := id_of(each.input):
            parts.setdefault(id, []).append(part_of(run_here(each)))
    now = datetime.datetime.now(datetime.UTC)
    return {id: story(of_id, None, now).told for id, of_id in parts.items()}


def print_table(executions: Sequence[Execution], effects: Mapping[str, Any]) -> None:
    head = ("", "execution", "lane", "outcome", "attempt", "result")
    rows = [
        (
            mark(each),
            shown_name(each.arn),
            lane_of(each.arn),
            outcome(each),
            str((each.output or {}).get("attempt", "")),
            _result(each),
        )
        for each in executions
    ]
    below = [why_in_progress(each) if each.status == "SUCCEEDED" else message_of(each) for each in executions]
    paper = Paper(error=False)
    paper.table(head, rows, [COLOURS[mark(each)] for each in executions], below)
    paper.line()
    for id, text in summaries(executions).items():
        paper.paragraph(f"{id}: {text}")
    paper.paragraph(_told(effects))


def tell_denials(denials: Iterable[Denial]) -> None:
    """Calls that a role did not allow: who, what, and what to do. On standard error, beside what goes out as JSON."""
    for denial in denials:
        Paper(error=True).paragraph(str(denial), 2, COLOURS["✗"], head="✗ ")


def _told(effects: Mapping[str, Any]) -> str:
    starts = [f"business logic of {name} started {_times(n)}" for name, n in effects["businessLogicStarts"].items()]
    items = [f"{n} new in {table}" for table, n in effects["tables"].items() if n]
    return "; ".join([*(starts or ["no business logic started"]), *items])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _result(execution: Execution) -> str:
    output = execution.output or {}
    if "resultRef" in output:
        ref = output["resultRef"]
        return f"{ref['bytes']:,} bytes in S3, sha256 {ref['sha256'][:12]}…"
    return str(output.get("result", ""))


def message_of(execution: Execution) -> str:
    """Error and message in the cause of a failure."""
    return " ".join((message_in(execution.cause) or execution.status).split("\n"))
