"""Makes the resources of a template in moto, and what moto drops: state machines that execute, substitutions, TTL, functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from local.definition import render_definition
from local.engine import Door
from local.lambda_runtime import FunctionSpec, LambdaRuntime
from local.template import Stack, TemplateError

Properties = dict[str, Any]

# Nothing here depends on these at run time: they watch, permit or connect, which the local cloud does by itself or not at all.
NOT_NEEDED_HERE = {
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Role",
    "AWS::Lambda::Alias",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::Logs::LogGroup",
    "AWS::Logs::QueryDefinition",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::QueuePolicy",
    "AWS::StepFunctions::StateMachineAlias",
    "AWS::StepFunctions::StateMachineVersion",
}


class Deployment:
    """Puts a stack into the local cloud, and puts it there again after a change."""

    def __init__(self, door: Door, functions: LambdaRuntime) -> None:
        self._door = door
        self._functions = functions
        self._makers: dict[str, Callable[[Stack, str, Properties], None]] = {
            "AWS::DynamoDB::Table": self._table,
            "AWS::S3::Bucket": self._bucket,
            "AWS::SQS::Queue": self._queue,
            "AWS::Lambda::Function": self._function,
            "AWS::StepFunctions::StateMachine": self._state_machine,
        }

    def deploy(self, stack: Stack) -> None:
        """Make everything that is not there yet; functions and state machines are replaced. Raises TemplateError."""
        for logical, resource in stack.resources.items():
            kind = resource["Type"]
            if kind in self._makers:
                self._makers[kind](stack, logical, resource["Properties"])
            elif kind not in NOT_NEEDED_HERE:
                raise TemplateError(f"{logical}: the local cloud cannot make a {kind}")

    def _table(self, stack: Stack, logical: str, properties: Properties) -> None:
        client, name = self._door.direct("dynamodb"), stack.physical_id(logical)
        if name in client.list_tables()["TableNames"]:
            return
        wanted = ("KeySchema", "AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes")
        client.create_table(TableName=name, **{k: properties[k] for k in wanted if k in properties})
        if "TimeToLiveSpecification" in properties:
            ttl = {k: v in (True, "true") if k == "Enabled" else v for k, v in properties["TimeToLiveSpecification"].items()}
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=ttl)

    def _bucket(self, stack: Stack, logical: str, _properties: Properties) -> None:
        client, name = self._door.direct("s3"), stack.physical_id(logical)
        if name not in {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}:
            client.create_bucket(Bucket=name)

    def _queue(self, stack: Stack, logical: str, properties: Properties) -> None:
        names = ("VisibilityTimeout", "MessageRetentionPeriod", "RedrivePolicy", "MaximumMessageSize")
        attributes = {k: v if isinstance(v, str) else json.dumps(v) for k, v in properties.items() if k in names}
        name = stack.physical_id(logical).rsplit("/", 1)[-1]
        self._door.direct("sqs").create_queue(QueueName=name, Attributes=attributes)

    def _function(self, stack: Stack, logical: str, properties: Properties) -> None:
        layers = [
            stack.local_path(resource["Properties"]["Content"])
            for resource in stack.resources.values()
            if resource["Type"] == "AWS::Lambda::LayerVersion"
        ]
        spec = FunctionSpec(
            code=stack.local_path(properties["Code"]),
            handler=properties["Handler"],
            timeout=float(properties.get("Timeout", 3)),
            environment={k: str(v) for k, v in properties.get("Environment", {}).get("Variables", {}).items()},
            memory=int(properties.get("MemorySize", 128)),
            python_path=tuple(layers) if properties.get("Layers") else (),
        )
        if not spec.code.is_dir():
            raise TemplateError(f"{logical}: there is no folder {spec.code}")
        self._functions.register(stack.physical_id(logical), spec)

    def _state_machine(self, stack: Stack, logical: str, properties: Properties) -> None:
        path = stack.local_path(properties["DefinitionS3Location"])
        definition = json.dumps(render_definition(path, properties.get("DefinitionSubstitutions", {})))
        client, arn = self._door.direct("stepfunctions"), stack.physical_id(logical)
        role = properties["RoleArn"]
        if any(machine["stateMachineArn"] == arn for machine in client.list_state_machines()["stateMachines"]):
            client.update_state_machine(stateMachineArn=arn, definition=definition, roleArn=role)
        else:
            client.create_state_machine(
                name=arn.rsplit(":", 1)[-1],
                definition=definition,
                roleArn=role,
                type=properties.get("StateMachineType", "STANDARD"),
            )
