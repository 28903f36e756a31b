"""`once doctor`: what is wrong with a stack, as people and as programs read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import typer

from oncekit.cli.deployed.on_stack import answered, on_stack
from oncekit.cli.deployed.place import Place
from oncekit.cli.deployed.stack import Stack
from oncekit.cli.doctor.verdict import Finding, Outcome
from oncekit.cli.options import Json, Profile, Region, StackName
from oncekit.cli.problem import Problem
from oncekit.cli.terminal import Entry

MARKS: dict[Outcome, str] = {"ok": "✓", "wrong": "✗", "warning": "!", "skipped": "-"}
GRAVITY: tuple[Outcome, ...] = ("wrong", "warning", "ok", "skipped")
TOLD = ("lanes",)
"""Groups of which people read also what is fine."""
WIDTH = 12
"""Of a group's name."""


def doctor(as_json: Json = False, stack: StackName = "once", profile: Profile = None, region: Region = None) -> None:
    """Say what is wrong with a stack, and what to do. Changes nothing.

    Looks at the stack, its table, bucket, state machines, functions, triggers, queues, alarms and open operations.
    The exit code is 1 if something is wrong; a warning, or a check that cannot be made, does not count as wrong.

    JSON: {stack, checks: [{name, outcome, resource, message, advice}], wrong, warnings};
    outcome is ok, wrong, warning or skipped.
    """
    raise typer.Exit(_doctor(Place(stack, profile, region), as_json))


def _doctor(place: Place, as_json: bool) -> int:
    def work(stack: Stack) -> int:
        found = findings(stack)
        answered(answer(place.stack, found), as_json, *lines(found))
        return exit_code(found)

    return on_stack(place, "", work, needed=())  # a stack whose first deployment failed has no outputs


def findings(stack: Stack) -> list[Finding]:
    """The result of every check. Raises Problem for a stack that is none of Once."""
    from oncekit.cli.doctor.deployment import deployment_of
    from oncekit.cli.doctor.examination import examine
    from oncekit.cli.doctor.machines import OPERATION

    deployment = deployment_of(stack)
    if OPERATION not in deployment.resources and not stack.status.endswith(("_FAILED", "ROLLBACK_COMPLETE")):
        raise Problem(f"the stack {stack.name} is not a stack of Once: it has no {OPERATION}; give --stack")
    return list(examine(deployment))


def answer(stack: str, found: Sequence[Finding]) -> dict[str, Any]:
    """{stack, checks, wrong, warnings}: the findings, and how many are wrong or warnings."""
    counts = Counter(each.outcome for each in found)
    return {
        "stack": stack,
        "checks": [vars(each) for each in found],
        "wrong": counts["wrong"],
        "warnings": counts["warning"],
    }


def exit_code(found: Sequence[Finding]) -> int:
    return 1 if any(each.outcome == "wrong" for each in found) else 0


def lines(found: Sequence[Finding]) -> Iterator[str | Entry]:
    """A line for each group of checks with what is fine in it; below it, in full, what is not."""
    for group, members in groupby(found, lambda each: each.name.partition(".")[0]):
        yield from _group(group, list(members))
    yield ""
    yield _sum(found)


def _group(group: str, found: Sequence[Finding]) -> Iterator[str | Entry]:
    gravest = min((each.outcome for each in found), key=GRAVITY.index)
    told = group in TOLD
    fine = Counter(_subject(each) + (f": {each.message}" if told else "") for each in found if each.outcome == "ok")
    shown = ("; " if told else ", ").join(
        subject if times == 1 else f"{subject} ×{times}" for subject, times in fine.items()
    )
    name = f"{MARKS[gravest]} {group:<{WIDTH}}"
    yield Entry(name, shown) if shown else name.rstrip()
    for each in found:
        if each.outcome in ("wrong", "warning"):
            yield Entry(f"  {MARKS[each.outcome]} ", f"{_subject(each)}  {each.resource}: {each.message}")
            yield Entry(" " * 6, each.advice)
    skipped = [each for each in found if each.outcome == "skipped"]
    for message in dict.fromkeys(each.message for each in skipped):
        alike = Counter(_subject(each) for each in skipped if each.message == message)
        subjects = ", ".join(subject if times == 1 else f"{subject} ×{times}" for subject, times in alike.items())
        yield Entry(f"  {MARKS['skipped']} ", f"{subjects}: {message}")


def _subject(finding: Finding) -> str:
    return finding.name.partition(".")[2]


def _sum(found: Sequence[Finding]) -> str:
    counts = Counter(each.outcome for each in found)
    warnings = f"{counts['warning']} warning{'' if counts['warning'] == 1 else 's'}"
    left = f", {counts['skipped']} not checked" if counts["skipped"] else ""
    return f"{counts['wrong'] or 'Nothing'} wrong, {warnings}, {counts['ok']} fine{left}."
