"""The shapes of the properties that the local cloud itself reads, by type of resource; moto checks those that it reads.

A shape is an object of shapes, of which those with `!` must be there; a list of one shape; or one of the names below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.local.intrinsics import TemplateError

TEXT = "a text"
NUMBER = "a number"
ARN = "an ARN"
OBJECT: dict[str, Any] = {}

_STATEMENT = {"Effect!": TEXT, "Condition": OBJECT}
_DOCUMENT = {"Statement": [_STATEMENT]}
_POLICY = {"PolicyDocument!": _DOCUMENT, "Roles": [TEXT], "RoleName": TEXT}
_RETRIES = {"MaximumRetryAttempts": NUMBER, "MaximumEventAgeInSeconds": NUMBER}
_TARGET = {
    "Arn!": TEXT,
    "InputTransformer": {"InputTemplate!": TEXT, "InputPathsMap": OBJECT},
    "RetryPolicy": _RETRIES,
    "DeadLetterConfig": {"Arn": TEXT},
}
_QUEUE_SOURCE = {
    "FilterCriteria": {"Filters": [{"Pattern!": TEXT}]},
    "SqsQueueParameters": {"BatchSize": NUMBER},
}
_MACHINE_TARGET = {"StepFunctionStateMachineParameters": {"InvocationType": TEXT}, "InputTemplate": TEXT}
_THROTTLING = {"ThrottlingRateLimit": NUMBER, "ThrottlingBurstLimit": NUMBER}
_LIFECYCLE = {
    "Status!": TEXT,
    "ExpirationInDays": NUMBER,
    "AbortIncompleteMultipartUpload": {"DaysAfterInitiation!": NUMBER},
}

SHAPES: Mapping[str, Mapping[str, Any]] = {
    "AWS::ApiGateway::RestApi": {"Body": {"paths": OBJECT}},
    "AWS::ApiGateway::Stage": {"RestApiId!": TEXT, "StageName": TEXT, "MethodSettings": [_THROTTLING]},
    "AWS::CloudFormation::Stack": {"TemplateURL!": TEXT, "Parameters": OBJECT},
    "AWS::DynamoDB::Table": {
        "TableName": TEXT,
        "KeySchema!": [{"AttributeName!": TEXT, "KeyType!": TEXT}],
        "AttributeDefinitions!": [{"AttributeName!": TEXT, "AttributeType!": TEXT}],
    },
    "AWS::Events::Rule": {"EventPattern": OBJECT, "EventBusName": TEXT, "Targets": [_TARGET]},
    "AWS::IAM::ManagedPolicy": _POLICY,
    "AWS::IAM::Policy": _POLICY,
    "AWS::IAM::Role": {"Policies": [{"PolicyDocument!": _DOCUMENT}], "ManagedPolicyArns": [TEXT]},
    "AWS::IAM::RolePolicy": _POLICY,
    "AWS::Lambda::Alias": {"FunctionName!": TEXT, "Name!": TEXT},
    "AWS::Lambda::Function": {
        "FunctionName": TEXT,
        "Code!": {"S3Key": TEXT},
        "Handler!": TEXT,
        "Timeout": NUMBER,
        "MemorySize": NUMBER,
        "ReservedConcurrentExecutions": NUMBER,
        "Environment": {"Variables": OBJECT},
        "Layers": [TEXT],
        "Role": TEXT,
    },
    "AWS::Lambda::LayerVersion": {"Content!": {"S3Key!": TEXT}},
    "AWS::Lambda::Version": {"FunctionName!": TEXT},
    "AWS::Pipes::Pipe": {
        "Source!": ARN,
        "SourceParameters": _QUEUE_SOURCE,
        "Target!": ARN,
        "TargetParameters": _MACHINE_TARGET,
    },
    "AWS::S3::Bucket": {"BucketName": TEXT, "LifecycleConfiguration": {"Rules": [_LIFECYCLE]}},
    "AWS::S3::BucketPolicy": {"Bucket!": TEXT, "PolicyDocument!": _DOCUMENT},
    "AWS::Scheduler::Schedule": {"ScheduleExpression!": TEXT, "Target!": _TARGET},
    "AWS::StepFunctions::StateMachine": {
        "StateMachineName": TEXT,
        "DefinitionS3Location": {"Key!": TEXT},
        "DefinitionSubstitutions": OBJECT,
    },
    "AWS::StepFunctions::StateMachineAlias": {"Name!": TEXT, "DeploymentPreference": OBJECT},
    "AWS::StepFunctions::StateMachineVersion": {"StateMachineArn!": TEXT},
}


def check_properties(logical_id: str, kind: str, properties: Mapping[str, Any]) -> None:
    """The properties as they are resolved. Raises TemplateError, which names the resource and the property."""
    for problem in _problems(properties, SHAPES.get(kind, OBJECT), ""):
        raise TemplateError(f"{logical_id} ({kind}): {problem}")


def _problems(value: Any, shape: Any, place: str) -> Iterator[str]:
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            yield f"{place} is {value!r}, but must be an object"
            return
        for marked, inner in shape.items():
            name = marked.removesuffix("!")
            within = f"{place}/{name}" if place else name
            if name in value:
                yield from _problems(value[name], inner, within)
            elif name != marked:
                yield f"{within} is missing"
    elif isinstance(shape, list):
        one_is_enough = shape[0] is _STATEMENT and isinstance(value, dict)
        if not isinstance(value, list) and not one_is_enough:
            yield f"{place} is {value!r}, but must be a list"
            return
        for number, each in enumerate([value] if one_is_enough else value):
            yield from _problems(each, shape[0], f"{place}/{number}")
    elif not _is(value, shape):
        yield f"{place} is {value!r}, but must be {shape}"


def _is(value: Any, shape: str) -> bool:
    if shape == NUMBER:
        try:
            return float(value) >= 0
        except (TypeError, ValueError):
            return False
    if shape == ARN:
        return isinstance(value, str) and value.count(":") >= 5
    return isinstance(value, str)
