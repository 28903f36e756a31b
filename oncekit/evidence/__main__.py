"""Asks AWS, and keeps what it answered: `make before-deploy` and `make evidence`.

python -m oncekit.evidence before [--stack NAME] [--packaged FILE] [--parameter NAME=VALUE]
python -m oncekit.evidence after --stack NAME [--only scenarios|states|questions|latency]

Writes build/evidence/STACK-REGION.json, and a page of it beside that. Exit code 1 if an answer is another one.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oncekit.contract.operation_functions import parsed
from oncekit.evidence.after import After
from oncekit.evidence.before import Before
from oncekit.evidence.finding import (
    LOCAL,
    NOBODY,
    NOT_HERE,
    RED,
    SIGNS,
    Finding,
    Kept,
    NotLooked,
    Question,
    answer,
    page,
)
from oncekit.evidence.latency import Function, latency_of
from oncekit.evidence.rows import rows_of
from oncekit.evidence.tests_on_aws import PASSED, ROOT, run_tests
from oncekit.problem import Problem
from oncekit.stack.aws_errors import clear_aws_errors
from oncekit.stack.session import Place, local_endpoint, session_at
from oncekit.stack.stack import connect

PAGE = ROOT / "docs" / "verify-on-aws.md"
PARTS = ("scenarios", "states", "questions", "latency")
NOT_ON_AWS = [f"--ignore=tests/states/test_{each}.py" for each in ("writes", "recorded_states")]
"""They ask moto and recordings: skipped, they would leave the others half done."""
EXAMPLES = {"charge-payment", "place-order"}
"""Operations that get hundreds of requests."""
NO_EXAMPLES = "their requests are for the examples' functions, and a function of yours would run: Examples=yes"


def main(arguments: Sequence[str] | None = None) -> int:
    given = _options().parse_args(arguments)
    place = Place(given.stack, given.profile, given.region)
    try:
        with clear_aws_errors():
            session = session_at(place)
            region = LOCAL if local_endpoint() else session.client("stepfunctions").meta.region_name
            kept = Kept(given.to / f"{place.stack}-{region.replace(' ', '-')}.json")
            parts = _before(given, session) if given.when == "before" else _after(given, place)
            return _write(kept, parts, region)
    except Problem as problem:
        print(f"evidence: {problem}", file=sys.stderr)
        return 2


Part = Finding | dict[str, Any]
"""A finding, or a line about how long requests take."""


def _write(kept: Kept, parts: Iterable[Part], region: str) -> int:
    """Each as soon as it is known: whoever stops it keeps what was answered."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    about = {
        "region": region,
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "commit": commit.stdout.strip(),
    }
    is_red, rows = False, rows_of(PAGE)
    for part in parts:
        if isinstance(part, Finding):
            part = replace(part, expected=rows[part.row].expected) if part.row in rows else part
            kept.add([part], [], **about)
            print(f"{SIGNS[part.verdict]} {part.row}  {part.seen}", flush=True)
            is_red = is_red or part.verdict == RED
        else:
            kept.add([], [{**part, **about}], **about)
            print(f"  {part['lane']}, {part['start']}: p50 {part['p50']} ms, p99 {part['p99']} ms", flush=True)
    beside = kept.path.with_suffix(".md")
    beside.write_text(page(kept.read(), rows), encoding="utf-8")
    print(f"{kept.path} {beside}")
    return 1 if is_red else 0


def _before(given: argparse.Namespace, session: Any) -> Iterator[Part]:
    parameters = dict(each.split("=", 1) for each in given.parameter)
    before = Before(session, ROOT / "template.yaml", parameters, given.stack, given.packaged)
    yield from _answers(before.questions())
    yield from _states(given)


def _answers(questions: Iterable[Question]) -> Iterator[Finding]:
    return (answer(each, local_endpoint() is not None) for each in questions)


def _states(given: argparse.Namespace) -> Iterator[Finding]:
    if local_endpoint():
        yield Finding("states", "PASSED", "`once up` has no TestState", NOT_HERE)
    else:
        yield from run_tests(["-q", "tests/states", *NOT_ON_AWS, *_where(given)], "states")


def _after(given: argparse.Namespace, place: Place) -> Iterator[Part]:
    stack = connect(place)
    if stack.parameters.get("Stage") == "prod" and not given.allow_prod:
        raise Problem(f"the stack {place.stack} is in prod: requests would be quarantined there; PROD=yes allows it")
    parts = given.only or PARTS
    named = ["--stack", given.stack, *_where(given)]
    are_examples = stack.parameters.get("Examples") == "yes" and not EXAMPLES & set(
        parsed(stack.parameters.get("Operations", ""))
    )
    if not are_examples:
        yield from (Finding(each, PASSED, NO_EXAMPLES, NOBODY) for each in ("scenarios", "latency") if each in parts)
        parts = [each for each in parts if each not in ("scenarios", "latency")]
    if "scenarios" in parts:
        more = [*(["--quick"] if given.quick else []), *(["--allow-prod"] if given.allow_prod else [])]
        yield from run_tests(["-q", "tests/scenarios", *named, *more], "scenarios")
    if "states" in parts:
        yield from _states(given)
    if "questions" in parts:
        yield from _answers(After(stack, tuple(named)).questions())
    if "latency" in parts:
        direct = Function(given.direct, given.event.read_text(encoding="utf-8")) if given.direct else None
        try:
            yield from latency_of(stack, given.cold, given.warm, direct)
        except NotLooked as problem:
            yield Finding("latency", "an answer", str(problem), NOBODY)


def _where(given: argparse.Namespace) -> list[str]:
    return [
        *(["--profile", given.profile] if given.profile else []),
        *(["--region", given.region] if given.region else []),
    ]


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m oncekit.evidence", description=__doc__)
    parser.add_argument("when", choices=["before", "after"])
    parser.add_argument("--stack", default="once")
    parser.add_argument("--profile")
    parser.add_argument("--region")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "evidence")
    parser.add_argument("--packaged", type=Path, help="before: what `sam package` has made")
    parser.add_argument("--parameter", action="append", default=[], help="before: NAME=VALUE of the template")
    parser.add_argument("--only", action="append", choices=PARTS, help="after: this part alone")
    parser.add_argument("--quick", action="store_true", help="after: without scenarios that take minutes")
    parser.add_argument("--allow-prod", action="store_true", help="after: also a stack whose Stage is prod")
    parser.add_argument("--cold", type=int, default=20, help="after: requests that come at once")
    parser.add_argument("--warm", type=int, default=100, help="after: requests one after the other")
    parser.add_argument("--direct", help="after: a function of the direct lane, to measure it, too")
    parser.add_argument("--event", type=Path, help="after: its event; KEY in it is replaced by a new key")
    return parser


if __name__ == "__main__":
    sys.exit(main())
