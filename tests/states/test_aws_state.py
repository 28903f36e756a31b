"""What AWS is asked for a state, and how its answer is read: a client that knows the API's model stands for AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from aws_state import OnAws
from botocore.stub import Stubber
from one_state import NOW, Lane, Way

from oncekit.asl.errors import StateError

LANE = Lane("arn:aws:states:us-east-1:123456789012:execution:m:me", {"me": "somebody"})


class Aws:
    """What it was asked, and its answers one after the other."""

    def __init__(self) -> None:
        key = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nobody"}
        self.client: Any = boto3.client("stepfunctions", region_name="us-east-1", **key)
        self.stubber = Stubber(self.client)
        self.asked: list[dict[str, Any]] = []
        self.client.meta.events.register_first("before-parameter-build.*.TestState", self._hear)

    def _hear(self, params: dict[str, Any], **_: Any) -> None:
        texts = ("definition", "input", "variables", "context")
        self.asked.append({name: json_of(told) if name in texts else told for name, told in params.items()})

    def says(self, status: str, output: Any = None, *, shown: dict[str, Any] | None = None, **more: str) -> None:
        inspection = {name: json.dumps(value) for name, value in (shown or {}).items()}
        answer = {"status": status, "output": json.dumps(output), "inspectionData": inspection, **more}
        self.stubber.add_response("test_state", answer)

    def state(self, **raw: Any) -> OnAws:
        machine = {"StartAt": "S", "States": {"S": {**raw, "Next": "E"}, "E": {"Type": "Succeed"}}}
        return OnAws("S", machine, LANE, client=self.client)


def json_of(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.fixture
def aws() -> Iterator[Aws]:
    aws = Aws()
    with aws.stubber:
        yield aws
    aws.stubber.assert_no_pending_responses()


def test_a_state_that_asks_nobody_gets_no_mock_and_its_context_and_time_in_its_expressions(aws: Aws) -> None:
    aws.says("SUCCEEDED", {"a": 1}, nextState="E")
    output = "{% [$states.context.Execution.Name, $millis(), $now(), $states.input] %}"
    assert aws.state(Type="Pass", Output=output).chooses({"v": 2}, {"n": 1}) == Way("E", {"a": 1}, {})
    [asked] = aws.asked
    states = asked.pop("definition")["States"]
    assert states["S"]["Output"] == (
        f"{{% [$contextOfState.Execution.Name, {NOW}000, '2026-01-01T00:00:00.000Z', $states.input] %}}"
    )
    assert states["E"] == {"Type": "Succeed"}
    assert asked == {
        "stateName": "S",
        "input": {"n": 1},
        "variables": {"me": "somebody", "v": 2, "contextOfState": LANE.context({"n": 1})},
        "inspectionLevel": "DEBUG",
    }


def test_an_answer_and_an_error_are_mocks_beside_a_context_and_no_error_is_tried_again(aws: Aws) -> None:
    arguments = {"Name": "f", "Key": {"id": "{% $unknown %}"}}
    task = aws.state(Type="Task", Resource="r", Arguments=arguments, Retry=[{"ErrorEquals": ["States.ALL"]}])
    aws.says("SUCCEEDED", nextState="E")
    aws.says("CAUGHT_ERROR", nextState="E")
    task.takes({"n": 1}, {})
    task.fails("Oh", {}, "no")
    for asked, mock in zip(
        aws.asked,
        ({"result": '{"n": 1}', "fieldValidationMode": "NONE"}, {"errorOutput": {"error": "Oh", "cause": "no"}}),
        strict=True,
    ):
        assert (asked["mock"], asked["context"], asked["variables"]) == (mock, LANE.context(None), LANE.begun)
        raw = asked["definition"]["States"]["S"]
        assert "Retry" not in raw
        assert raw["Arguments"] == {"Name": "f", "Key": {"id": "x"}}, "what only the call reads is not known"
    aws.says("SUCCEEDED", nextState="E")
    aws.state(Type="Task", Resource="r", Arguments="{% $unknown %}").takes({}, {})
    assert aws.asked[-1]["definition"]["States"]["S"]["Arguments"] == "{% {} %}"


def test_the_arguments_of_a_call_are_told_whatever_becomes_of_it(aws: Aws) -> None:
    aws.says("FAILED", shown={"afterArguments": [1]}, error="Asked")
    assert aws.state(Type="Task", Resource="r", Arguments="{% [1] %}").calls({}) == [1]
    aws.says("FAILED", error="States.QueryEvaluationError", cause="no")
    with pytest.raises(StateError, match=r"States\.QueryEvaluationError: no"):
        aws.state(Type="Task", Resource="r", Arguments="{% $error() %}").calls({})


def test_the_branches_of_a_map_give_what_they_get(aws: Aws) -> None:
    aws.says("SUCCEEDED", [1, 2])
    aws.says("SUCCEEDED", [1, 2], nextState="E")
    assert aws.state(Type="Map", Items="{% [1, 2] %}").maps({}).output == [1, 2]
    items, whole = (asked["definition"]["States"]["S"]["Type"] for asked in aws.asked)
    assert (items, whole, aws.asked[1]["mock"]["result"]) == ("Pass", "Map", "[1, 2]")
    aws.says("SUCCEEDED", shown={"afterItemSelector": [{"n": 1}]})
    assert aws.state(Type="Map", ItemSelector={"n": 1}).selects([0]) == [{"n": 1}]


def test_what_is_assigned_is_told_without_what_was_there_before(aws: Aws) -> None:
    aws.says("CAUGHT_ERROR", shown={"variables": {"me": "somebody", "reason": "x", "other": 1}}, nextState="C")
    catch = [{"ErrorEquals": ["States.ALL"], "Assign": {"reason": "x"}, "Next": "C"}]
    task = aws.state(Type="Task", Resource="r", Assign={"other": 1}, Catch=catch)
    assert task.fails("Oh", {"other": 1}).assigned == {"reason": "x"}


def test_a_state_that_fails_on_aws_raises_its_error(aws: Aws) -> None:
    aws.says("FAILED", error="States.Runtime", cause="no")
    with pytest.raises(StateError, match=r"States\.Runtime: no"):
        aws.state(Type="Pass").chooses({})


def test_a_number_that_no_double_holds_is_sent_as_one(aws: Aws) -> None:
    aws.says("SUCCEEDED")
    aws.state(Type="Pass").chooses({}, [float("inf"), -float("inf")])
    assert aws.asked[0]["input"] == [float("inf"), -float("inf")]
