"""Calls moto's backends directly, without boto3 and HTTP: the same names, shapes and errors, in half the time.

Only for the operations named here: those that executions call often, and the one of every deployment, which then needs
no client. All other calls, and those of functions and tests, use HTTP; both use the same lock for DynamoDB.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from botocore.parsers import create_parser
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.dynamodb.responses import DynamoHandler
from moto.stepfunctions.responses import StepFunctionResponse
from werkzeug.exceptions import HTTPException

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.engine.service_models import exceptions, operations, service_model

DYNAMODB_LOCK = threading.RLock()
"""Held for every call of DynamoDB."""

HANDLERS: Mapping[tuple[str, str], Any] = {
    ("dynamodb", "get_item"): DynamoHandler,
    ("dynamodb", "query"): DynamoHandler,
    ("dynamodb", "update_item"): DynamoHandler,
    ("stepfunctions", "create_state_machine"): StepFunctionResponse,
    ("stepfunctions", "start_execution"): StepFunctionResponse,
    ("stepfunctions", "start_sync_execution"): StepFunctionResponse,
    ("stepfunctions", "describe_execution"): StepFunctionResponse,
    ("stepfunctions", "list_executions"): StepFunctionResponse,
    ("stepfunctions", "get_execution_history"): StepFunctionResponse,
}


def call(service: str, action: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """What `getattr(client, action)(**parameters)` gives or raises; the two names are a key of HANDLERS."""
    operation = operations(service)[action]
    shape = service_model(service).operation_model(operation).output_shape
    handler = _handler(HANDLERS[service, action], operation, _copy(parameters))
    with DYNAMODB_LOCK if service == "dynamodb" else nullcontext():
        try:
            answer = getattr(handler, action)()
        except ServiceException as error:
            raise _error(service, operation, shape, handler.serialized(ActionResult(error))) from error
        except HTTPException as error:
            raise _error(service, operation, shape, (error.code, {}, error.description)) from error
        result = _shaped(shape, answer.result, service == "dynamodb")
    return {**result, "ResponseMetadata": {"RequestId": "local", "HTTPStatusCode": 200, "RetryAttempts": 0}}


def _handler(handler_class: Any, operation: str, parameters: dict[str, Any]) -> Any:
    """One of moto's handlers, as if a request had been parsed into it."""
    handler = handler_class()
    handler.headers = {"x-amz-target": f"_.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    handler.response_headers = {}
    handler.current_account, handler.region, handler.partition = ACCOUNT, REGION, "aws"
    handler.automated_parameter_parsing = True
    handler.uri_match = {}
    handler.params = handler.body = parameters
    return handler


def _error(service: str, operation: str, shape: Any, answer: Any) -> Exception:
    """The exception that boto3 makes of an error's response."""
    status, headers, body = answer
    response = {"status_code": int(status), "headers": headers, "body": str(body).encode()}
    parser = create_parser("json")
    parsed = parser.parse(response, shape)
    code = parsed["Error"]["Code"]
    if (modelled := service_model(service).shape_for_error_code(code)) is not None:
        parsed.update(parser.parse(response, modelled))
    metadata = {"RequestId": "local", "RetryAttempts": 0, "MaxAttemptsReached": True}
    parsed["ResponseMetadata"] = metadata | parsed.get("ResponseMetadata", {})
    error: Exception = exceptions(service).from_code(code)(parsed, operation)
    return error


def _shaped(shape: Any, value: Any, is_exact: bool) -> Any:
    """A result as boto3 parses it. One that `is_exact` has the types already, and only its first level is chosen."""
    if shape.type_name == "structure":
        members = shape.members
        told = {name: member for name, member in value.items() if member is not None and name in members}
        if is_exact:
            return {name: _copy(member) for name, member in told.items()}
        return {name: _shaped(members[name], member, False) for name, member in told.items()}
    if shape.type_name == "list":
        return [_shaped(shape.member, member, False) for member in value]
    if shape.type_name == "timestamp":
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)  # the wire carries milliseconds
    return str(getattr(value, "value", value)) if shape.type_name == "string" else value


def _copy(value: Any) -> Any:
    """What is not shared with anybody, as after a way over the wire."""
    if isinstance(value, dict):
        return {key: _copy(member) for key, member in value.items() if member is not None}
    return [_copy(member) for member in value] if isinstance(value, list | tuple) else value
