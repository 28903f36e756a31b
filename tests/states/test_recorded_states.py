"""What TestState answered on AWS, as it was recorded: the interpreter says the same, and AWS's backend reads it so.

The recordings are beside the project and not in it. Of the values that differ from run to run, all are in the context.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from asl.recorded import ABSENT, recorded
from aws_state import OnAws
from botocore.stub import Stubber
from one_state import State, Way

from oncekit.asl.errors import StateError

CASES: list[dict[str, Any]] = recorded().get("test_state", [])
ALONE = "StateName"
"""What AWS calls a state that is tested without a machine."""


@dataclass(frozen=True)
class Recorded:
    """A lane whose context is what AWS showed of its own, if the case shows it."""

    expected: Mapping[str, Any]
    begun: Mapping[str, Any]

    def context(self, _given: Any) -> Any:
        shown = self.expected.get("output", {})
        return shown.get("context", shown.get("ja_states_context", {}))


def in_text(answer: Mapping[str, Any]) -> dict[str, Any]:
    """As the API has it: values in JSON, but for texts, numbers and the details of an error."""
    plain = ("status", "nextState", "error", "cause", "errorDetails", "inspectionData")
    return {name: value if name in plain else json.dumps(value) for name, value in answer.items()}


def by_interpreter(_case: Mapping[str, Any]) -> Callable[..., State]:
    return State


def by_recording(case: Mapping[str, Any]) -> Callable[..., State]:
    """A client that knows the API's model, and gives this answer: what the model does not have is refused."""
    key = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nobody"}
    client = boto3.client("stepfunctions", region_name="us-east-1", **key)
    stubber = Stubber(client)
    answer = {**case["expected"], "inspectionData": in_text(case["inspection"] or {})}
    stubber.add_response("test_state", in_text(answer))
    stubber.activate()
    return functools.partial(OnAws, client=client)


@pytest.mark.skipif(not CASES, reason=ABSENT)
@pytest.mark.parametrize("kind", [by_interpreter, by_recording])
@pytest.mark.parametrize("case", CASES, ids=[f"{each['id'].rpartition('::')[2]}-{each['key']}" for each in CASES])
def test_a_state_answers_as_aws_did(case: dict[str, Any], kind: Callable[..., Callable[..., State]]) -> None:
    definition, expected = case["definition"], case["expected"]
    alone = {"StartAt": ALONE, "States": {ALONE: definition}}
    lane = Recorded(expected, case["variables"] or {})
    state = kind(case)(case["state"], definition if "States" in definition else alone, lane)
    failure = case["mock"].get("errorOutput")
    try:
        if failure:
            way = state.fails(failure["error"], {}, failure["cause"], case["input"])
        else:
            way = state.chooses({}, case["input"])
    except StateError as error:
        assert (expected["status"], expected["error"], expected["cause"]) == ("FAILED", error.error, error.cause)
    else:
        assert expected["status"] == ("CAUGHT_ERROR" if failure else "SUCCEEDED")
        assert way == Way(expected.get("nextState"), expected["output"], {})


@pytest.mark.skipif(not CASES, reason=ABSENT)
@pytest.mark.parametrize("kind", [by_interpreter, by_recording])
def test_a_call_has_the_arguments_that_aws_told(kind: Callable[..., Callable[..., State]]) -> None:
    told = [each for each in CASES if "afterArguments" in (each["inspection"] or {})]
    assert told
    for case in told:
        alone = {"StartAt": ALONE, "States": {ALONE: case["definition"]}}
        state = kind(case)(ALONE, alone, Recorded(case["expected"], {}))
        assert state.calls({}) == case["inspection"]["afterArguments"]
