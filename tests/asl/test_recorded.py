"""Executions end on the interpreter as AWS recorded them: each event, what it follows, and its details."""

from __future__ import annotations

from typing import Any

import pytest
from asl.recorded import ABSENT, differences, played, recorded

from oncekit.asl.definition import why_not
from oncekit.asl.errors import Reading, read_as

OF_ANOTHER_READING = {
    "test_service_task_lambada_catch_state_all_data_limit_exceeded_on_large_utf8_response",
    "test_task_lambda_catch_state_all_data_limit_exceeded_on_large_utf8_response",
}
"""Here States.ALL caught what the Developer Guide says that it does not catch; each reading is run."""

CASES = recorded().get("executions", [])


def name(case: Any) -> str:
    return str(case["id"].rpartition("::")[2])


@pytest.mark.aws(recorded="LocalStack: recorded.json", says="how each of these executions ended on AWS")
@pytest.mark.skipif(not CASES, reason=ABSENT)
@pytest.mark.parametrize("case", CASES, ids=name)
def test_an_execution_goes_as_aws_recorded_it(case: Any) -> None:
    assert why_not(case["definition"]) is None
    with read_as(Reading(all_has_data_limit=name(case) in OF_ANOTHER_READING)):
        assert [*differences(played(case), case)] == []
