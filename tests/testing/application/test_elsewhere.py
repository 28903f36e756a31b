"""The matrix of an operation whose work goes on elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oncekit.local.once_cloud import PREFIX
from oncekit.testing.kit_cloud import TestCloud
from oncekit.testing.matrix import NothingToStrike
from oncekit.testing.plugin import RunMatrix

WORK = "POST https://api.provider.example/work"
LONG = 600.0
"""A busy machine is no fault of the code."""


def asked(**payload: Any) -> dict[str, Any]:
    return {"operation": "pending", "idempotencyKey": "k", "payload": payload}


class Provider:
    """It does the work that it was told last, and completes."""

    def __init__(self, cloud: TestCloud) -> None:
        self.cloud = cloud

    def __call__(self) -> None:
        ticket = json.loads(self.cloud.outside.sent[-1].body)["ticket"]
        payload = json.dumps({"ticket": ticket})
        self.cloud.client("lambda").invoke(FunctionName=f"{PREFIX}ending", Payload=payload)


def test_work_that_is_started_under_its_name_is_done_once(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix(asked(), elsewhere=Provider(application), states=False, seconds=LONG)
    assert [each for each in report.strikes if "elsewhere" in each] == [
        "work elsewhere ends before the function has returned",
        "work elsewhere ends twice",
        "work elsewhere ends after its time was up",
        "work elsewhere never ends",
    ]


def test_work_that_each_attempt_starts_anew_is_found(application: TestCloud, once_matrix: RunMatrix) -> None:
    report = once_matrix(asked(careless=True), elsewhere=Provider(application), states=False, seconds=LONG, check=False)
    [finding] = report.findings
    assert (finding.kind, finding.place) == ("twice", WORK)
    assert {"work elsewhere ends after its time was up", "work elsewhere never ends"} <= set(finding.strikes)
    assert not {"work elsewhere ends twice", "work elsewhere ends before the function has returned"} & set(
        finding.strikes
    )


def test_work_that_nobody_ends_is_told(application: TestCloud, once_matrix: RunMatrix) -> None:
    with pytest.raises(NothingToStrike, match="pending: it is pending, and nothing here ends it: give what does"):
        once_matrix(asked())


def test_an_operation_that_is_never_pending_has_no_work_elsewhere(
    application: TestCloud, once_matrix: RunMatrix
) -> None:
    request = {"operation": "careful", "idempotencyKey": "k", "payload": {"amount": 1}}
    with pytest.raises(
        NothingToStrike, match="careful, without any fault: it was never pending: leave `elsewhere` out"
    ):
        once_matrix(request, elsewhere=lambda: None)
