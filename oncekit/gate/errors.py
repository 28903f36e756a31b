"""Error names in Retry and Catch that the integration cannot raise: with one wrong letter, a name never matches.

Names are those of the SDK for Java, which AWS runs underneath: the exception's name in the service's model with
`Exception` at its end. An optimized integration puts another prefix before it than the SDK integration of the service.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator
from dataclasses import dataclass

import botocore.session
from once import errors

from oncekit.gate.finding import Finding
from oncekit.gate.machine import Machine, State
from oncekit.gate.reading import read


@dataclass(frozen=True)
class Service:
    """How the errors of one integration are called."""

    model: str
    """The service's name in botocore."""
    prefix: str
    more: frozenset[str] = frozenset()
    """What it raises beyond its model."""

    @property
    def base(self) -> str:
        """What is raised for an answer without a name that the SDK knows, and for one that was lost."""
        return {"DynamoDB": "AmazonDynamoDBException", "SQS": "AmazonSQSException"}.get(
            self.prefix, f"{self.prefix}Exception"
        )


SERVICES = {
    "dynamodb": Service("dynamodb", "DynamoDB"),
    "aws-sdk:dynamodb": Service("dynamodb", "DynamoDb"),
    "aws-sdk:s3": Service("s3", "S3"),
    "aws-sdk:sfn": Service("stepfunctions", "Sfn"),
    "states": Service("stepfunctions", "StepFunctions"),
    "aws-sdk:cloudwatch": Service("cloudwatch", "CloudWatch"),
    "sqs": Service("sqs", "SQS"),
    "lambda": Service(
        "lambda", "Lambda", frozenset({"AWSLambdaException", "ClientExecutionTimeoutException", "Unknown"})
    ),
}
_EVERY_SERVICE = {"AccessDeniedException", "SdkClientException", "ThrottlingException", "ValidationException"}
_RUNTIME = {"Sandbox.Timedout", "Runtime.ExitError", "Runtime.ImportModuleError", "Runtime.HandlerNotFound"}
_STATES = {
    "States.ALL",
    "States.DataLimitExceeded",
    "States.Permissions",
    "States.QueryEvaluationError",
    "States.Runtime",
    "States.TaskFailed",
    "States.Timeout",
}
_OF_MAPS = {
    "States.ExceedToleratedFailureThreshold",
    "States.ItemReaderFailed",
    "States.ResultWriterFailed",
    "States.BranchFailed",
}


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.states:
        known = names(state)
        if known is None:
            yield machine.finding(
                state,
                f"the gate does not know what {state.resource} raises; add it to SERVICES in oncekit/gate/errors.py",
            )
            continue
        for where, name in _named(state):
            if name not in known:
                yield machine.finding(state, f"{where}: {_unknown(name, known, state)}")


def _named(state: State) -> Iterator[tuple[str, str]]:
    """Every error that the state names: in clauses, and where an expression asks for the error's name."""
    for kind, number, clause in state.clauses:
        for name in clause.get("ErrorEquals", []):
            yield f"{kind}.{number}", name
    for text in state.expressions():
        for member, name in read(text.source).compared:
            if member == ("errorOutput", "Error"):
                yield text.field, name


def names(state: State) -> frozenset[str] | None:
    """Every error name that can occur in a state; None where nobody has told the gate."""
    known = _STATES | ({"States.HeartbeatTimeout"} if "HeartbeatSeconds" in state.raw else set())
    if state.type != "Task":
        return frozenset(known | _OF_MAPS)
    integration, _, action = state.resource.rpartition(":")
    service = SERVICES.get(integration)
    if service is None:
        return None
    raised = _exceptions(service.model, action.partition(".")[0]) | _EVERY_SERVICE | service.more | {service.base}
    known |= {f"{service.prefix}.{name}" for name in raised}
    return frozenset(known | (_RUNTIME | _of_the_library() if integration == "lambda" else set()))


@functools.cache
def _exceptions(service: str, action: str) -> frozenset[str]:
    model = botocore.session.get_session().get_service_model(service)
    operation = model.operation_model(action[:1].upper() + action[1:])
    return frozenset(shape.name.removesuffix("Exception") + "Exception" for shape in operation.error_shapes)


def _of_the_library() -> set[str]:
    """What functions raise on purpose, by class name."""
    kinds = [errors.OnceError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.__name__ for kind in kinds}


def _unknown(name: str, known: frozenset[str], state: State) -> str:
    alike = [each for each in known if each.lower() == name.lower()] or difflib.get_close_matches(name, known, 1)
    hint = f"; is it {alike[0]}?" if alike else "; remove it"
    return f"{state.resource or state.type} never raises {name}, so this never matches{hint}"
