"""The matrix of a function that takes the lock itself: it is struck at the calls of the lane, too."""

from __future__ import annotations

from typing import Any

import pytest

from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.matrix import NothingToStrike
from oncekit.testing.plugin import RunMatrix

REQUEST = {"operation": "taking", "idempotencyKey": "k"}


def event(*, careful: bool, key: str = "k", **more: Any) -> dict[str, Any]:
    return {"Records": [{"key": key, "body": {"careful": careful}}], **more}


def test_a_step_happens_once_whatever_breaks_in_the_lane(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix(REQUEST, event=event(careful=True))
    assert report.effects == ["Notes"]
    of_the_lane = [each for each in report.strikes if "in handler: dynamodb.update_item" in each]
    assert len(of_the_lane) == 2 * len({each.partition(" tests/")[0] for each in of_the_lane}) == 8


def test_an_effect_that_is_no_step_is_found(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix(REQUEST, event=event(careful=False), check=False)
    [found] = report.findings
    assert (found.kind, found.place) == ("twice", "Notes")


def test_a_careful_request_is_left_to_a_person(application: TestCloud, once_matrix: RunMatrix) -> None:
    once_matrix(REQUEST, event=event(careful=True, choices={"on_crash": "quarantine"}))


def test_an_event_that_leads_to_no_record_is_no_matrix(application: TestCloud, once_matrix: RunMatrix) -> None:
    with pytest.raises(NothingToStrike, match="its event leaves no record of default#taking#k"):
        once_matrix(REQUEST, event=event(careful=True, key="nobody"))
