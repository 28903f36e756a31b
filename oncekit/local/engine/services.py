"""Service calls of the interpreter: by `service_calls`, with names, shapes and errors as on AWS.

Parameters and answers of the `aws-sdk` integrations are in PascalCase, whatever the service itself uses; a blob is
JSON text, a point in time ISO 8601. The name of an error is made of the service and the exception of AWS's SDK:

    optimised   DynamoDB.ConditionalCheckFailedException, Lambda.TooManyRequestsException
    aws-sdk     Sfn.ExecutionDoesNotExistException, S3.NoSuchKeyException; for a code without a class S3.S3Exception
    function    the class of its exception; Lambda.Unknown when it was killed
    no answer   DynamoDB.AmazonDynamoDBException, Lambda.SdkClientException, Sfn.SdkClientException
    refused     optimised: Lambda.AWSLambdaException (reported in awslabs/aws-deployment-framework#460)
"""

from __future__ import annotations

import datetime
import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

import moto.stepfunctions.parser.asl.component.state.exec as integrations
from botocore.exceptions import ClientError
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_aws_sdk import (
    StateTaskServiceAwsSdk,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_dynamodb import (
    StateTaskServiceDynamoDB,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_lambda import (
    StateTaskServiceLambda,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_sfn import (
    StateTaskServiceSfn,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from oncekit.local.engine.limits import failed, text_of
from oncekit.local.engine.service_calls import BrokenState, ServiceCalls
from oncekit.local.patching import Change

SDK_NAMES = {"dynamodb": "DynamoDb", "eventbridge": "EventBridge", "cloudwatch": "CloudWatch"}
"""Where a name in an error is not just the service's with a capital letter."""


def sdk_name(api_name: str) -> str:
    return SDK_NAMES.get(api_name.lower(), api_name[:1].upper() + api_name[1:])


def sdk_exception(service: str, code: str, model: Any) -> str:
    """The class of AWS's SDK for an error code; the service's general one for a code without a class."""
    shapes = {shape.error_code: shape.name for shape in model.error_shapes}
    shapes |= {shape.name: shape.name for shape in model.error_shapes}
    name = shapes.get(code, service).removesuffix("Exception").removesuffix("Fault")
    return f"{name}Exception"


def cause_of(error: ClientError, service: str) -> str:
    """A service's error message, much as Step Functions passes it on."""
    said, status = error.response["Error"], error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    return f"{said.get('Message', '')} (Service: {service}; Status Code: {status}; Error Code: {said['Code']})"


def _failed(task: Any, env: Any, error: str, cause: str) -> FailureEvent:
    details = TaskFailedEventDetails(
        resource=task._get_sfn_resource(), resourceType=task._get_sfn_resource_type(), error=error, cause=cause
    )
    return FailureEvent(
        env=env,
        error_name=CustomErrorName(error),
        event_type=HistoryEventType.TaskFailed,
        event_details=EventDetails(taskFailedEventDetails=details),
    )


def _plain(value: Any) -> Any:
    """A response as JSON: instants as text."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def _calls_through(service_calls: ServiceCalls) -> Iterator[Change]:
    def boto_client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        return service_calls.client(service)

    for found in pkgutil.walk_packages(integrations.__path__, integrations.__name__ + "."):
        module = importlib.import_module(found.name)
        if "boto_client_for" in vars(module):
            yield module, "boto_client_for", boto_client_for


def _common(task: Any, env: Any, error: Exception) -> FailureEvent | None:
    """What is the same for every service: a failure that has its name already, and the state's timeout."""
    if isinstance(error, FailureEventException):
        return error.failure_event  # type: ignore[no-any-return]  # moto is untyped here
    if isinstance(error, BrokenState):
        return failed(env, StatesErrorNameType.StatesRuntime, str(error)).failure_event  # type: ignore[no-any-return]
    return task._get_timed_out_failure_event(env) if isinstance(error, TimeoutError) else None


_NO_PERMISSION = ("AccessDenied", "AccessDeniedException")


def _optimised(prefix: str, sdk_service: str, unanswered: str) -> Any:
    def from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if (failure := _common(self, env, ex)) is not None:
            return failure
        if not isinstance(ex, ClientError):
            return _failed(self, env, f"{prefix}.{unanswered}", str(ex))
        code = ex.response["Error"]["Code"].rpartition(".")[2]
        name = code if code.endswith("Exception") else f"{code}Exception"
        if code in _NO_PERMISSION:
            name = f"{sdk_service.removesuffix('v2')}Exception"
        return _failed(self, env, f"{prefix}.{name}", cause_of(ex, sdk_service))

    return from_error


def _function_failed(self: Any, env: Any, ex: Any) -> FailureEvent:
    """By the class of the function's exception; a function that was killed tells none."""
    try:
        error = json.loads(ex.payload)["errorType"]
    except (ValueError, KeyError, TypeError):
        unknown = "The cause could not be determined because Lambda did not return an error type. Returned payload: "
        return _failed(self, env, "Lambda.Unknown", unknown + ex.payload)
    return _failed(self, env, error, ex.payload)


def changes(service_calls: ServiceCalls) -> list[Change]:
    def model_of(task: Any) -> Any:
        return service_calls.direct(task._get_boto_service_name()).meta.service_model

    def operation(task: Any) -> Any:
        methods = service_calls.direct(task._get_boto_service_name()).meta.method_to_api_mapping
        return model_of(task).operation_model(methods[task._get_boto_service_action()])

    def sdk_parameters(self: Any, parameters: dict[str, Any], *_: Any) -> None:
        self._to_boto_request(parameters, operation(self).input_shape)

    def sdk_response(self: Any, response: Any, *_: Any) -> None:
        shape = operation(self).output_shape
        if shape is not None:
            self._from_boto_response(response, shape)
        plain = _plain(response)
        response.clear()
        response.update(plain)

    def to_boto_value(self: Any, value: Any, shape: Any) -> Any:
        if shape.type_name == "blob" and not isinstance(value, bytes):
            return text_of(value).encode("utf-8", "surrogatepass")
        if shape.type_name == "string" and not isinstance(value, str):
            return text_of(value)
        return to_boto_request_value(self, value, shape)

    def sdk_from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if (failure := _common(self, env, ex)) is not None:
            return failure
        service = sdk_name(self.resource.api_name)
        if not isinstance(ex, ClientError):
            return _failed(self, env, f"{service}.SdkClientException", str(ex))
        name = sdk_exception(service, ex.response["Error"]["Code"], model_of(self))
        return _failed(self, env, f"{service}.{name}", cause_of(ex, service))

    lambda_client_error = _optimised("Lambda", "AWSLambda", "SdkClientException")

    def lambda_from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        failed = isinstance(ex, lambda_eval_utils.LambdaFunctionErrorException)
        failure: FailureEvent = (_function_failed if failed else lambda_client_error)(self, env, ex)
        return failure

    def arguments(self: Any, env: Any) -> Any:
        """What a call is sent is limited as what it answers is."""
        given = arguments_of(self, env=env)
        self._verify_size_quota(env=env, value=given)
        return given

    arguments_of = StateTaskService._eval_parameters
    to_boto_request_value = StateTaskService._to_boto_request_value
    return [
        *_calls_through(service_calls),
        (StateTaskService, "_eval_parameters", arguments),
        (StateTaskService, "_to_boto_request_value", to_boto_value),
        (StateTaskServiceAwsSdk, "_normalise_parameters", sdk_parameters),
        (StateTaskServiceAwsSdk, "_normalise_response", sdk_response),
        (StateTaskServiceAwsSdk, "_from_error", sdk_from_error),
        (StateTaskServiceLambda, "_from_error", lambda_from_error),
        (StateTaskServiceSfn, "_normalise_parameters", sdk_parameters),
        (StateTaskServiceSfn, "_normalise_response", sdk_response),
        (StateTaskServiceSfn, "_from_error", _optimised("StepFunctions", "AWSStepFunctions", "SdkClientException")),
        (
            StateTaskServiceDynamoDB,
            "_from_error",
            _optimised("DynamoDB", "AmazonDynamoDBv2", "AmazonDynamoDBException"),
        ),
    ]
