"""Values of expressions, against those that JSONata's reference implementation 2.0.6 gave (reference/record.js)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncekit.asl.expression import Evaluator, strict_syntax
from oncekit.asl.values import JSONataError

HERE = Path(__file__).parent / "reference"
GIVEN: dict[str, Any] = json.loads((HERE / "given.json").read_text())
ANSWERS: dict[str, dict[str, Any]] = json.loads((HERE / "answers.json").read_text())

# Where the local engine answers otherwise, and why no definition of ours depends on it.
FAILS_HERE = {
    "an infinity, which the reference returns and JSON prints as null": ("$big*1e10", "1/$neg0", "1/0", "0/0"),
    "a function, which is no JSON": (
        "$string",
        "function($x){$x}",
        "[function($x){$x}]",
        '{"a":function($x){1}}',
        "/[\\]]/",
    ),
    "what the reference takes for a function": (
        "$fn",
        '$lookup({"f":$fn},"f")',
        "$filter([$fn], function($v){true})",
        "$map([$fn],function($x){1})",
        "$map([$fn],function($x){$type($x)})",
        "$type($counted)",
        "$string($counted)",
    ),
}
OTHER_VALUE = {
    "a JavaScript object has the names that are whole numbers first; names are sorted before their order counts": (
        "$keys($o)",
        "$string($o)",
        "$o.*",
    ),
    "assigning __proto__ makes no member; a request with it has an unknown field here": (
        "$merge([$proto,{}])",
        '{"__proto__":5}',
    ),
}
OTHER_CODE = ('$toMillis("garbage")', '"a" ?? "b"', "1 ?: 2", '"\\x"')


def expressions_of(reasons: dict[str, tuple[str, ...]]) -> set[str]:
    return {each for group in reasons.values() for each in group}


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with strict_syntax():
        yield Evaluator(lambda: 0.0, random.Random(0))


@pytest.mark.aws(unconfirmed="V31")
@pytest.mark.parametrize("expression", ANSWERS)
def test_expression_has_the_value_of_the_reference(expression: str, evaluator: Evaluator) -> None:
    expected = ANSWERS[expression]
    try:
        found = evaluator.evaluate(expression, {}, GIVEN)
    except JSONataError as error:
        if expression in expressions_of(FAILS_HERE):
            assert "value" in expected
        else:
            assert "value" not in expected
            code = expected.get("error", "returned nothing")
            assert (code in str(error)) != (expression in OTHER_CODE)
    else:
        assert (found == expected["value"]) != (expression in expressions_of(OTHER_VALUE))


@pytest.mark.ours
def test_what_is_answered_otherwise_was_asked() -> None:
    known = expressions_of(FAILS_HERE) | expressions_of(OTHER_VALUE) | set(OTHER_CODE)
    assert known <= set(ANSWERS)
