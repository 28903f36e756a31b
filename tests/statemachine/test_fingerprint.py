"""Two payloads have one fingerprint if and only if they are the same JSON value."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonata import Jsonata
from jsonata.jexception import JException
from odd import cases
from test_results import values

from oncekit.asl.expression import Evaluator
from oncekit.local import VirtualClock
from oncekit.local.deployment.deploy import rendered_definitions

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
DEFINITION = rendered_definitions(TEMPLATE)["operation"]
RULES = DEFINITION["States"]["ReceiveRequest"]["Choices"]
EXPRESSION = next(each["Assign"] for each in RULES if "fingerprint" in each["Assign"])["fingerprint"].strip("{% }")
EVALUATOR = Evaluator(VirtualClock().now, random.Random(0))

MOST = 2**53 - 1
"""Whole numbers beyond it are refused before."""

members = values(st.one_of(st.integers(-MOST, MOST), st.floats(-MOST, MOST)))
payloads = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), members, max_size=4)


def fingerprint(payload: Any) -> str:
    request = {"operation": "a", "idempotencyKey": "k", "payload": payload}
    found: str = EVALUATOR.evaluate(EXPRESSION, {"input": request}, {})
    return found


def same_value(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 is 1.0 and -0.0 is 0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return float(a) == float(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    return type(a) is type(b) and bool(a == b)


def shuffled(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict):
        items = [(k, shuffled(v, dice)) for k, v in value.items()]
        dice.shuffle(items)
        return dict(items)
    return [shuffled(v, dice) for v in value] if isinstance(value, list) else value


@given(payload=payloads, seed=st.integers(0, 1000))
@cases(50)
def test_order_of_keys_does_not_count(payload: Any, seed: int) -> None:
    assert fingerprint(payload) == fingerprint(shuffled(payload, random.Random(seed)))


@given(a=payloads, b=payloads)
@example(a={"x": 2**53 - 2}, b={"x": 2**53 - 1})
@example(a={"x": 0.1 + 0.2}, b={"x": 0.3})
@example(a={"x": 4503599627370495.5}, b={"x": 4503599627370495})
@example(a={"x": 5e-324}, b={"x": 0})
@example(a={"x": "a1:b"}, b={"x": "a", "1:b": ""})
@cases(60)
def test_other_values_have_other_fingerprints(a: Any, b: Any) -> None:
    assert (fingerprint(a) == fingerprint(b)) == same_value(a, b)


# Recorded in floci-io/floci, issues 2737 and 2783: "AWS accepts an evaluation at depth 100 and refuses one at 101".
DEEPEST_EVALUATION = 100


@pytest.mark.parametrize("around", [lambda inner: {"x": inner}, lambda inner: [inner]], ids=["objects", "arrays"])
@pytest.mark.parametrize(("levels", "fits"), [(9, True), (13, False)])
def test_deepest_payload_that_is_taken_can_be_evaluated_on_aws(
    around: Callable[[Any], Any], levels: int, fits: bool
) -> None:
    """The second case shows that the depth is counted at all."""
    payload: Any = 1
    for _ in range(levels):
        payload = around(payload)
    given = {"operation": "o", "idempotencyKey": "k", "payload": {"x": payload}}
    expression = Jsonata(EXPRESSION)
    frame = expression.create_frame()
    frame.bind("states", {"input": [{"body": given}]})
    frame.bind("hash", Jsonata.JLambda(lambda value, _algorithm: value))
    frame.set_runtime_bounds(None, DEEPEST_EVALUATION)
    with nullcontext() if fits else pytest.raises(JException, match="Stack overflow"):
        expression.evaluate(None, frame)


@pytest.mark.parametrize(
    ("payload", "canonical"),
    [
        ({"cc": "xé", "b": [True, False, None], "a": 1}, "{1:a#1~0;1:b[TFN]2:cc2:xé}"),
        ({"a": 1.0000000000000002}, "{1:a#1~2.22044604925031e-16;}"),
    ],
)
def test_a_fingerprint_stays_what_it_was_for_records_outlive_versions(payload: Any, canonical: str) -> None:
    assert fingerprint(payload) == hashlib.sha256(canonical.encode()).hexdigest()
