"""Payloads under one key, side by side."""

from __future__ import annotations

import json

import pytest
from markupsafe import Markup

from oncekit.console.beside import beside

MANY = [0, 1] * 900
"""Nearly as many values as a payload may have."""


def request_of(payload: object) -> str:
    return json.dumps({"operation": "o", "idempotencyKey": "k", "payload": payload})


def marked(text: Markup | None) -> list[str]:
    return [Markup(line).striptags().rstrip(",") for line in str(text).split("\n") if line.startswith("<mark>")]


@pytest.mark.parametrize(
    ("one", "other", "left", "right"),
    [
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 9, "c": 3}, ['"b": 2'], ['"b": 9']),
        ([1, 2, 3, 4], [1, 3, 4], ["2"], []),
        ([1, 2, 3, 4, 5], [1, 7, 3, 8, 5], ["2", "4"], ["7", "8"]),
        ([7, *MANY, 9], [7, *MANY, 5, 9], [], ["5"]),
        ([7, *MANY, 9], [7, 5, *MANY[1:-1], 6, 9], list(map(str, MANY)), list(map(str, [5, *MANY[1:-1], 6]))),
    ],
    ids=["a member", "an element", "two elements", "one of many", "of many that are alike, all between two others"],
)
def test_what_differs_is_marked(one: object, other: object, left: list[str], right: list[str]) -> None:
    [shown] = beside(request_of(one), [request_of(other)])
    assert (marked(shown.accepted), marked(shown.refused)) == (left, right)
