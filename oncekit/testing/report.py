"""What a matrix found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ADVICE = {
    "twice": "make it part of a request.step, or use request.put_once, request.apply_once or request.provider_key",
    "lost": "do it in every attempt, whatever exists already: each attempt starts from the beginning",
    "differs": "read what decides inside the `write` of a step: before the step, a read sees what an attempt wrote",
    "stuck": "see the error of the last attempt: it must succeed, or fail in a way that another attempt can fix",
    "broken": "a promise of Once itself does not hold: please report it",
}


@dataclass(frozen=True)
class Finding:
    """An effect that is not what it is without the fault."""

    kind: str
    """`twice`, `lost`, `differs` (it ends or answers in another way), `stuck`, or `broken`."""
    place: str
    """Where: a table, a bucket, `sqs.send_message`, `POST https://...`, `the answer`, `the end`."""
    what: str
    lines: tuple[str, ...]
    """The lines of code that did it, or that should have."""
    strikes: tuple[str, ...]
    """What was struck, in all runs that found it."""

    def __str__(self) -> str:
        more = f" (and in {len(self.strikes) - 1} other runs)" if len(self.strikes) > 1 else ""
        lines = [f"✗ {self.kind}: {self.place}: {self.what}", *(f"    {line}" for line in self.lines)]
        return "\n".join([*lines, f"    when {self.strikes[0]}{more}", f"    → {ADVICE[self.kind]}"])


@dataclass(frozen=True)
class Report:
    """The result of a matrix."""

    operation: str
    effects: Sequence[str]
    """The places of the effects that it watched."""
    findings: Sequence[Finding]
    strikes: Sequence[str]
    """What was struck."""
    left_out: Sequence[str]
    """What there was no time for."""
    seconds: float
    unseen: str = ""
    """What of the function it does not see; then no finding says nothing of that."""

    def __str__(self) -> str:
        count = len(self.findings)
        nothing = "nothing found" if self.unseen else "every effect happened once"
        found = f"{count} finding{'s' if count > 1 else ''}" if count else nothing
        head = f"{self.operation}: {len(self.strikes)} strikes in {self.seconds:.1f} s: {found}"
        if self.left_out:
            head += f"; no time for {len(self.left_out)} more (give more `seconds`)"
        watched = f"watched: {', '.join(self.effects) or 'nothing that stays'}"
        unseen = [f"not seen: {self.unseen}"] if self.unseen else []
        return "\n".join([head, watched, *unseen, *map(str, self.findings)])
