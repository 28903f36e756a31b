"""One change of one text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """What a text becomes, under which rule, told in a few words."""

    kind: str
    what: str
    text: str


def short(text: str) -> str:
    """A piece of an expression as part of a name."""
    text = " ".join(text.split())
    return text if len(text) <= 70 else f"{text[:50]}...{text[-16:]}"


def other_numbers(text: str) -> tuple[str, ...]:
    """Two other numbers: the next one, and half of it."""
    value = float(text)
    if not value.is_integer() or "e" in text.lower():
        return (str(value * 2),)
    whole = int(value)
    return (str(whole + 1), str(whole // 2)) if whole else ("1",)
