"""By type of resource: how its names are made, whether moto creates it, or whether it only gets a name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oncekit.local.account import ACCOUNT, REGION

STACK = "once"
"""The name of the stack that a template is deployed as: AWS::StackName, and the beginning of the names made here."""


@dataclass(frozen=True)
class Deployed:
    """A resource: its Ref, its attributes and its properties. If its condition is false, it has no `ref`."""

    type: str
    properties: Mapping[str, Any]
    ref: str
    attributes: Callable[[str], str]
    is_run: bool = True
    """False for what is only named, because the local cloud does not know its type, or because of what `why` says."""
    why: str = ""


@dataclass(frozen=True)
class Named:
    """What Ref and GetAtt give for a resource of which only the name counts; filled with its string properties."""

    ref: str
    attributes: Mapping[str, str]


def _with_arn(rest: str, **more: str) -> Named:
    """Of a resource in this region and account, whose ARN ends so."""
    service, _, place = rest.partition(":")
    return Named("{name}", {"Arn": f"arn:aws:{service}:{{region}}:{{account}}:{place}", **more})


_NAME_ONLY = (
    *("AWS::CloudWatch::Dashboard", "AWS::Logs::MetricFilter", "AWS::Logs::QueryDefinition"),
    *("AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::SQS::QueuePolicy", "AWS::SNS::Subscription"),
    *("AWS::Lambda::Permission", "AWS::Lambda::EventInvokeConfig", "AWS::Events::EventBusPolicy"),
    *("AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup"),
)
_WITH_END = "arn:aws:secretsmanager:{region}:{account}:secret:{name}-once00"
"""AWS adds a hyphen and six characters to the name in an ARN."""
NAMED = {
    **dict.fromkeys(_NAME_ONLY, Named("{name}", {})),
    "AWS::CloudWatch::Alarm": _with_arn("cloudwatch:alarm:{name}"),
    "AWS::IAM::Role": Named("{name}", {"Arn": "arn:aws:iam::{account}:role/{name}", "RoleId": "AROALOCAL"}),
    "AWS::IAM::ManagedPolicy": Named("arn:aws:iam::{account}:policy/{name}", {}),
    "AWS::Logs::LogGroup": _with_arn("logs:log-group:{name}:*"),
    "AWS::S3::BucketPolicy": Named("{Bucket}", {}),
    "AWS::Lambda::LayerVersion": Named("arn:aws:lambda:{region}:{account}:layer:{name}:1", {}),
    "AWS::Lambda::Version": Named("arn:aws:lambda:{region}:{account}:function:{FunctionName}:1", {"Version": "1"}),
    "AWS::Lambda::Alias": Named("arn:aws:lambda:{region}:{account}:function:{FunctionName}:{Name}", {}),
    "AWS::Lambda::EventSourceMapping": Named("{name}", {"Id": "{name}"}),
    "AWS::Events::EventBus": _with_arn("events:event-bus/{name}", Name="{name}"),
    "AWS::Events::Rule": _with_arn("events:rule/{bus}{name}"),
    "AWS::Scheduler::Schedule": _with_arn("scheduler:schedule/default/{name}"),
    "AWS::Scheduler::ScheduleGroup": _with_arn("scheduler:schedule-group/{name}"),
    "AWS::Pipes::Pipe": _with_arn("pipes:pipe/{name}"),
    "AWS::SecretsManager::Secret": Named(_WITH_END, {"Id": _WITH_END}),
    "AWS::SSM::Parameter": Named("{name}", {"Type": "{Type}", "Value": "{Value}"}),
    "AWS::ApiGateway::RestApi": Named("{name}", {"RestApiId": "{name}", "RootResourceId": "root"}),
    "AWS::ApiGateway::Deployment": Named("{name}", {"DeploymentId": "{name}"}),
    "AWS::ApiGateway::Stage": Named("{StageName}", {}),
    "AWS::ApiGatewayV2::Api": Named(
        "{name}", {"ApiId": "{name}", "ApiEndpoint": "https://{name}.execute-api.{region}.amazonaws.com"}
    ),
    "AWS::ApiGatewayV2::Stage": Named("{StageName}", {}),
    "AWS::StepFunctions::StateMachineVersion": Named("{StateMachineArn}:1", {"Arn": "{StateMachineArn}:1"}),
    "AWS::StepFunctions::StateMachineAlias": Named("{machine}:{Name}", {"Arn": "{machine}:{Name}"}),
}

# moto's own table of these imports every service it has: a third of a second for three classes.
MADE_HERE = {
    "AWS::DynamoDB::Table": ("moto.dynamodb.models.table", "Table"),
    "AWS::S3::Bucket": ("moto.s3.models", "FakeBucket"),
    "AWS::SQS::Queue": ("moto.sqs.models", "Queue"),
    "AWS::SNS::Topic": ("moto.sns.models", "Topic"),
}
NAME_PROPERTY = {
    "AWS::DynamoDB::Table": "TableName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Events::Rule": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::Events::EventBus": "Name",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::Pipes::Pipe": "Name",
    **dict.fromkeys(("AWS::SecretsManager::Secret", "AWS::SSM::Parameter"), "Name"),
}


_FIFO = ".fifo"
"""The end of the name of a FIFO queue or topic, one that CloudFormation makes included."""
_LONGEST_OF_A_QUEUE = 80 - len(_FIFO)


def physical_name(kind: str, logical_id: str, properties: Mapping[str, Any]) -> str:
    """The name of a resource that the template does not name."""
    name = f"{STACK}-{logical_id}"
    if any(str(properties.get(each)).lower() == "true" for each in ("FifoQueue", "FifoTopic")):
        return f"{name[:_LONGEST_OF_A_QUEUE]}{_FIFO}"
    return name.lower() if kind == "AWS::S3::Bucket" else name


def stand_in(kind: str, logical_id: str, attribute: str) -> str:
    """What stands for an attribute that nobody here knows: templates take ARNs and URLs apart."""
    if attribute.endswith("Arn"):
        service = (kind.split("::")[1:2] or ["elsewhere"])[0].lower()
        return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{logical_id}"
    if attribute.lower().endswith(("url", "uri")):
        return f"https://{logical_id.lower()}.example.com/"
    if attribute == "DnsEntries":  # of an endpoint in a VPC: the zone and the name
        return f"Z00:{logical_id.lower()}.example.com"
    return f"{logical_id}.{attribute}"


def moto_model(kind: str) -> Any:
    """The class that moto creates a resource by; None where it has none."""
    if kind in MADE_HERE:
        module, name = MADE_HERE[kind]
        return getattr(importlib.import_module(module), name)
    from moto.cloudformation.parsing import get_model_map

    return get_model_map().get(kind)
