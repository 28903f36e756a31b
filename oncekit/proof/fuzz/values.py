"""Odd values: what a producer, a function or somebody with a hand in the table may write where a sane value belongs."""

from __future__ import annotations

import random
from typing import Any

JSON = Any

CONTROLS = "\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b\u200b\u2028\u2029\u202e\u2066\ufeff\ufffe\uffff"
LETTERS = "aZ0 _-#/.\\\"'{}[]%$&é€ßİ中\U0001f600\U0010ffff"
HALVES = "\ud800\udbff\udc00\udfff"
PHRASES = (
    "",
    " ",
    "null",
    "default",
    "acme",
    "acme#charge-payment#order-1",
    "../../other",
    "{% $states.input %}",
    "${TableName}",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J\x1b[H",
    "ok\nacme#charge-payment#forged  COMPLETED",
    "\\ud800",
    "\\u0000",
    "'; DROP TABLE records; --",
    "attribute_not_exists(id)",
    "__proto__",
    "constructor",
    "$parse",
    "onceResult",
    "<script>alert(1)</script>",
    "arn:aws:states:us-east-1:999999999999:execution:Other:theirs",
)
NUMBERS: tuple[float, ...] = (
    0,
    -0.0,
    1,
    -1,
    0.1,
    0.1 + 0.2,
    1e-7,
    1e21,
    5e-324,
    1.7976931348623157e308,
    2**53,
    2**53 + 1,
    -(2**63),
    10**15,
    123456789012345680,
)
NAMES = (
    "operation",
    "tenant",
    "idempotencyKey",
    "payload",
    "body",
    "onConflict",
    "onCrash",
    "onFailed",
    "onceResult",
    "onceResultRef",
    "__proto__",
    "constructor",
    "toString",
    "length",
    "sequence",
    "",
    "$",
    "%",
    "a.b",
    "_jsonata_lambda",
    "_jsonata_function",
)
"""Of members: those with a meaning somewhere, and those that languages trip over."""
DEEP = 14
"""Levels: a payload may have ten."""


class Odd:
    """Odd values by dice."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def chance(self, of: float) -> bool:
        return self.dice.random() < of

    def character(self) -> str:
        kind = self.dice.random()
        if kind < 0.6:
            return self.dice.choice(LETTERS)
        if kind < 0.85:
            return self.dice.choice(CONTROLS)
        if kind < 0.9:
            return self.dice.choice(HALVES)
        return chr(self.dice.choice((self.dice.randrange(0x20), self.dice.randrange(0x7F, 0x2100))))

    def text(self, longest: int = 12) -> str:
        if self.chance(0.3):
            return self.dice.choice(PHRASES)
        return "".join(self.character() for _ in range(self.dice.randint(0, longest)))

    def plain(self, longest: int = 20) -> str:
        """Text without halves of characters: what can be sent as UTF-8."""
        return self.text(longest).encode("utf-8", "replace").decode()

    def number(self) -> float:
        if self.chance(0.5):
            return self.dice.choice(NUMBERS)
        return self.dice.choice(
            (self.dice.randint(-10, 10**6), self.dice.uniform(-1e9, 1e9), 2.0 ** self.dice.randint(-1000, 1000))
        )

    def scalar(self) -> JSON:
        return self.dice.choice((self.text, self.number, lambda: None, lambda: True, lambda: False))()

    def value(self, depth: int = 3) -> JSON:
        """Any JSON value, `depth` levels deep at most."""
        if depth <= 0 or self.chance(0.55):
            return self.scalar()
        several = range(self.dice.choice((0, 1, 1, 2, 3)))
        if self.chance(0.4):
            return [self.value(depth - 1) for _ in several]
        return {self.name(): self.value(depth - 1) for _ in several}

    def object(self, depth: int = 3) -> dict[str, JSON]:
        return {self.name(): self.value(depth - 1) for _ in range(self.dice.randint(0, 3))}

    def name(self) -> str:
        if self.chance(0.25):
            return self.dice.choice(NAMES)
        return self.text(6) if self.chance(0.3) else self.dice.choice("abc")

    def nested(self, levels: int) -> JSON:
        """A value of so many levels."""
        value: JSON = self.scalar()
        for _ in range(levels):
            value = [value] if self.chance(0.5) else {"a": value}
        return value


def swapped(dice: random.Random, value: JSON, odd: JSON) -> JSON:
    """The value with one thing in it, or all of it, replaced by an odd one."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        name = dice.choice(sorted(value))
        return {**value, name: swapped(dice, value[name], odd)}
    if isinstance(value, list) and value and dice.random() < 0.8:
        place = dice.randrange(len(value))
        return [*value[:place], swapped(dice, value[place], odd), *value[place + 1 :]]
    return odd
