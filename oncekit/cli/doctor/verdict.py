"""What a check is, and what its verdict can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["ok", "wrong", "warning", "skipped"]


@dataclass(frozen=True)
class Verdict:
    """What was found: `message` says what it means, `advice` what to do, with a command where there is one."""

    outcome: Outcome
    message: str
    advice: str = ""


@dataclass(frozen=True)
class Check:
    """`name` is `<group>.<subject>`, `resource` a logical id or, of what the template does not name, its own name."""

    name: str
    resource: str
    look: Callable[[], Verdict]


@dataclass(frozen=True)
class Finding:
    """A check and its verdict, as `once doctor --json` prints it."""

    name: str
    outcome: Outcome
    resource: str
    message: str
    advice: str


class CannotLook(Exception):
    """Something in the way of a check, which is not what it looks for; the message says what."""


class Gone(Exception):
    """AWS does not have a resource that the stack lists; the message has AWS's word for it."""


def ok(message: str) -> Verdict:
    return Verdict("ok", message)


def wrong(message: str, advice: str) -> Verdict:
    return Verdict("wrong", message, advice)


def warning(message: str, advice: str) -> Verdict:
    return Verdict("warning", message, advice)


def skipped(message: str) -> Verdict:
    return Verdict("skipped", message)
