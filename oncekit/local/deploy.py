"""Deploys a translated template on moto, and adds what moto ignores.

Resources are created in the order of their references, each by the class that moto's own CloudFormation uses for its
type. What moto ignores is added here, and nowhere else:

    AWS::DynamoDB::Table              time to live and point-in-time recovery
    AWS::StepFunctions::StateMachine  a machine that executes, with its definition rendered and substituted
    ...StateMachineVersion, ...Alias  an alias stands for the machine as it is now
    AWS::Lambda::Function             a function that runs: code folder, layers, timeout, concurrency, environment
    AWS::Lambda::Version, Alias       an alias stands for the function as it is now
    Event buses, rules, schedules, pipes  only get a name here; `events/exchange.py` creates and runs them
    Roles and their policies          only get a name here; `permissions/` checks every call against them
    Logs, alarms, other policies      only get a name, so that other resources can refer to them
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.ageing import lifecycle_of
from oncekit.local.contents import put_contents, take_contents
from oncekit.local.definition import render_definition
from oncekit.local.deployed import Deployed
from oncekit.local.intrinsics import NO_VALUE, Resolver, TemplateError
from oncekit.local.lambda_runtime.spec import Code, FunctionSpec, code_of
from oncekit.local.resources import NAME_PROPERTY, NAMED, STACK, Named, moto_model, physical_name
from oncekit.local.template import Template, load

NESTED = "AWS::CloudFormation::Stack"
"""The type into which SAM translates an AWS::Serverless::Application."""


@dataclass(frozen=True)
class Stack:
    """The result of a deployment."""

    resources: Mapping[str, Deployed]
    outputs: Mapping[str, str]
    functions: Mapping[str, FunctionSpec]
    """By physical name."""
    code: Mapping[str, Code]
    """The state of each function's files."""


class Functions(Protocol):
    """Where functions are registered."""

    def register(self, name: str, spec: FunctionSpec) -> None: ...


Call = Callable[[str, str, dict[str, Any]], object]
"""Calls a service on the in-process backend: its name and that of a method in boto3, and the parameters."""


def deploy(
    template: Template, call: Call, functions: Functions, endpoint_url: str, before: Stack | None = None
) -> Stack:
    """Create everything in the template. A resource of `before` with the same properties stays, with its data.

    Raises TemplateError, or DefinitionError for a state machine's definition.
    """
    deployment = _Deployment(template, call, endpoint_url, before.resources if before else {})
    for logical_id in template.section("Resources"):
        deployment.deployed(logical_id)
    resolver = deployment.resolver
    outputs = {
        name: str(resolver.resolve(output["Value"]))
        for name, output in template.section("Outputs").items()
        if "Condition" not in output or resolver.holds(output["Condition"])
    }
    code = {name: code_of(spec) for name, spec in deployment.functions.items()}
    for name, spec in deployment.functions.items():
        if before is None or (before.functions.get(name), before.code.get(name)) != (spec, code[name]):
            functions.register(name, spec)
    return Stack(deployment.made, outputs, deployment.functions, code)


def rendered_definitions(path: Path, parameters: Mapping[str, object] | None = None) -> dict[str, dict[str, Any]]:
    """The rendered definition of every state machine of the template at `path`, by the machine's name; creates nothing.

    `operation` is the name of OperationStateMachine. Two machines can have one file with other substitutions.
    """
    template = load(path, parameters)
    deployment = _Deployment(template, _no_call, "", {}, dry=True)
    rendered = {}
    for logical_id, resource in template.section("Resources").items():
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            _, definition = deployment.definition(deployment.resolver.resolve(resource["Properties"]), logical_id)
            rendered[machine_name(logical_id)] = definition
    return rendered


def machine_name(logical_id: str) -> str:
    """`operation` for OperationStateMachine."""
    return logical_id.removesuffix("StateMachine").lower()


def _no_call(service: str, action: str, _: dict[str, Any]) -> object:
    raise AssertionError(f"a dry deployment must not call services, but it called {action} of {service}")


@dataclass
class _Deployment:
    template: Template
    call: Call
    endpoint_url: str
    before: Mapping[str, Deployed]
    dry: bool = False
    made: dict[str, Deployed] = field(default_factory=dict)
    functions: dict[str, FunctionSpec] = field(default_factory=dict)
    resolver: Resolver = field(init=False)
    _making: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        pseudo = {
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::Region": REGION,
            "AWS::StackName": STACK,
            "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/local",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NotificationARNs": "",
        }
        self.resolver = Resolver(
            {**self.template.parameters, **pseudo},
            self.template.section("Mappings"),
            self.template.section("Conditions"),
            lambda logical_id: self.deployed(logical_id).ref,
            lambda logical_id, name: self.deployed(logical_id).attributes(name),
        )

    def deployed(self, logical_id: str) -> Deployed:
        """The resource, created now unless it exists. If its condition is false, it has no name."""
        if logical_id in self.made:
            return self.made[logical_id]
        resource = self.template.section("Resources").get(logical_id)
        if resource is None:
            raise TemplateError(
                f"{self._making[-1] if self._making else 'an output'} refers to {logical_id}, which does not exist"
            )
        if logical_id in self._making:
            raise TemplateError(
                f"resources refer to each other in a circle: {' -> '.join([*self._making, logical_id])}"
            )
        self._making.append(logical_id)
        try:
            self.made[logical_id] = self._make(logical_id, resource)
        finally:
            self._making.pop()
        return self.made[logical_id]

    def _make(self, logical_id: str, resource: Mapping[str, Any]) -> Deployed:
        kind: str = resource["Type"]
        known = self.before.get(logical_id)
        if known is not None and not known.ref:  # its condition did not hold
            known = None
        if "Condition" in resource and not self.resolver.holds(resource["Condition"]):
            if known is not None and kind not in NAMED:
                self._delete(kind, known)
            return Deployed(kind, {}, "", lambda _name: "")
        for other in _as_list(resource.get("DependsOn")):
            self.deployed(other)
        properties = {
            k: v for k, v in self.resolver.resolve(resource.get("Properties") or {}).items() if v is not NO_VALUE
        }
        if kind == "AWS::Lambda::Function":
            return self._function(logical_id, properties)
        if kind == NESTED and not self.dry:
            raise TemplateError(
                f"{logical_id} is an application inside this one (AWS::Serverless::Application), which the local cloud "
                "cannot deploy: run its template by itself, with --template"
            )
        if kind == "AWS::StepFunctions::StateMachine" and not self.dry:
            return self._state_machine(logical_id, properties)
        if kind in NAMED or self.dry:
            return self._named(kind, logical_id, properties)
        if known is not None and known.properties == properties:
            return known
        return self._made_by_moto(kind, logical_id, properties, known)

    def _named(self, kind: str, logical_id: str, properties: Mapping[str, Any]) -> Deployed:
        """A resource of which only the name and ARN are needed."""
        form = NAMED.get(kind) or Named("{name}", {})
        name = properties.get(NAME_PROPERTY.get(kind, ""), physical_name(kind, logical_id))
        values = {"name": str(name), "account": ACCOUNT, "region": REGION}
        values |= {key: str(value) for key, value in properties.items() if isinstance(value, str)}
        version = str(properties.get("DeploymentPreference", {}).get("StateMachineVersionArn", ""))
        values["machine"] = version.rpartition(":")[0]
        bus = str(properties.get("EventBusName", "default")).rpartition("/")[2]
        values["bus"] = "" if bus == "default" else f"{bus}/"
        ref = form.ref.format_map(values)
        attributes = {key: text.format_map(values) for key, text in form.attributes.items()}
        return Deployed(kind, properties, ref, _reader(kind, logical_id, attributes, anything=self.dry))

    def _made_by_moto(self, kind: str, logical_id: str, properties: dict[str, Any], known: Deployed | None) -> Deployed:
        model = moto_model(kind)
        if model is None:
            raise TemplateError(f"{logical_id}: the local cloud does not run {kind}")
        name = properties.get(NAME_PROPERTY.get(kind, ""), physical_name(kind, logical_id))
        held: Mapping[str, Any] = {}
        if known is not None:  # changed: made anew under the same name, so the old one goes first
            held = take_contents(kind, known.ref)
            self._delete(kind, known)
        made = model.create_from_cloudformation_json(name, {"Properties": copy.deepcopy(properties)}, ACCOUNT, REGION)
        if known is None or known.properties.get("KeySchema") == properties.get("KeySchema"):
            put_contents(kind, made.physical_resource_id, held)
        if kind == "AWS::DynamoDB::Table":
            self._add_to_table(made.name, properties)
        if kind == "AWS::S3::Bucket" and (rules := lifecycle_of(properties)):
            made.set_lifecycle(rules)
        ref = made.physical_resource_id
        if kind == "AWS::SQS::Queue":  # some SDKs send a message where the URL of its queue points
            ref = f"{self.endpoint_url}/{ACCOUNT}/{made.name}"
        return Deployed(kind, properties, ref, made.get_cfn_attribute)

    def _delete(self, kind: str, known: Deployed) -> None:
        model = moto_model(kind)
        if model is not None and not self.dry:
            model.delete_from_cloudformation_json(known.ref, {"Properties": known.properties}, ACCOUNT, REGION)

    def _add_to_table(self, name: str, properties: Mapping[str, Any]) -> None:
        from moto.dynamodb.models import dynamodb_backends

        dynamodb = dynamodb_backends[ACCOUNT][REGION]
        if ttl := properties.get("TimeToLiveSpecification"):
            dynamodb.update_time_to_live(name, ttl)
        if recovery := properties.get("PointInTimeRecoverySpecification"):
            dynamodb.update_continuous_backups(name, recovery)

    def _state_machine(self, logical_id: str, properties: dict[str, Any]) -> Deployed:
        name = properties.get("StateMachineName", f"{logical_id}-local")
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
        definition = json.dumps(self.definition(properties, logical_id)[1])
        made_of = {**properties, "DefinitionString": definition}
        known = self.before.get(logical_id)
        role = properties.get("RoleArn", "")
        kind = properties.get("StateMachineType", "STANDARD")
        if known is not None and kind != known.properties.get("StateMachineType", "STANDARD"):
            self.call("stepfunctions", "delete_state_machine", {"stateMachineArn": arn})  # a type cannot be updated
            known = None
        if known is None:
            given = {"name": name, "definition": definition, "roleArn": role, "type": kind}
            self.call("stepfunctions", "create_state_machine", given)
        elif known.properties != made_of:
            given = {"stateMachineArn": arn, "definition": definition, "roleArn": role}
            self.call("stepfunctions", "update_state_machine", given)
        attributes = {"Arn": arn, "Name": name, "StateMachineRevisionId": "local"}
        return Deployed("AWS::StepFunctions::StateMachine", made_of, arn, _reader("", logical_id, attributes))

    def definition(self, properties: Mapping[str, Any], logical_id: str) -> tuple[Path, dict[str, Any]]:
        """The file of a state machine's definition, and the definition with its substitutions."""
        location = properties.get("DefinitionS3Location")
        if location is None:
            raise TemplateError(
                f"{logical_id}: the local cloud reads definitions from files: use DefinitionS3Location or DefinitionUri"
            )
        path = self.template.folder / location["Key"]
        return path, render_definition(path, properties.get("DefinitionSubstitutions", {}))

    def _function(self, logical_id: str, properties: dict[str, Any]) -> Deployed:
        name = properties.get("FunctionName", f"{STACK}-{logical_id}")
        code = self.template.folder / properties["Code"].get("S3Key", "")
        if not self.dry and not code.is_dir():
            raise TemplateError(f"{logical_id}: its CodeUri is not a folder: {code}")
        layers = [self._folder_of_layer(ref) for ref in properties.get("Layers", [])]
        concurrency = properties.get("ReservedConcurrentExecutions")
        self.functions[name] = FunctionSpec(
            code=code,
            handler=properties["Handler"],
            timeout=float(properties.get("Timeout", 3)),
            environment={
                key: str(value) for key, value in properties.get("Environment", {}).get("Variables", {}).items()
            },
            memory=int(properties.get("MemorySize", 128)),
            concurrency=None if concurrency is None else int(concurrency),
            python_path=tuple(layers),
            role=properties.get("Role"),
        )
        attributes = {"Arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"}
        return Deployed("AWS::Lambda::Function", properties, name, _reader("", logical_id, attributes))

    def _folder_of_layer(self, ref: str) -> Path:
        for resource in self.made.values():
            if resource.ref == ref and resource.type == "AWS::Lambda::LayerVersion":
                return self.template.folder / str(resource.properties["Content"]["S3Key"])
        raise TemplateError(
            f"a function uses the layer {ref}, which is not in the template: the local cloud cannot fetch it"
        )


def _reader(kind: str, logical_id: str, attributes: Mapping[str, str], anything: bool = False) -> Callable[[str], str]:
    def read(name: str) -> str:
        if name in attributes:
            return attributes[name]
        if anything:
            return f"{logical_id}.{name}"
        raise TemplateError(f"{logical_id} ({kind}) has no attribute {name} in the local cloud")

    return read


def _as_list(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else [] if value is None else [value]
