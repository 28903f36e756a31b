"""Every error that the state machine names can occur: with one wrong letter, a name never matches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from once import errors

STATES = {
    "States.ALL",
    "States.DataLimitExceeded",
    "States.QueryEvaluationError",
    "States.Runtime",
    "States.TaskFailed",
    "States.Timeout",
}
LAMBDA = {"Lambda.TooManyRequestsException", "Lambda.ResourceNotFoundException"}


def caught(states: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, state in states.items():
        for clause in [*state.get("Retry", []), *state.get("Catch", [])]:
            for error in clause["ErrorEquals"]:
                yield name, state["Resource"], error


def test_every_error_name_is_one_of_its_service(states: dict[str, Any]) -> None:
    for state, resource, error in caught(states):
        if error in STATES or (":lambda:" in resource and error in LAMBDA):
            continue
        prefix, _, exception = error.partition(".")
        service, prefix_on_aws = SERVICES[resource.removeprefix("arn:aws:states:::").rpartition(":")[0]]
        assert prefix == prefix_on_aws, f"{state}: {error}"
        assert exception in exceptions(service), f"{state}: {error}"


# An optimized integration names its service in another way than the SDK integration of the same service.
SERVICES = {
    "dynamodb": ("dynamodb", "DynamoDB"),
    "aws-sdk:dynamodb": ("dynamodb", "DynamoDb"),
    "aws-sdk:s3": ("s3", "S3"),
    "aws-sdk:sfn": ("stepfunctions", "Sfn"),
    "aws-sdk:cloudwatch": ("cloudwatch", "CloudWatch"),
    "sqs": ("sqs", "SQS"),
}


def exceptions(service: str) -> set[str]:
    """As the SDK for Java calls them: with `Exception` at the end."""
    shapes = botocore.session.get_session().get_service_model(service).error_shapes
    return {shape.name.removesuffix("Exception") + "Exception" for shape in shapes}


def test_all_errors_are_caught_last_and_alone(states: dict[str, Any]) -> None:
    for state in states.values():
        for clauses in (state.get("Retry", []), state.get("Catch", [])):
            for number, clause in enumerate(clauses):
                if "States.ALL" in clause["ErrorEquals"]:
                    assert clause["ErrorEquals"] == ["States.ALL"]
                    assert number == len(clauses) - 1


@pytest.mark.parametrize("name", ["PermanentError", "NeedsAttention", "LockLostError"])
def test_what_the_library_raises_is_what_the_state_machine_tells_apart(definition: dict[str, Any], name: str) -> None:
    assert issubclass(getattr(errors, name), errors.OnceError)
    conditions = json.dumps([c["Condition"] for c in definition["States"]["ClassifyFailure"]["Choices"]])
    assert re.search(rf"\$failure\.name (=|in \[)[^\]]*'{name}'", conditions)


def test_every_task_has_a_timeout_a_retry_and_says_why_it_exists(states: dict[str, Any]) -> None:
    for name, state in states.items():
        assert len(state["Comment"]) > 20, name
        assert "\n" not in state["Comment"], name
        if state["Type"] == "Task":
            assert state["TimeoutSeconds"], name
            assert state["Retry"], name
