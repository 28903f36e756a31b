"""Error names in Retry and Catch that the integration cannot raise: with one wrong letter, a name never matches.

Names are those of the SDK for Java, which AWS runs underneath: the exception's name in the service's model with
`Exception` at its end. An optimized integration puts another prefix before it than the SDK integration of the service,
and what has no name of its own there has one for the whole service: `DynamoDB.AmazonDynamoDBException`.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator
from typing import Any

import botocore.session
from once import errors

from oncekit.gate.machine import Finding, Machine, State
from oncekit.local.engine.integrations import BOTO_NAMES, OPTIMISED, Optimised, java_name

_EVERY_SERVICE = ("AccessDeniedException", "SdkClientException", "ThrottlingException", "ValidationException")
_STATES = (
    "ALL", "DataLimitExceeded", "Permissions", "QueryEvaluationError", "Runtime", "TaskFailed", "Timeout",
)  # fmt: skip
_TAKEN = frozenset(
    f"{prefix}.ExecutionAlreadyExists{end}" for prefix in ("StepFunctions", "Sfn") for end in ("", "Exception")
)
"""A start whose name is taken was made before, which is a success. AWS's guide adds `Exception` to the API's name, and
its examples do not; a prefix is the other integration's in some recordings. One letter would make it a failure."""
_OF_MAPS = ("ExceedToleratedFailureThreshold", "ItemReaderFailed", "ResultWriterFailed", "BranchFailed")


def check(machine: Machine) -> Iterator[Finding]:
    for state in machine.states:
        integration = state.resource.rpartition(":")[0]
        if state.type == "Task" and integration not in OPTIMISED and not integration.startswith("aws-sdk:"):
            told = f"the gate does not know what {integration} raises; add it to OPTIMISED in "
            yield machine.finding(state, f"{told}oncekit/local/engine/integrations.py")
            continue
        known = names(state)
        for where, clause in state.clauses:
            for name in clause.get("ErrorEquals", []):
                if name not in known:
                    yield machine.finding(state, f"{where}: {_unknown(name, known, state)}")
            if (named := _TAKEN & set(clause.get("ErrorEquals", []))) and (missing := sorted(_TAKEN - named)):
                yield machine.finding(
                    state, f"{where}: AWS may spell it in other ways, and each is a success; add {', '.join(missing)}"
                )


def names(state: State) -> frozenset[str]:
    """The error names of a state: those of AWS's models, of Step Functions and of our library."""
    known = {f"States.{name}" for name in (_STATES if state.type == "Task" else (*_STATES, *_OF_MAPS))}
    if state.type == "Task":
        integration, _, action = state.resource.rpartition(":")
        known |= set(_of_the_service(integration, action))
        known |= _of_the_library() if integration == "lambda" else set()
        known |= {"EventBridge.FailedEntry"} if integration == "events" else set()
        known |= _TAKEN if action == "startExecution" else set()
    return frozenset(known)


def _of_the_service(integration: str, action: str) -> Iterator[str]:
    name = integration.removeprefix("aws-sdk:")
    own = OPTIMISED.get(integration)
    service = BOTO_NAMES.get(name, name)
    prefix = java_name(_model(service).service_id) if own is None else own.prefix
    others = (*_EVERY_SERVICE, f"{prefix}Exception") if own is None else (own.unnamed, own.unanswered)
    for exception in (*_exceptions(service, action), *others):
        yield f"{prefix}.{exception}"


def _of_apis(own: Optimised) -> set[str]:
    """Errors that the API of each service has, and an optimized integration no name for."""
    return {f"{own.prefix}.{name}" for name in _EVERY_SERVICE}


@functools.cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


@functools.cache
def _exceptions(service: str, action: str) -> frozenset[str]:
    operation = _model(service).operation_model(action[:1].upper() + action[1:])
    return frozenset(shape.name.removesuffix("Exception") + "Exception" for shape in operation.error_shapes)


def _of_the_library() -> set[str]:
    """What functions raise on purpose, by class name."""
    kinds = [errors.OnceError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.__name__ for kind in kinds}


def _unknown(name: str, known: frozenset[str], state: State) -> str:
    alike = [each for each in known if each.lower() == name.lower()]
    if not alike and (own := OPTIMISED.get(state.resource.rpartition(":")[0])) and name in _of_apis(own):
        alike = [f"{own.prefix}.{own.unnamed}"]
    alike = alike or difflib.get_close_matches(name, known, 1)
    hint = f"; is it {alike[0]}?" if alike else "; remove it"
    return f"no error of {state.resource or state.type} is called {name}, so this never matches{hint}"
