"""A result has one exact text, whatever JSON can hold."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once import NeedsAttention, Pending
from once.result import INLINE_LIMIT, envelope, serialise

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=30,
)


@given(json_values)
def test_any_result_comes_back_exactly(result: Any) -> None:
    text = serialise(result)
    assert repr(json.loads(text)) == repr(result)
    assert serialise(json.loads(text)) == text


@given(json_values)
def test_a_text_has_as_many_bytes_as_characters(result: Any) -> None:
    text = serialise(result)
    assert text.isascii()
    assert "\n" not in text


@given(unit=st.text(st.characters(), min_size=1, max_size=9), size=st.integers(199_900, 200_100))
def test_an_envelope_is_never_larger_than_the_limit(unit: str, size: int) -> None:
    text = serialise(unit * (size // len(json.dumps(json.dumps(unit)[1:-1])[1:-1])))
    inline = envelope(text, "token")
    assert (inline is not None) == (len(json.dumps({"onceResult": text, "replyToken": "token"})) <= INLINE_LIMIT)


@pytest.mark.parametrize(("size", "fits"), [(200_000, True), (200_001, False)])
def test_two_hundred_thousand_bytes_of_envelope_travel_and_one_more_does_not(size: int, fits: bool) -> None:
    text = "7" * (size - len(json.dumps({"onceResult": "", "replyToken": "token"})))
    assert envelope(text, "token") == ({"onceResult": text, "replyToken": "token"} if fits else None)


class Weather:
    pass


LOOP: list[Any] = []
LOOP.append(LOOP)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (Decimal("1.10"), "it is a Decimal"),
        ({"total": Decimal("1.10")}, "/total is a Decimal"),
        ({"lines": [{"price": math.nan}]}, "/lines/0/price is not a finite number"),
        ({"share": 0.5, "rest": -math.inf}, "/rest is not a finite number"),
        (math.inf, "it is not a finite number"),
        ({"tags": {"a"}}, "/tags is a set"),
        ([1, b"raw"], "/1 is a bytes"),
        (Weather(), "it is a Weather"),
        ({("a", "b"): 1}, "it has a member whose name is of type tuple"),
        ({"a": {("b",): 1}}, "/a has a member whose name is of type tuple"),
        (
            {"text": "a", "none": None, "flag": True, "pair": (1, 2.5), 3: 0, 2.5: 0, None: 0, "total": Decimal(1)},
            "/total is a Decimal",
        ),
        (DEEP, "is nested too deeply"),
        (LOOP, "contains itself"),
        (10**5000, "digits"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_result_that_is_not_json_goes_to_the_operator_and_says_where(result: Any, fault: str) -> None:
    with pytest.raises(NeedsAttention, match="business logic succeeded, but its result is not JSON") as raised:
        serialise(result)
    assert fault in str(raised.value)


APP = """
from once import JSON, Pending, Request

def handler(request: Request) -> JSON | Pending: ...
"""


def test_json_can_stand_in_an_annotation_with_other_types() -> None:
    names: dict[str, Any] = {}
    exec(compile(APP, "app.py", "exec", dont_inherit=True), names)  # without this file's `from __future__`
    assert {str, Pending} < set(get_args(get_type_hints(names["handler"])["return"]))
