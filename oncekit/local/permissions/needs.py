"""The permissions that a call needs: IAM actions, each with its resource.

An action has the name of the API operation, and the service name of the request's signature. Exceptions are in
`_ACTIONS` and in the rules of some services, as in AWS's Service Authorization Reference. For a service without a rule
the resource is the ARN among the parameters; if there is none, the resource is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from oncekit.local.account import ACCOUNT, REGION, function_arn, name_and_qualifier
from oncekit.local.endpoint.rest_requests import method_of

ANY = "*"
"""The resource of an action that has no resource on AWS: only a policy with `*` allows it."""


@dataclass(frozen=True)
class Need:
    """An action, as `dynamodb:PutItem`, on a resource."""

    action: str
    resource: str | None
    """ARN, or ANY; None if it is unknown."""
    context: tuple[tuple[str, str | None], ...] = ()
    """Condition keys with the call's values; None for a key that the call does not have."""


Parameters = Mapping[str, Any]

_PREFIXES = {"monitoring": "cloudwatch", "email": "ses", "iotdata": "iot"}
"""IAM's name of a service where it is not the one that requests are signed for."""

_WITHOUT_PERMISSION = {("sts", "GetCallerIdentity"), ("sts", "GetSessionToken")}

_ACTIONS = {
    # https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-control-access-iam.html
    ("execute-api", "PostToConnection"): "ManageConnections",
    ("execute-api", "GetConnection"): "ManageConnections",
    ("execute-api", "DeleteConnection"): "ManageConnections",
    ("s3", "HeadObject"): "GetObject",
    ("s3", "HeadBucket"): "ListBucket",
    ("s3", "ListObjects"): "ListBucket",
    ("s3", "ListObjectsV2"): "ListBucket",
    ("s3", "ListBuckets"): "ListAllMyBuckets",
    ("s3", "CreateMultipartUpload"): "PutObject",
    ("s3", "UploadPart"): "PutObject",
    ("s3", "CompleteMultipartUpload"): "PutObject",
    ("lambda", "Invoke"): "InvokeFunction",
    ("sns", "PublishBatch"): "Publish",
    ("sqs", "SendMessageBatch"): "SendMessage",
    ("sqs", "DeleteMessageBatch"): "DeleteMessage",
    ("sqs", "ChangeMessageVisibilityBatch"): "ChangeMessageVisibility",
}

_OF_NO_RESOURCE = {
    "cloudwatch:PutMetricData",
    "dynamodb:ListTables",
    "lambda:ListFunctions",
    "s3:ListAllMyBuckets",
    "sns:ListTopics",
    "sqs:ListQueues",
    "states:ListStateMachines",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}


def needed(service: str, operation: str, parameters: Parameters) -> tuple[Need, ...]:
    """What a call needs. `service` is what its request is signed for (`states`), `operation` the API's (`PutItem`)."""
    prefix = _PREFIXES.get(service, service)
    if (prefix, operation) in _WITHOUT_PERMISSION:
        return ()
    rule = _RULES.get(prefix, _of_any_service)
    return tuple(dict.fromkeys(rule(prefix, operation, parameters)))


def arn(service: str, rest: str) -> str:
    """The ARN of something in this account and region."""
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}"


def _of_any_service(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    action = f"{prefix}:{_ACTIONS.get((prefix, operation), operation)}"
    yield Need(action, ANY if action in _OF_NO_RESOURCE else _arn_among(prefix, parameters))


def _arn_among(prefix: str, parameters: Parameters) -> str | None:
    """In a parameter that names something, not in what is sent."""
    names = (value for key, value in parameters.items() if key.lower().endswith(("arn", "id", "identifier", "name")))
    return next((each for each in names if isinstance(each, str) and each.startswith(f"arn:aws:{prefix}:")), None)


# ---- DynamoDB ----

_OF_A_TRANSACTION = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


def _of_dynamodb(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    """A transaction needs what its items need; a batch has an action of its own; a query may be of an index."""
    if operation in ("TransactWriteItems", "TransactGetItems"):
        for item in parameters.get("TransactItems", []):
            for kind, inner in item.items():
                yield Need(f"dynamodb:{_OF_A_TRANSACTION[kind]}", _table(inner["TableName"]), _leading_key(inner))
    elif operation in ("BatchGetItem", "BatchWriteItem"):
        for table in parameters.get("RequestItems", {}):
            yield Need(f"dynamodb:{operation}", _table(table))
    elif "TableName" in parameters:
        table = _table(parameters["TableName"])
        index = parameters.get("IndexName")
        yield Need(f"dynamodb:{operation}", f"{table}/index/{index}" if index else table, _leading_key(parameters))
    else:
        yield from _of_any_service(prefix, operation, parameters)


def _leading_key(parameters: Parameters) -> tuple[tuple[str, str | None], ...]:
    """The partition key of a table that has no more than that; of another, only its definition tells which it is."""
    values = list(parameters.get("Key", {}).values())
    return (("dynamodb:LeadingKeys", next(iter(values[0].values()))),) if len(values) == 1 else ()


def _table(name: str) -> str:
    return name if name.startswith("arn:") else arn("dynamodb", f"table/{name}")


# ---- S3 ----


def _of_s3(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    """An operation on an object is about the object, any other about the bucket; a copy reads its source, too."""
    action = f"s3:{_ACTIONS.get((prefix, operation), operation)}"
    if "Bucket" not in parameters:
        yield Need(action, ANY if action in _OF_NO_RESOURCE else None)
        return
    bucket = str(parameters["Bucket"])
    bucket = bucket if bucket.startswith("arn:") else f"arn:aws:s3:::{bucket}"
    if operation == "DeleteObjects":
        for each in parameters["Delete"]["Objects"]:
            yield Need("s3:DeleteObject", f"{bucket}/{each['Key']}")
        return
    if source := parameters.get("CopySource"):
        where = source if isinstance(source, str) else f"{source['Bucket']}/{source['Key']}"
        yield Need("s3:GetObject", f"arn:aws:s3:::{where.partition('?')[0].lstrip('/')}")
    if operation in ("CopyObject", "UploadPartCopy"):
        action = "s3:PutObject"
    if action == "s3:PutObject":
        yield Need(action, f"{bucket}/{parameters['Key']}", _of_a_write(operation, parameters))
        return
    yield Need(action, f"{bucket}/{parameters['Key']}" if "Key" in parameters else bucket)


_PARTS = ("CreateMultipartUpload", "UploadPart", "UploadPartCopy")


def _of_a_write(operation: str, parameters: Parameters) -> tuple[tuple[str, str | None], ...]:
    """Whether it makes an object, and on which condition: the parts of a multipart upload take none."""
    given = {
        f"s3:{name}": parameters.get(key) for name, key in (("if-match", "IfMatch"), ("if-none-match", "IfNoneMatch"))
    }
    # S3 takes `*` and refuses any other value. moto takes any, and does not look at that of a copy, which overwrites.
    if given["s3:if-none-match"] != "*" or operation == "CopyObject":
        given["s3:if-none-match"] = None
    return (*given.items(), ("s3:ObjectCreationOperation", str(operation not in _PARTS).lower()))


# ---- queues, functions, state machines, events, metrics ----


def _of_sqs(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    if "QueueUrl" in parameters:
        account, name = urlsplit(str(parameters["QueueUrl"])).path.strip("/").split("/")[-2:]
        yield Need(f"sqs:{_ACTIONS.get((prefix, operation), operation)}", f"arn:aws:sqs:{REGION}:{account}:{name}")
    elif "QueueName" in parameters:
        yield Need(f"sqs:{operation}", arn("sqs", parameters["QueueName"]))
    else:
        yield from _of_any_service(prefix, operation, parameters)


def _of_ssm(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    """A name with a / at its beginning has no second one in the ARN: parameter/once/shop, not parameter//once/shop."""
    named = [parameters["Name"]] if "Name" in parameters else parameters.get("Names", [])
    for name in named:
        yield Need(f"ssm:{operation}", name if name.startswith("arn:") else arn("ssm", f"parameter/{name.lstrip('/')}"))
    if not named:
        yield from _of_any_service(prefix, operation, parameters)


def _of_lambda(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    if "FunctionName" not in parameters:
        yield from _of_any_service(prefix, operation, parameters)
        return
    named = str(parameters["FunctionName"])
    name, qualifier = name_and_qualifier(named, parameters.get("Qualifier"))
    resource = function_arn(name, qualifier)
    if named.startswith("arn:"):  # it may be another account's
        resource = ":".join([*named.split(":")[:6], *resource.split(":")[6:]])
    yield Need(f"lambda:{_ACTIONS.get((prefix, operation), operation)}", resource)


_MACHINE = re.compile(r"(arn:[^:]+:states:[^:]+:[^:]+:stateMachine:[^:]+):.+")


def _of_states(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    """AWS holds who starts by an alias or a version against the ARN of the state machine, never against the alias's."""
    for need in _of_any_service(prefix, operation, parameters):
        yield Need(need.action, _MACHINE.sub(r"\1", need.resource) if need.resource else None)


def _of_events(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    if operation != "PutEvents":
        yield from _of_any_service(prefix, operation, parameters)
        return
    for entry in parameters["Entries"]:
        bus = entry.get("EventBusName", "default")
        yield Need("events:PutEvents", bus if bus.startswith("arn:") else arn("events", f"event-bus/{bus}"))


def _of_apigateway(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    """Its actions are HTTP's methods:
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonapigatewaymanagement.html
    """
    yield Need(f"apigateway:{method_of(operation, 'apigateway', 'apigatewayv2') or operation}", None)


def _of_cloudwatch(prefix: str, operation: str, parameters: Parameters) -> Iterator[Need]:
    for need in _of_any_service(prefix, operation, parameters):
        namespace = parameters.get("Namespace") if operation == "PutMetricData" else None
        yield Need(need.action, need.resource, (("cloudwatch:namespace", namespace),) if namespace else ())


_RULES: Mapping[str, Callable[[str, str, Parameters], Iterator[Need]]] = {
    "apigateway": _of_apigateway,
    "cloudwatch": _of_cloudwatch,
    "dynamodb": _of_dynamodb,
    "events": _of_events,
    "lambda": _of_lambda,
    "s3": _of_s3,
    "sqs": _of_sqs,
    "ssm": _of_ssm,
    "states": _of_states,
}
