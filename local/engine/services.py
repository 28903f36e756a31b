"""Service calls of the interpreter: through the door, with names, shapes and errors as AWS has them.

AWS takes parameters in PascalCase for every integration and answers in PascalCase; moto does so for a few only.
`States.ALL` does not match `States.DataLimitExceeded` and `States.Runtime`.
"""

from __future__ import annotations

import datetime
import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import moto.stepfunctions.parser.asl.component.state.exec as integrations
from botocore.exceptions import ClientError
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.error_equals_decl import ErrorEqualsDecl
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_aws_sdk import (
    StateTaskServiceAwsSdk,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_lambda import (
    StateTaskServiceLambda,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_sqs import (
    StateTaskServiceSqs,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from local.engine.door import Door
from local.engine.patching import replaced
from local.engine.timing import stopped

NOT_MATCHED_BY_ALL = {"States.DataLimitExceeded", "States.Runtime"}


def _plain(value: Any) -> Any:
    """A response as JSON: instants as text."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def _operation(task: Any, door: Door) -> Any:
    client = door.direct(task._get_boto_service_name())
    return client.meta.service_model.operation_model(client.meta.method_to_api_mapping[task._get_boto_service_action()])


def _sdk_error(task: Any, env: Any, error: str, cause: str) -> FailureEvent:
    details = TaskFailedEventDetails(
        resource=task._get_sfn_resource(), resourceType=task._get_sfn_resource_type(), error=error, cause=cause
    )
    return FailureEvent(
        env=env,
        error_name=CustomErrorName(error),
        event_type=HistoryEventType.TaskFailed,
        event_details=EventDetails(taskFailedEventDetails=details),
    )


@contextmanager
def _calls_through(door: Door) -> Iterator[None]:
    def boto_client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        return door.client(service)

    with ExitStack() as stack:
        for found in pkgutil.walk_packages(integrations.__path__, integrations.__name__ + "."):
            module = importlib.import_module(found.name)
            if "boto_client_for" in vars(module):
                stack.enter_context(replaced((module, "boto_client_for", boto_client_for)))
        yield


@contextmanager
def mend(door: Door) -> Iterator[None]:
    execute = StateTaskService._eval_execution
    matches = ErrorEqualsDecl._eval_body

    def eval_execution(self: Any, env: Any) -> None:
        """The door learns who calls: this runs in the thread that makes the call."""
        context = env.states.context_object.context_object_data
        door.context.state = context["State"]["Name"]
        door.context.attempt = context["State"].get("RetryCount", 0)
        door.context.execution_arn = context["Execution"]["Id"]
        execute(self, env)

    def evaluate_with_timeout(self: Any, env: Any) -> None:
        """In the execution's own thread; only a function takes real time, and the door waits for it."""
        self.timeout.eval(env=env)
        door.context.timeout = env.stack.pop()
        door.context.stopped = stopped(env)
        self._eval_execution(env)
        env.states.set_result(env.stack[-1])
        if self.assign_decl:
            self.assign_decl.eval(env=env)
        if self.result_selector:
            self.result_selector.eval(env=env)
        if self.result_path:
            self.result_path.eval(env)
        else:
            env.states.reset(input_value=env.stack.pop())

    def sdk_parameters(self: Any, parameters: dict[str, Any], *_: Any) -> None:
        shape = _operation(self, door).input_shape
        self._to_boto_request(parameters, shape)

    def sdk_response(self: Any, response: Any, *_: Any) -> None:
        shape = _operation(self, door).output_shape
        if shape is not None:
            self._from_boto_response(response, shape)
        plain = _plain(response)
        response.clear()
        response.update(plain)

    def sdk_from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if isinstance(ex, FailureEventException):
            return ex.failure_event
        service = {"sfn": "Sfn", "s3": "S3", "dynamodb": "DynamoDb", "sqs": "Sqs"}.get(
            self.resource.api_name.lower(), "Sdk"
        )
        if isinstance(ex, ClientError):
            code = ex.response["Error"]["Code"]
            if service == "S3":
                code = {"NoSuchBucket": "NoSuchBucketException", "NoSuchKey": "NoSuchKeyException"}.get(
                    code, "S3Exception"
                )
            name = code if code.endswith("Exception") else code + "Exception"
            return _sdk_error(self, env, f"{service}.{name}", ex.response["Error"]["Message"])
        if isinstance(ex, TimeoutError) or type(ex).__name__ == "EvalTimeoutError":
            return self._get_timed_out_failure_event(env)  # type: ignore[no-any-return]
        return _sdk_error(self, env, f"{service}.SdkClientException", str(ex))

    def client_error_or(prefix: str, unknown: str) -> Any:
        def from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
            if isinstance(ex, TimeoutError) or type(ex).__name__ == "EvalTimeoutError":
                return self._get_timed_out_failure_event(env)  # type: ignore[no-any-return]
            if isinstance(ex, FailureEventException):
                return ex.failure_event
            if isinstance(ex, ClientError):
                return _sdk_error(
                    self, env, f"{prefix}.{ex.response['Error']['Code']}", ex.response["Error"]["Message"]
                )
            return _sdk_error(self, env, f"{prefix}.{unknown}", str(ex))

        return from_error

    lambda_error = StateTaskServiceLambda._from_error

    def lambda_from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if type(ex).__name__ == "LambdaFunctionErrorException":
            return lambda_error(self, env, ex)
        return client_error_or("Lambda", "SdkClientException")(self, env, ex)  # type: ignore[no-any-return]

    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_dynamodb as ddb

    def error_matches(self: Any, env: Any) -> None:
        error = env.stack[-1]
        if error.error_name in NOT_MATCHED_BY_ALL and ErrorEqualsDecl._STATE_ALL_ERROR in self.error_names:
            env.stack.pop()
            env.stack.append(False)
        else:
            matches(self, env)

    with (
        _calls_through(door),
        replaced(
            (StateTaskService, "_eval_execution", eval_execution),
            (ExecutionState, "_evaluate_with_timeout", evaluate_with_timeout),
            (ErrorEqualsDecl, "_eval_body", error_matches),
            (StateTaskServiceAwsSdk, "_normalise_parameters", sdk_parameters),
            (StateTaskServiceAwsSdk, "_normalise_response", sdk_response),
            (StateTaskServiceAwsSdk, "_from_error", sdk_from_error),
            (StateTaskServiceLambda, "_from_error", lambda_from_error),
            (StateTaskServiceSqs, "_from_error", client_error_or("SQS", "SdkClientException")),
            (ddb.StateTaskServiceDynamoDB, "_from_error", client_error_or("DynamoDB", "AmazonDynamoDBException")),
        ),
    ):
        yield
