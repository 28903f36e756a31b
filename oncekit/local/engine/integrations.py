"""Service calls of a Task, with names, shapes and errors as on AWS.

Parameters and answers of the `aws-sdk` integrations are in PascalCase, whatever the service itself uses; a blob is
JSON text, a point in time ISO 8601. The name of an error is made of the service and the exception of AWS's SDK:

    optimised   DynamoDB.ConditionalCheckFailedException, Lambda.TooManyRequestsException
    aws-sdk     Sfn.ExecutionDoesNotExistException, S3.NoSuchKeyException; for a code without a class S3.S3Exception
    function    the class of its exception; Lambda.Unknown when it was killed
    not run     NeedsAttention, which AWS never says: the local cloud does not run the function, and a person is told
    no answer   DynamoDB.AmazonDynamoDBException, Lambda.SdkClientException, Sfn.SdkClientException
    refused     optimised: Lambda.AWSLambdaException (reported in awslabs/aws-deployment-framework#460)
    unnamed     optimised: DynamoDB.AmazonDynamoDBException (recorded of a ValidationException)
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore import xform_name
from botocore.exceptions import ClientError, UnknownServiceError

from oncekit.asl.errors import RUNTIME, TIMEOUT, StateError
from oncekit.asl.running import is_function
from oncekit.asl.sizes import text_of
from oncekit.asl.states import Call
from oncekit.local.client_errors import FunctionNotRun
from oncekit.local.engine.service_calls import ServiceCalls, Where

BOTO_NAMES = {"sfn": "stepfunctions", "states": "stepfunctions", "eventbridge": "events", "cloudwatchlogs": "logs"}
_OF_INVOKE = ("FunctionName", "Payload", "Qualifier", "InvocationType", "ClientContext", "LogType")
NOT_RUN = "NeedsAttention"
_NO_PERMISSION = ("AccessDenied", "AccessDeniedException")


@dataclass(frozen=True)
class Optimised:
    """An integration of its own: the prefix of its errors, the service's name in causes, and what has no answer."""

    prefix: str
    sdk: str
    actions: tuple[str, ...]
    unanswered: str = "SdkClientException"

    @property
    def unnamed(self) -> str:
        """The exception of an error that has none of its own, or of a call that was not allowed."""
        return f"{self.sdk.removesuffix('v2')}Exception"


OPTIMISED = {
    "lambda": Optimised("Lambda", "AWSLambda", ("invoke",)),
    "dynamodb": Optimised(
        "DynamoDB",
        "AmazonDynamoDBv2",
        ("getItem", "putItem", "updateItem", "deleteItem"),
        unanswered="AmazonDynamoDBException",
    ),
    "states": Optimised("StepFunctions", "AWSStepFunctions", ("startExecution",)),
    "sqs": Optimised("SQS", "AmazonSQS", ("sendMessage",)),
    "sns": Optimised("SNS", "AmazonSNS", ("publish",)),
    "events": Optimised("EventBridge", "AmazonEventBridge", ("putEvents",)),
}


def perform(calls: ServiceCalls, where: Where, call: Call) -> Any:
    """The answer of a Task's resource. Raises StateError."""
    try:
        if is_function(call.resource):
            name, given = call.resource, call.arguments
            answer = calls.call(where, "lambda", "invoke", {"FunctionName": name, "Payload": _event(given)})
            return _payload(answer)
        service, _, action = call.resource.rpartition(":::")[2].rpartition(":")
        if service == "lambda" and action == "invoke":
            return _invoked(calls, where, call)
        return _Integration(calls, service, action).perform(where, call.arguments)
    except TimeoutError:
        raise StateError(TIMEOUT) from None


# ---- functions ----


def _invoked(calls: ServiceCalls, where: Where, call: Call) -> dict[str, Any]:
    given = _named(call.arguments, dict.fromkeys(_OF_INVOKE, ""))
    given["Payload"] = _event(given.get("Payload", {}))
    try:
        answer = calls.call(where, "lambda", "invoke", given)
    except FunctionNotRun as error:
        raise StateError(NOT_RUN, text_of({"errorType": NOT_RUN, "errorMessage": error.what})) from error
    except ClientError as error:
        raise _optimised_error(calls, "lambda", error) from error
    except (StateError, TimeoutError):
        raise
    except Exception as error:  # whatever a connection that breaks raises
        raise StateError("Lambda.SdkClientException", str(error)) from error
    payload = _payload(answer)
    return {
        **{name: answer[name] for name in ("ExecutedVersion", "StatusCode") if name in answer},
        "Payload": payload,
        **_sdk_metadata(answer),
    }


def _event(value: Any) -> bytes:
    """What a function is sent: half a surrogate pair, which UTF-8 does not have, as an escape."""
    return json.dumps(value, separators=(",", ":")).encode()


def _payload(answer: Mapping[str, Any]) -> Any:
    """What a function returned. Raises StateError by the class of its exception; one that was killed tells none."""
    text = answer["Payload"].read().decode("utf-8", "surrogatepass")
    if "FunctionError" not in answer:
        return json.loads(text) if text else {}
    try:
        error = json.loads(text)["errorType"]
    except (ValueError, KeyError, TypeError):
        unknown = "The cause could not be determined because Lambda did not return an error type. Returned payload: "
        raise StateError("Lambda.Unknown", unknown + text) from None
    raise StateError(error, text)


# ---- other services ----


class _Integration:
    """`dynamodb` and `putItem`, or `aws-sdk:s3` and `getObject`."""

    def __init__(self, calls: ServiceCalls, service: str, action: str) -> None:
        self._calls = calls
        self._is_sdk = service.startswith("aws-sdk:")
        self._name = service.removeprefix("aws-sdk:")
        self._service = BOTO_NAMES.get(self._name.lower(), self._name)
        self._method = xform_name(action)
        is_known = self._is_sdk or (self._name in OPTIMISED and action in OPTIMISED[self._name].actions)
        if not is_known or self._service == "lambda":
            raise StateError(RUNTIME, f"the local cloud does not run the integration {service}:{action}")
        try:
            self._client = calls.direct(self._service)
        except UnknownServiceError:
            raise StateError(
                RUNTIME, f"the local cloud knows no service {self._name}: {service}:{action} is not run"
            ) from None
        if self._method not in self._client.meta.method_to_api_mapping:
            raise StateError(RUNTIME, f"the service {self._name} has no action {action}: {service}:{action} is not run")

    def perform(self, where: Where, arguments: Any) -> Any:
        operation = self._model.operation_model(self._client.meta.method_to_api_mapping[self._method])
        given = _to_boto(arguments, operation.input_shape)
        try:
            answer = self._calls.call(where, self._service, self._method, given)
        except ClientError as error:
            if not self._is_sdk:
                raise _optimised_error(self._calls, self._name, error) from error
            name = sdk_exception(self._prefix, error.response["Error"]["Code"], self._model)
            raise StateError(f"{self._prefix}.{name}", cause_of(error, self._prefix)) from error
        except (StateError, TimeoutError):
            raise
        except Exception as error:  # whatever a connection that breaks raises
            unanswered = "SdkClientException" if self._is_sdk else OPTIMISED[self._name].unanswered
            raise StateError(f"{self._prefix}.{unanswered}", str(error)) from error
        result = _from_boto(
            {name: each for name, each in answer.items() if name != "ResponseMetadata"}, operation.output_shape
        )
        if self._is_sdk:
            return result
        if self._service == "events" and result.get("FailedEntryCount"):
            raise StateError("EventBridge.FailedEntry", text_of(result))
        return {**result, **_sdk_metadata(answer)}

    @property
    def _model(self) -> Any:
        return self._client.meta.service_model

    @property
    def _prefix(self) -> str:
        return java_name(self._model.service_id) if self._is_sdk else OPTIMISED[self._name].prefix


_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def java_name(name: str) -> str:
    """As AWS's SDK for Java writes a name of its models: `Secrets Manager`, `SFN` and `KMSInvalidState` as
    SecretsManager, Sfn and KmsInvalidState.
    """
    return "".join(word[:1].upper() + word[1:].lower() for word in _WORD.findall(name))


def sdk_exception(service: str, code: str, model: Any) -> str:
    """The class of AWS's SDK for an error code; the service's general one for a code without a class."""
    name = _classes(model).get(code, service).removesuffix("Exception").removesuffix("Fault")
    return f"{java_name(name)}Exception"


def _classes(model: Any) -> dict[str, str]:
    shapes = {shape.error_code: shape.name for shape in model.error_shapes}
    return shapes | {shape.name: shape.name for shape in model.error_shapes}


def _optimised_error(calls: ServiceCalls, service: str, error: ClientError) -> StateError:
    own = OPTIMISED[service]
    code = error.response["Error"]["Code"].rpartition(".")[2]
    name = _classes(calls.direct(BOTO_NAMES.get(service, service)).meta.service_model).get(code)
    name = own.unnamed if name is None or code in _NO_PERMISSION else f"{name.removesuffix('Exception')}Exception"
    return StateError(f"{own.prefix}.{name}", cause_of(error, own.sdk))


def cause_of(error: ClientError, service: str) -> str:
    """A service's error message, much as Step Functions passes it on."""
    said, status = error.response["Error"], error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    return f"{said.get('Message', '')} (Service: {service}; Status Code: {status}; Error Code: {said['Code']})"


def _sdk_metadata(answer: Mapping[str, Any]) -> dict[str, Any]:
    told = answer.get("ResponseMetadata", {})
    headers = told.get("HTTPHeaders", {})
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [value] for name, value in headers.items()},
            "HttpHeaders": dict(headers),
            "HttpStatusCode": told.get("HTTPStatusCode", 200),
        },
        "SdkResponseMetadata": {"RequestId": told.get("RequestId", "local")},
    }


def _to_boto(value: Any, shape: Any) -> Any:
    """Arguments as boto3 takes them: members by their names there, other values as text where text is wanted."""
    kind = None if shape is None else shape.type_name
    if kind == "structure" and isinstance(value, dict):
        given = _named(value, {_pascal(name): name for name in shape.members})
        return {name: _to_boto(each, shape.members[name]) for name, each in given.items()}
    if kind == "list" and isinstance(value, list):
        return [_to_boto(each, shape.member) for each in value]
    if kind == "map" and isinstance(value, dict):
        return {name: _to_boto(each, shape.value) for name, each in value.items()}
    if kind == "blob":
        return text_of(value).encode("utf-8", "surrogatepass")
    if kind == "string" and isinstance(value, dict | list):
        return text_of(value)
    if kind == "string" and not isinstance(value, str):
        raise _unusable(f"The value {text_of(value)} must be a STRING")
    return value


def _pascal(name: str) -> str:
    return name[:1].upper() + name[1:]


def _named(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Members by their names in boto3, where there is another one. Raises StateError for what AWS does not take."""
    if unknown := [name for name in value if name not in names]:
        raise _unusable(", ".join(f'The field "{name}" is not supported by Step Functions' for name in unknown))
    return {names[name] or name: each for name, each in value.items()}


def _unusable(why: str) -> StateError:
    return StateError(RUNTIME, f"The Arguments could not be used to start the Task: [{why}]")


def _from_boto(value: Any, shape: Any) -> Any:
    """An answer as JSON in PascalCase."""
    kind = None if shape is None else shape.type_name
    if kind == "structure" and isinstance(value, dict):
        return {_pascal(name): _from_boto(each, shape.members.get(name)) for name, each in value.items()}
    if kind == "list" and isinstance(value, list):
        return [_from_boto(each, shape.member) for each in value]
    if kind == "map" and isinstance(value, dict):
        return {name: _from_boto(each, shape.value) for name, each in value.items()}
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if hasattr(value, "read"):
        value = value.read()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
