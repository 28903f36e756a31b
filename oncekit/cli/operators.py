"""What the operator commands print, and the codes they end with."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from oncekit.cli.deployed import inspection, interventions, listing, records, redriving, rejected, sending
from oncekit.cli.deployed.reading import read_event, read_result, where
from oncekit.cli.deployed.stack import Stack, clear_aws_errors, connect
from oncekit.cli.doctor import command as examination
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import ask, say, say_json, short, tell, visible

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
"""Of a tenant or an operation."""
LONGEST_ID = 400
"""Characters that are printed: no id of a request has more."""
Place = tuple[str, str | None, str | None]
"""Stack, profile and region."""

MEANS_RETRY = "Its request starts again, unchanged, under a higher fence; finished steps are kept."
REQUEST_LEFT = (
    "its kept request could not be deleted: allow s3:DeleteObject on requests/* of the response bucket, and delete it"
)
RISK = (
    "Releasing forgets that business logic was started: the next request with this id runs it again, "
    "and an effect that has happened happens twice. If you know how it ended, use `once resolve`."
)


def _on_stack(place: Place, about: str, work: Callable[[Stack], int]) -> int:
    with clear_aws_errors(about):
        try:
            return work(connect(*place))
        except records.Changed as changed:
            tell(f"once: {changed}")
            return 3


def _print(answer: Any, as_json: bool, *lines: str) -> int:
    if as_json:
        say_json(answer, indent=2)
    else:
        say(*lines)
    return 0


def _did(done: dict[str, Any], as_json: bool, *lines: str) -> int:
    if not done["requestDeleted"]:
        tell(f"once: {done['id']}: {REQUEST_LEFT}")
    return _done(done, as_json, *lines)


def _done(done: dict[str, Any], as_json: bool, *lines: str) -> int:
    if left := done.get("requestLeft"):
        tell(f"once: {done['id']}: {left}")
    return _print(done, as_json, *lines)


def ls(
    place: Place, statuses: list[str], overdue: bool, only: tuple[str | None, str | None], limit: int, as_json: bool
) -> int:
    if unknown := [each for each in statuses if each not in records.STATUSES]:
        raise Problem(f"--status {unknown[0]}: there are {' and '.join(records.STATUSES)}")
    tenant, operation = only
    chosen = ["IN_PROGRESS"] if overdue else statuses or list(records.STATUSES)
    if overdue and "QUARANTINED" in statuses:
        raise Problem("--overdue: only what is IN_PROGRESS has a lease; leave out --status QUARANTINED")

    for option, name in (("--tenant", tenant), ("--operation", operation)):
        if name is not None and not NAME.fullmatch(name):
            raise Problem(f"{option} {name}: there can be none: a name matches {NAME.pattern}")
    asked = " ".join(
        [*(f"--status {each}" for each in statuses), *(["--overdue"] if overdue else [])]
        + [f"{option} {name}" for option, name in (("--tenant", tenant), ("--operation", operation)) if name]
    )

    def wanted(id: str) -> bool:
        # Whoever writes the table may have given a record any id: one without these parts is nobody's.
        parts = id.split("#", 2)
        if len(parts) < 3:
            return tenant is None and operation is None
        return tenant in (None, parts[0]) and operation in (None, parts[1])

    def work(stack: Stack) -> int:
        found = listing.open_operations(stack, chosen, overdue, wanted, limit)
        return _print(found, as_json, *_table(found, stack.now(), asked))

    return _on_stack(place, "", work)


def _table(found: dict[str, Any], now: float, asked: str) -> list[str]:
    head = ("id", "status", "attempts", "recoveries", "since", "lease over since", "error")
    rows = [head] + [
        (
            short(visible(each["id"]), LONGEST_ID),
            each["status"],
            str(each["attempts"]),
            str(each["recoveries"]),
            short(visible(each["acquiredAt"])),
            inspection.since(now, each["leaseExpiresAt"]) if each["overdue"] else "-",
            short(visible(each["error"]["name"])) if each["error"] else "-",
        )
        for each in found["operations"]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if not found["operations"]:
        lines = [f"Nothing is open that matches {asked}." if asked else "Nothing is open."]
    return lines if found["isComplete"] else [*lines, "There are more: raise --limit, or choose with --tenant."]


def show(place: Place, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        shown = inspection.inspect(stack, id)
        return _print(shown, as_json, *inspection.lines(shown, stack.now()))

    return _on_stack(place, id, work)


def retry(place: Place, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        done = interventions.retry(stack, id)
        return _did(done, as_json, f"✓ {id}: started again. {MEANS_RETRY}", done["executionArn"])

    return _on_stack(place, id, work)


def resolve(place: Place, id: str, result: str | None, failed: str | None, as_json: bool) -> int:
    if failed is not None and not failed.strip():
        raise Problem(f"{id}: --failed: every duplicate gets this message; say what happened")
    if (result is None) == (failed is None):
        raise Problem(f"{id}: give one of --result FILE and --failed MESSAGE")
    text = None if result is None else read_result(result)

    def work(stack: Stack) -> int:
        done = interventions.resolve(stack, id, text, failed)
        return _did(done, as_json, f"✓ {id}: {done['status']}; every duplicate gets this answer from now on.")

    return _on_stack(place, id, work)


def release(place: Place, id: str, yes: bool, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        shown, status = interventions.may_be_released(stack, id)
        if not yes:
            tell(f"{id}: {shown['status']}, fence {shown['fence']}, its owner is {status}.", RISK)
            if not sys.stdin.isatty():
                raise Problem(f"{id}: not released: nobody is there to be asked; a script says --yes")
            if not ask("Release it?"):
                tell(f"{id}: not released")
                return 1
        done = interventions.release(stack, shown)
        return _did(done, as_json, f"✓ {id}: released; the next request with this id runs business logic.")

    return _on_stack(place, id, work)


def redrive(place: Place, id: str, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        done = redriving.redrive(stack, id)
        return _done(done, as_json, f"✓ {id}: its owner goes on from {done['from']}; business logic is not started.")

    return _on_stack(place, id, work)


def replay_rejected(place: Place, error: str | None, dry_run: bool, limit: int, discard: bool, as_json: bool) -> int:
    if discard and error is None:
        raise Problem("--discard: say which requests are lost on purpose, with --error NAME")

    def work(stack: Stack) -> int:
        done = rejected.replay(stack, error, dry_run, limit, discard)
        lines = [
            f"{each['outcome']:<14}{short(each['error'] or '-')}  {short(each['id'] or each['messageId'], LONGEST_ID)}"
            + "".join(f"  {short(each[key], 1000)}" for key in ("message", "reason", "executionArn") if each[key])
            for each in done
        ]
        _print({"messages": done}, as_json, *(lines or ["No such message is in the queue."]))
        return 1 if any(each["outcome"] in rejected.LEFT for each in done) else 0

    return _on_stack(place, "", work)


def doctor(place: Place, as_json: bool) -> int:
    with clear_aws_errors():
        # Without its outputs, too: a stack whose first deployment failed has none.
        findings = examination.findings(connect(*place, needed=()))
        _print(examination.answer(place[0], findings), as_json, *examination.lines(findings))
        return examination.exit_code(findings)


def send(place: Place, event: str, via: str, duplicates: int, as_json: bool) -> int:
    if via not in sending.WAYS:
        raise Problem(f"--via {via}: there are {', '.join(sending.WAYS)}")
    request = read_event(event)

    def work(stack: Stack) -> int:
        done = sending.send(stack, request, via, 1 + duplicates)
        return _print(done, as_json, *done["sent"])

    return _on_stack(place, where(event), work)
