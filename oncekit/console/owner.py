"""What an owner did, in sentences: how often business logic was started, what is known of its effect, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oncekit.console import starts
from oncekit.console.parts import Part
from oncekit.console.starts import WORK

SAME_KEY = " with the same key as before"


@dataclass(frozen=True)
class Before:
    """The starts of business logic before an owner's."""

    count: int
    are_all_known: bool


def before(part: Part, owners: Sequence[Part]) -> Before:
    """`owners` are those before it that are known."""
    first = [*owners, part][0]
    return Before(sum(starts.begun(each.starts) for each in owners), first.is_first)


def of_owner(part: Part, before: Before) -> Iterator[str]:
    first = before.count + 1 if before.are_all_known else part.attempt
    last = part.starts[-1].end if part.starts else ""
    is_told_at_the_end = last in ("answered", "running") or (
        last in ("failed", "lost") and part.ending.kind in ("failed", "quarantined")
    )
    yield from starts.told(part.starts[:-1] if is_told_at_the_end else part.starts, first)
    begun = starts.begun(part.starts)
    number = first + begun - 1
    ran, work = _ran(number, begun, before), f"Attempt {number} of your function" if number > 1 else "Your function"
    ending = part.ending
    if ending.kind == "running":
        yield _is_running(part, number)
    elif ending.kind == "stopped":
        yield _stopped(part, number)
    elif ending.kind == "passed on":
        yield f"The fast lane tries once: the full lane goes on{' ' if ending.why else ''}{ending.why}."
    elif ending.kind == "pending":
        yield f"{ran}, and started work elsewhere."
    elif ending.kind == "stored":
        yield f"{ran}, and its answer is stored."
    elif ending.kind == "failed":
        yield f"{work} failed for good ({ending.said}); the failure is stored."
    elif ending.kind == "quarantined":
        once = f"{work} was started{' once' if number == 1 and before.are_all_known else ''}"
        has_asked = last == "failed" and part.starts[-1].error == "NeedsAttention"
        ends = {
            "answered": f"{ran}: its effect has happened, but its answer could not be stored.",
            "failed": f"{once}, and {'asked for a person' if has_asked else 'failed'}: its effect may have happened.",
            "lost": f"{once}, but gave no answer: its effect may have happened.",
        }
        yield from filter(None, [ends.get(last), quarantined(ending.said, "" if has_asked else ending.why)])
    else:
        yield from _not_stored(part, ran)


def _ran(number: int, begun: int, before: Before) -> str:
    """The last start of an owner, which ended well. Whether one before it came to run is not always known."""
    if begun > 1:
        return f"Attempt {number} of your function went well"
    if not before.are_all_known:
        return f"Your function ran{SAME_KEY if before.count else f' (attempt {number})' if number > 1 else ''}"
    return "Your function ran once" if number == 1 else f"Your function ran{SAME_KEY} (attempt {number})"


def _not_stored(part: Part, ran: str) -> Iterator[str]:
    ending, has_answered = part.ending, bool(part.starts) and part.starts[-1].end == "answered"
    if ending.kind == "by its ticket":
        yield from _ended_by_its_ticket(part, ran)
        return
    theirs = "the lock was another owner's"
    if ending.kind == "broken":
        yield from [f"{ran}: its effect has happened."] if has_answered else []
        yield f"The execution failed in {ending.state} ({ending.said})."
    elif not starts.begun(part.starts):
        yield f"Before it started your function, {theirs}, or released."
    elif ending.kind == "lost":
        what = f"{ran}, but then" if has_answered else "Then"
        yield f"{what} {theirs}, or released: its answer was not stored."
    elif has_answered:
        yield f"{ran}, but then {theirs}: its answer was not stored, and it got that one's."
    else:
        yield f"Then {theirs}: it got that one's answer."


def _ended_by_its_ticket(part: Part, ran: str) -> Iterator[str]:
    ended = "work elsewhere had ended the operation with its ticket"
    if not starts.begun(part.starts):
        yield f"Before it started your function, {ended}."
    elif part.starts[-1].end == "answered":
        yield f"{ran}, but {ended}: that end counts."
    else:
        yield f"Then {ended}."


def _is_running(part: Part, number: int) -> str:
    state, last = part.ending.state, part.starts[-1].end if part.starts else ""
    if state == WORK:
        return f"Your function is running (attempt {number})."
    if state == "BackOff":
        return f"It waits before attempt {number + 1}." if last else "It is about to run your function again."
    if not last:
        return "It holds the lock."
    return f"Your function has ended, and {'its answer' if last == 'answered' else 'how'} is being stored."


def _stopped(part: Part, number: int) -> str:
    by, last = f"The owner {part.ending.said}", part.starts[-1].end if part.starts else ""
    if last == "running":
        return f"{by} while your function may have run (attempt {number}): its effect may have happened."
    if last == "answered":
        return f"{by} after your function had ended (attempt {number}): its effect has happened."
    return f"{by} before {'another attempt' if last else 'it started your function'}."


def quarantined(error: str, why: str) -> str:
    return f"It was quarantined ({error}) and not started again{f', since {why}' if why else ''}."
