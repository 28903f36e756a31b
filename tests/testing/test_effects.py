"""What counts as a difference between a usual run and another one."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.testing.effects import Document, Usual

FIRST: dict[str, Any] = {"id": "1", "sold": 6, "attempt": 1, "at": "2026-01-01T00:00:00Z", "number": "x1"}
AGAIN = {**FIRST, "at": "2026-02-02T00:00:00Z", "number": "x2"}
SECOND_ATTEMPT = {**AGAIN, "attempt": 2, "number": "x3"}


def differences(*items: dict[str, Any], second: dict[str, Any] = SECOND_ATTEMPT) -> list[tuple[str, str]]:
    runs = [[Document.of("Orders", each)] for each in (FIRST, AGAIN, second)]
    before = [Document.of("Orders", {"id": "1", "sold": 5})]
    found = Usual(runs, before).differences([Document.of("Orders", each) for each in items])
    return [(each.kind, each.what) for each in found]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([FIRST], []),
        ([{**FIRST, "attempt": 3, "at": "2027-01-01T00:00:00Z", "number": "x9"}], []),
        ([FIRST, {**FIRST, "id": "2"}], [("twice", "2 instead of 1")]),
        ([], [("lost", "0 instead of 1")]),
        ([{**FIRST, "sold": 7}], [("twice", "sold is 7, not 6")]),
        ([{**FIRST, "sold": 5}], [("lost", "sold is 5, not 6")]),
        ([{**FIRST, "by": ["a"]}], [("twice", "by[0] is a, not absent")]),
        ([{**FIRST, "id": "other"}], [("differs", "id is other, not 1")]),
    ],
)
def test_a_run_is_compared_with_what_is_usual(items: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    assert differences(*items) == expected


def test_another_amount_to_a_provider_is_no_second_charge() -> None:
    runs = [[Document.of("POST https://provider.example", {"amount": 10})]] * 3
    (found,) = Usual(runs, []).differences([Document.of("POST https://provider.example", {"amount": 20})])
    assert (found.kind, found.what) == ("differs", "amount is 20, not 10")


def test_what_only_a_second_attempt_adds_is_no_habit() -> None:
    assert differences({**FIRST, "sold": 7}, second={**SECOND_ATTEMPT, "sold": 7}) == [("twice", "sold is 7, not 6")]
