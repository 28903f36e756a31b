"""Error names in Retry and Catch that the integration cannot raise: with one wrong letter, a name never matches.

Names are those of the SDK for Java, which AWS runs underneath: the exception's name in the service's model with
`Exception` at its end. An optimized integration puts another prefix before it than the SDK integration of the service.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator

import botocore.session
from once import errors

from oncekit.gate.machine import Finding, Machine, State
from oncekit.gate.reading import read

SERVICES = {
    "dynamodb": ("dynamodb", "DynamoDB"),
    "aws-sdk:dynamodb": ("dynamodb", "DynamoDb"),
    "aws-sdk:s3": ("s3", "S3"),
    "aws-sdk:sfn": ("stepfunctions", "Sfn"),
    "states": ("stepfunctions", "StepFunctions"),
    "aws-sdk:cloudwatch": ("cloudwatch", "CloudWatch"),
    "sqs": ("sqs", "SQS"),
    "lambda": ("lambda", "Lambda"),
}
"""By integration: the service's name in botocore, and the prefix of its errors."""
_EVERY_SERVICE = ("AccessDeniedException", "SdkClientException", "ThrottlingException", "ValidationException")
_BEYOND_THE_MODEL = {
    "DynamoDB": ("AmazonDynamoDBException",),
    "SQS": ("AmazonSQSException",),
    "Lambda": ("AWSLambdaException", "ClientExecutionTimeoutException", "Unknown"),
}
_RUNTIME = ("Sandbox.Timedout", "Runtime.ExitError", "Runtime.ImportModuleError", "Runtime.HandlerNotFound")
_STATES = (
    "ALL", "DataLimitExceeded", "Permissions", "QueryEvaluationError", "Runtime", "TaskFailed", "Timeout",
)  # fmt: skip
_OF_MAPS = ("ExceedToleratedFailureThreshold", "ItemReaderFailed", "ResultWriterFailed", "BranchFailed")


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.states:
        integration = state.resource.rpartition(":")[0]
        if state.type == "Task" and integration not in SERVICES:
            yield machine.finding(
                state, f"the gate does not know what {integration} raises; add it to SERVICES in oncekit/gate/errors.py"
            )
            continue
        known = names(state)
        for where, name in _named(state):
            if name not in known:
                yield machine.finding(state, f"{where}: {_unknown(name, known, state)}")


def _named(state: State) -> Iterator[tuple[str, str]]:
    """Every error that the state names: in clauses, and where an expression asks for the error's name."""
    for where, clause in state.clauses:
        for name in clause.get("ErrorEquals", []):
            yield where, name
    for text in state.expressions():
        for member, name in read(text.source).compared:
            if member == ("errorOutput", "Error"):
                yield text.field, name


def names(state: State) -> frozenset[str]:
    """Every error name that can occur in a state."""
    known = {f"States.{name}" for name in (_STATES if state.type == "Task" else (*_STATES, *_OF_MAPS))}
    if state.type == "Task":
        integration, _, action = state.resource.rpartition(":")
        service, prefix = SERVICES[integration]
        own = (*_exceptions(service, action), *_BEYOND_THE_MODEL.get(prefix, ()), f"{prefix}Exception")
        known |= {f"{prefix}.{name}" for name in (*own, *_EVERY_SERVICE)}
        known |= {*_RUNTIME, *_of_the_library()} if integration == "lambda" else set()
    return frozenset(known)


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
