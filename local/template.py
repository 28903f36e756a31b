"""The SAM template as CloudFormation would see it: translated, parameters filled in, intrinsic functions resolved.

Physical ids are derived from the stack and the logical id, so that everything can be resolved before anything is made.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

ACCOUNT, REGION = "123456789012", "us-east-1"
_LOCAL_URI = "s3://local/"
_CODE_PROPERTIES = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::Serverless::StateMachine": "DefinitionUri",
}
_SUB = re.compile(r"\$\{([^!}][^}]*)\}")


class TemplateError(ValueError):
    """The template cannot be deployed here; the message says which resource or parameter and why."""


def _load(text: str) -> dict[str, Any]:
    from samtranslator.yaml_helper import yaml_parse

    loaded: dict[str, Any] = yaml_parse(text)
    return loaded


def _translate(text: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """SAM to CloudFormation. Code stays where it is: its path is written as an S3 address and read back at deployment."""
    import boto3
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    source = _load(text)
    for resource in source["Resources"].values():
        uri = _CODE_PROPERTIES.get(resource["Type"])
        if uri and isinstance(resource["Properties"].get(uri), str):
            resource["Properties"][uri] = _LOCAL_URI + resource["Properties"][uri]
    try:
        translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=REGION))
        translated: dict[str, Any] = translator.translate(source, {"AWS::Region": REGION, **parameters})
    except InvalidDocumentException as error:
        reasons = "; ".join(str(cause.message) for cause in error.causes)
        raise TemplateError(f"the template is not valid SAM: {reasons}") from error
    return translated


def translated(path: Path, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The translated template, from the cache under build/ when neither template nor parameters have changed."""
    text = path.read_text()
    key = hashlib.sha256(f"{version('aws-sam-translator')}{text}{sorted(parameters.items())}".encode()).hexdigest()
    cache = path.parent / "build" / "templates" / f"{key}.pickle"
    if cache.exists():
        loaded: dict[str, Any] = pickle.loads(cache.read_bytes())  # noqa: S301 our own file
        return loaded
    result = json.loads(json.dumps(_translate(text, parameters), default=str))
    cache.parent.mkdir(parents=True, exist_ok=True)
    fresh = cache.with_suffix(f".{hashlib.sha256(text.encode()).hexdigest()[:8]}.new")
    fresh.write_bytes(pickle.dumps(result))
    fresh.replace(cache)
    return dict(result)


@dataclass(frozen=True)
class Stack:
    """A translated template with its parameters: what every resource is called and what its properties come to."""

    name: str
    path: Path
    document: dict[str, Any]
    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, given: Mapping[str, str], name: str = "once") -> Stack:
        """Read and translate the template. Raises TemplateError for a parameter that it does not have."""
        if not path.is_file():
            raise TemplateError(f"there is no template at {path}; run this in a folder with Once's template.yaml")
        stack = cls(name, path, translated(path, given), given)
        if unknown := set(given) - set(stack.document.get("Parameters", {})):
            raise TemplateError(f"{path} has no parameter {', '.join(sorted(unknown))}")
        return stack

    @cached_property
    def parameters(self) -> dict[str, Any]:
        declared = self.document.get("Parameters", {})
        missing = [n for n, p in declared.items() if n not in self.given and "Default" not in p]
        if missing:
            raise TemplateError(f"{self.path}: no value for parameter {', '.join(missing)}")
        return {n: str(self.given.get(n, p.get("Default"))) for n, p in declared.items()}

    @cached_property
    def resources(self) -> dict[str, dict[str, Any]]:
        """Logical id to `{Type, Properties, ...}` with everything resolved; without those whose condition is false."""
        return {
            logical: {**resource, "Properties": self.resolve(resource.get("Properties", {}))}
            for logical, resource in self.document["Resources"].items()
            if self._wanted(resource)
        }

    @cached_property
    def outputs(self) -> dict[str, str]:
        outputs = self.document.get("Outputs", {})
        return {n: str(self.resolve(o["Value"])) for n, o in outputs.items() if self._wanted(o)}

    def _wanted(self, part: Mapping[str, Any]) -> bool:
        return "Condition" not in part or self.condition(part["Condition"])

    def condition(self, name: str) -> bool:
        return bool(self.resolve(self.document["Conditions"][name]))

    def physical_id(self, logical: str) -> str:
        """What CloudFormation's Ref gives for a resource."""
        resource = self.document["Resources"][logical]
        properties = resource.get("Properties", {})
        kind = resource["Type"]
        named = {
            "AWS::DynamoDB::Table": "TableName",
            "AWS::S3::Bucket": "BucketName",
            "AWS::Lambda::Function": "FunctionName",
            "AWS::Logs::LogGroup": "LogGroupName",
            "AWS::StepFunctions::StateMachine": "StateMachineName",
            "AWS::SQS::Queue": "QueueName",
        }.get(kind)
        name = self.resolve(properties[named]) if named and named in properties else f"{self.name}-{logical}-LOCAL"
        if kind == "AWS::S3::Bucket":
            name = name.lower()
        if kind == "AWS::SQS::Queue":
            return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"
        if kind == "AWS::StepFunctions::StateMachine":
            return f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
        if kind in ("AWS::Lambda::Alias", "AWS::Lambda::Version"):
            function = self.resolve(properties["FunctionName"])
            return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}:{properties.get('Name', '1')}"
        if kind == "AWS::StepFunctions::StateMachineVersion":
            return f"{self.resolve(properties['StateMachineArn'])}:1"
        if kind == "AWS::StepFunctions::StateMachineAlias":
            versions = properties.get("RoutingConfiguration") or [properties.get("DeploymentPreference", {})]
            machine = self.resolve(versions[0]["StateMachineVersionArn"]).rsplit(":", 1)[0]
            return f"{machine}:{self.resolve(properties.get('Name', 'live'))}"
        return str(name)

    def attribute(self, logical: str, attribute: str) -> str:
        """What CloudFormation's GetAtt gives."""
        kind, physical = self.document["Resources"][logical]["Type"], self.physical_id(logical)
        short = physical.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
        arns = {
            "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{physical}",
            "AWS::S3::Bucket": f"arn:aws:s3:::{physical}",
            "AWS::SQS::Queue": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{short}",
            "AWS::Lambda::Function": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{physical}",
            "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{physical}",
            "AWS::Logs::LogGroup": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{physical}:*",
        }
        if attribute in ("Arn", "AliasArn", "StateMachineVersionArn"):
            return arns.get(kind, physical)
        if attribute == "QueueUrl":
            return physical
        if attribute in ("QueueName", "Name", "FunctionName"):
            return short
        if attribute == "Version":
            return "1"
        return f"{physical}.{attribute}"

    def resolve(self, node: Any) -> Any:
        """A value with its intrinsic functions worked out."""
        if isinstance(node, list):
            return [value for value in map(self.resolve, node) if value is not _NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            [(name, argument)] = node.items()
            if name in ("Ref", "Condition") or name.startswith("Fn::"):
                return self._intrinsic(name, argument)
        resolved = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in resolved.items() if value is not _NOTHING}

    def _intrinsic(self, name: str, argument: Any) -> Any:
        if name == "Ref":
            return self._ref(argument)
        if name == "Condition":
            return self.condition(argument)
        if name == "Fn::Sub":
            return self._sub(argument)
        if name == "Fn::GetAtt":
            logical, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
            return self.attribute(logical, self.resolve(attribute))
        if name == "Fn::If":
            chosen, yes, no = argument
            return self.resolve(yes if self.condition(chosen) else no)
        values = self.resolve(argument)
        match name:
            case "Fn::Equals":
                return str(values[0]) == str(values[1])
            case "Fn::Not":
                return not values[0]
            case "Fn::And":
                return all(values)
            case "Fn::Or":
                return any(values)
            case "Fn::Join":
                return str(values[0]).join(map(str, values[1]))
            case "Fn::Select":
                return values[1][int(values[0])]
            case "Fn::Split":
                return values[1].split(values[0])
            case "Fn::FindInMap":
                return self.document["Mappings"][values[0]][str(values[1])][values[2]]
            case "Fn::GetAZs":
                return [f"{REGION}a"]
        raise TemplateError(f"the local cloud does not know {name}")

    def _ref(self, name: str) -> Any:
        pseudo = {
            "AWS::AccountId": ACCOUNT,
            "AWS::Region": REGION,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::StackName": self.name,
            "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{self.name}/local",
            "AWS::NoValue": _NOTHING,
        }
        if name in pseudo:
            return pseudo[name]
        if name in self.parameters:
            value = self.parameters[name]
            list_type = self.document["Parameters"][name]["Type"] == "CommaDelimitedList"
            return value.split(",") if list_type else value
        if name in self.document["Resources"]:
            return self.physical_id(name)
        raise TemplateError(f"{self.path}: {name} is neither a parameter nor a resource")

    def _sub(self, argument: Any) -> str:
        text, extra = argument if isinstance(argument, list) else (argument, {})

        def value_of(match: re.Match[str]) -> str:
            name = match[1]
            if name in extra:
                return str(self.resolve(extra[name]))
            if "." in name and not name.startswith("AWS::"):
                return self.attribute(*name.split(".", 1))
            return str(self._ref(name))

        return _SUB.sub(value_of, text).replace("${!", "${")

    def local_path(self, uri: Any) -> Path:
        """Where code or a definition lies that the template names."""
        if isinstance(uri, dict):
            uri = f"s3://{uri.get('S3Bucket', uri.get('Bucket'))}/{uri.get('S3Key', uri.get('Key'))}"
        return (self.path.parent / str(uri).removeprefix(_LOCAL_URI)).resolve()


class _Nothing:
    """AWS::NoValue."""


_NOTHING = _Nothing()
