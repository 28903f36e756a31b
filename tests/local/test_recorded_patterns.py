"""Event patterns that AWS has judged, read from where they are kept beside this repository."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from asl.recorded import ABSENT, recorded

from oncekit.local.events.patterns import NotJudged, PatternError, check, matches

DIFFERS = {
    "content_wildcard_complex_EXC": "not judged: from how many asterisks on a pattern is too complex is not documented",
}
"""By case, why it does not agree."""

pytestmark = [
    pytest.mark.aws(recorded="shared/recorded/recorded.json", says="102 event patterns with what AWS judged"),
    pytest.mark.skipif(not recorded(), reason=ABSENT),
]


@functools.cache
def cases() -> dict[str, dict[str, Any]]:
    return {each["id"].partition("[")[2].rstrip("]"): each for each in recorded().get("event_patterns", [])}


def judged(case: dict[str, Any]) -> bool | str:
    try:
        check(case["pattern"])
    except PatternError:
        return "invalid"
    except NotJudged:
        return "not judged"
    return matches(case["pattern"], case["event"])


@pytest.mark.parametrize("case", [each for each in cases() if each not in DIFFERS])
def test_a_pattern_is_judged_as_aws_judged_it(case: str) -> None:
    assert judged(cases()[case]) == cases()[case]["expected"]


@pytest.mark.parametrize("case", DIFFERS)
def test_a_pattern_that_is_judged_as_on_aws_has_no_reason_to_differ(case: str) -> None:
    assert judged(cases()[case]) != cases()[case]["expected"]
