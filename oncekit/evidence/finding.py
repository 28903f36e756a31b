"""One question to AWS, what it answered, and how that is kept: without the number of the account."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oncekit.evidence.rows import Row
from oncekit.stack.aws_errors import BAD_CREDENTIALS

GREEN, RED, NOBODY, NOT_HERE = "green", "red", "nobody has looked", "not run here"
SIGNS: Mapping[str, str] = {GREEN: "✓", RED: "✗", NOBODY: "?", NOT_HERE: "-"}
SECRET = re.compile(r"(?<!\d)\d{12}(?!\d)|(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])")
"""The number of an account, in an ARN or in a name, and the id of an access key."""
LOCAL = "once up"
"""In the place of a Region."""
MOST = 600
"""Characters of an answer that are kept."""


@dataclass(frozen=True)
class Seen:
    text: str
    holds: bool
    """Whether it is what was expected."""


class NotLooked(Exception):
    """What is asked about is not there, or nobody may ask: no answer, which is neither green nor red."""


@dataclass(frozen=True)
class Finding:
    row: str
    """A row's number, or a name of what no row is about."""
    expected: str
    seen: str
    verdict: str
    region: str = ""
    date: str = ""
    commit: str = ""

    def __post_init__(self) -> None:
        """Whoever makes one, what is printed and kept of an answer has no number of an account."""
        object.__setattr__(self, "seen", scrubbed(self.seen))


@dataclass(frozen=True)
class Question:
    """`look` asks. May raise NotLooked, and what boto3 raises."""

    row: str
    look: Callable[[], Seen]
    expected: str = ""
    """Of what no row is about; else the row says it."""
    is_answered_here: bool = False
    """Whether `once up` has the API for it."""


def answer(question: Question, is_local: bool) -> Finding:
    """What nobody could ask is never green. Bad credentials stop everything."""
    from botocore.exceptions import BotoCoreError, ClientError

    if is_local and not question.is_answered_here:
        return Finding(question.row, question.expected, "`once up` has no API for it", NOT_HERE)
    try:
        seen = question.look()
    except (ClientError, BotoCoreError, NotLooked) as error:
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in BAD_CREDENTIALS:
            raise
        return Finding(question.row, question.expected, str(error), NOBODY)
    return Finding(question.row, question.expected, seen.text, GREEN if seen.holds else RED)


def scrubbed(text: str) -> str:
    plain = SECRET.sub("ACCOUNT", " ".join(text.split()))
    return plain if len(plain) <= MOST else f"{plain[:MOST]}..."


@dataclass(frozen=True)
class Kept:
    """The file of one stack in one Region. A new look at a row replaces the last one; one without an answer does not
    replace one that had an answer."""

    path: Path

    def add(self, found: Iterable[Finding], latency: Sequence[Mapping[str, Any]], **about: str) -> None:
        """With Region, date and commit of these looks."""
        before = self.read()
        findings = {each["row"]: each for each in before["findings"]}
        for each in found:
            if each.row not in findings or each.verdict in (GREEN, RED):
                findings[each.row] = asdict(replace(each, **about))
        lanes = {(each["lane"], each["start"]): each for each in [*before["latency"], *latency]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        told = {"findings": list(findings.values()), "latency": list(lanes.values())}
        self.path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {"findings": [], "latency": []}
        told: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return told


def page(kept: Mapping[str, Any], rows: Mapping[str, Row]) -> str:
    """A page in Markdown: every row of the list in its order, and after them what no row is about."""
    found = {each["row"]: each for each in kept["findings"]}
    lines = [_line(number, row.fact, row.expected, found.get(number)) for number, row in rows.items()]
    lines += [_line(row, row, each["expected"], each) for row, each in found.items() if row not in rows]
    latency = [
        f"| {each['lane']} | {each['start']} | {each['count']} | {each['p50']} | {each['p99']} | {each['measured']} "
        f"| {each['region']} | {each['date']} |"
        for each in kept["latency"]
    ]
    is_local = any(each["region"] == LOCAL for each in [*found.values(), *kept["latency"]])
    title = f"# What `{LOCAL}` answered, which is not AWS" if is_local else "# What AWS answered"
    counts = ", ".join(f"{sum(line.startswith(f'| {SIGNS[each]} ') for line in lines)} {each}" for each in SIGNS)
    return "\n".join(
        [
            *(title, "", f"{counts}.", ""),
            *("| | row | fact | expected | seen | where and when |", "|---|---|---|---|---|---|", *lines, ""),
            *("## How long a request takes, in ms", ""),
            *(
                "| lane | start | requests | p50 | p99 | what was measured | Region | date |",
                "|---|---|--:|--:|--:|---|---|---|",
            ),
            *(latency or ["| | | | | | nobody has looked | | |"]),
            "",
        ]
    )


def _line(row: str, fact: str, expected: str, found: Mapping[str, str] | None) -> str:
    if found is None:
        return f"| {SIGNS[NOBODY]} | {row} | {fact} | {expected} | {NOBODY} | |"
    seen = found["seen"].replace("|", r"\|")
    told = seen if found["verdict"] in (GREEN, RED) else f"{found['verdict']}: {seen}"
    where = f"{found['region']}, {found['date']}, {found['commit']}"
    return f"| {SIGNS[found['verdict']]} | {row} | {fact} | {expected} | {told} | {where} |"
