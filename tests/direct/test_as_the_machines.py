"""A function of the direct lane sees a request as the machines do: what is one, its text, and its fingerprint."""

from __future__ import annotations

import json
import math
import random
import shutil
import string
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from once import canonical
from tools import tool

from oncekit.local.deployment.deploy import rendered_definitions

ROOT = Path(__file__).parents[2]
RULES = rendered_definitions(ROOT / "template.yaml")["operation"]["States"]["ReceiveRequest"]["Choices"]
ASSIGNED = next(rule["Assign"] for rule in RULES if "fingerprint" in rule.get("Assign", {}))
FINGERPRINT = ASSIGNED["fingerprint"].strip("{% }")
LETTERS = string.printable + "éß中\u2028😀𝒳\uffff"


def payloads(seed: int, count: int, letters: str = LETTERS) -> Iterator[dict[str, Any]]:
    """Objects with every kind of value, among them numbers that 15 digits round up and down, and ties of both."""
    dice = random.Random(seed)

    def number() -> float:
        while True:
            bits = struct.unpack("d", struct.pack("Q", dice.getrandbits(64)))[0]
            found = dice.choice(
                [
                    dice.randint(-canonical.EXACT, canonical.EXACT),
                    dice.uniform(-1, 1) * 10.0 ** dice.randint(-20, 15),
                    round(dice.uniform(-1000, 1000), dice.randint(0, 17)),
                    (dice.randint(10**14, 10**15) + 0.5) / 2 ** dice.randint(0, 30),
                    bits,
                ]
            )
            if math.isfinite(found) and abs(found) <= canonical.EXACT:
                return found

    def text() -> str:
        return "".join(dice.choice(letters) for _ in range(dice.randint(0, 4)))

    def value(depth: int) -> Any:
        kind = dice.randint(0, 5 if depth else 3)
        if kind > 3:
            members = [value(depth - 1) for _ in range(dice.randint(0, 3))]
            return members if kind == 4 else {text(): each for each in members}
        return (number(), text(), dice.choice([None, True, False]), number())[kind]

    for _ in range(count):
        yield {text(): value(2) for _ in range(dice.randint(0, 3))}


def referred(expression: str, given: list[Any]) -> list[Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    modules = tool("build/npm/node_modules")
    lines = "\n".join(json.dumps(each) for each in given)
    command = [node, str(Path(__file__).with_name("reference.cjs")), str(modules), expression]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=300)
    told: list[Any] = json.loads(done.stdout)
    return told


def test_twenty_thousand_payloads_have_the_fingerprint_of_the_reference_implementation() -> None:
    given = list(payloads(1, 20_000))
    told = referred(FINGERPRINT, [{"payload": each} for each in given])
    different = [each for each, of in zip(given, told, strict=True) if canonical.fingerprint(each) != of]
    assert different == []


def test_their_texts_are_those_of_the_reference_implementation() -> None:
    # Without digits: of names that are numbers ECMAScript makes the first ones.
    given = list(payloads(2, 5_000, 'ab\\"\n\x7f' + LETTERS[-6:]))
    for each, text in zip(given, referred("$string($states.input)", given), strict=True):
        assert canonical.text_of(each) == text
