"""Deploys a translated template on moto, and adds what moto ignores.

Resources are created in the order of their references, each by the class that moto's own CloudFormation uses for its
type. What moto ignores is added here, and nowhere else:

    AWS::StepFunctions::StateMachine  a machine that executes, with its definition rendered and substituted
    ...StateMachineVersion, ...Alias  an alias stands for the machine as it is now
    AWS::Lambda::Function             a function that runs: code folder, layers, timeout, concurrency, environment;
                                      one in a language that does not run here only gets a name
    AWS::Lambda::Version, Alias       an alias stands for the function as it is now
    Event buses, rules, schedules, pipes, event source mappings
                                      only get a name here; `events/exchange.py` creates and runs them
    Roles and their policies          only get a name here; `permissions/` checks every call against them
    AWS::CloudFormation::Stack        an application inside this one, deployed as this one is; what is in it is found by
                                      its own logical id, or with that of the application before it where that is taken
    Logs, alarms, other policies      only get a name, so that other resources can refer to them
    What neither moto nor this knows  only gets a name, and `events/exchange.py` reports it
    What cannot be read here          only gets a name, and is reported with the reason, unless it is Once's own or was
                                      read before
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from oncekit.asl.definition import InvalidDefinition, check
from oncekit.local.account import ACCOUNT, REGION, name_and_qualifier
from oncekit.local.deployment import moto_resources
from oncekit.local.deployment.resources import (
    MADE_HERE,
    NAME_PROPERTY,
    NAMED,
    STACK,
    Deployed,
    Named,
    moto_model,
    physical_name,
    stand_in,
)
from oncekit.local.deployment.secret_answers import MANAGED, text_of, value_of
from oncekit.local.deployment.stack import Application, Stack, stack_id
from oncekit.local.kept_files import beside
from oncekit.local.lambda_runtime.languages import AN_IMAGE, PYTHON, why_not
from oncekit.local.lambda_runtime.spec import FunctionSpec
from oncekit.local.once_inside import MACHINE as MACHINE_OF_ONCE
from oncekit.local.once_inside import ONCE, is_once
from oncekit.local.templates.archive import SUFFIX as ARCHIVE
from oncekit.local.templates.archive import unpack
from oncekit.local.templates.built import Built, Source
from oncekit.local.templates.definition import DefinitionError, render_definition, rendered, rendered_text
from oncekit.local.templates.elsewhere import OTHER_REFERENCE, REFERENCE, Elsewhere, Missing, line_of
from oncekit.local.templates.intrinsics import (
    NO_VALUE,
    NoTemplate,
    NoValue,
    Resolver,
    TemplateError,
    as_text,
    readable,
    reason_of,
    what_is,
)
from oncekit.local.templates.sam import FILE_SCHEME, HERE
from oncekit.local.templates.template import Template, load

NESTED = "AWS::CloudFormation::Stack"
"""The type into which SAM translates an AWS::Serverless::Application."""
MACHINE = "AWS::StepFunctions::StateMachine"
LAYER = "AWS::Lambda::LayerVersion"
FUNCTION = "AWS::Lambda::Function"
FUNCTIONS = (FUNCTION, "AWS::Serverless::Function")
_MACHINES = (MACHINE, "AWS::Serverless::StateMachine")
"""The other type is that of one that SAM's translator cannot read."""
_WRAPPER = "AWS_LAMBDA_EXEC_WRAPPER"
"""A variable with what starts the runtime, such as a layer's that brings a web server:
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-modify.html#runtime-wrapper
"""
_NOT_MOTOS = (NESTED, FUNCTION)
_RESPONSE = re.compile(r"""^\s*import cfnresponse\b|require\(\s*['"]cfn-response['"]\s*\)""", re.MULTILINE)
_ADDED = "CloudFormation adds this module to code in a template, and the local cloud does not"
"""It does for this "exact import statement" only:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cfn-lambda-function-code-cfnresponsemodule.html
"""
_VERSION = re.compile(r":\d+$")
"""At the end of a reference to a parameter of Parameter Store; here it has one."""


_Value = TypeVar("_Value")
Call = Callable[[str, str, dict[str, Any]], object]
"""Calls a service on the in-process backend: its name and that of a method in boto3, and the parameters."""


def deploy(
    template: Template,
    call: Call,
    endpoint_url: str,
    known: dict[str, Deployed] | None = None,
    sources: set[Path] | None = None,
    unread: Container[str] | None = None,
) -> Stack:
    """Create everything in the template but its functions, which the caller registers.

    `known` has what was deployed before, by logical id, and is kept up to date, also when this raises: what has the
    same properties stays, with its data, and so does what is no longer in the template, should it come back.
    What is deployed from, files and folders, is added to `sources`, also when it is missing.
    A resource that cannot be read is one of the stack's `unread`. But where `unread` says which those were until now,
    any other one raises TemplateError, or DefinitionError for a state machine's definition: who edits a template is
    told what is wrong, and where that can be told before anything is changed, what was deployed stays.
    """
    known, sources = {} if known is None else known, set() if sources is None else sources
    if known:
        _Deployment(template, _no_call, endpoint_url, {}, dry=True, sources=sources, excused=unread).check()
    deployment = _Deployment(template, call, endpoint_url, known, sources=sources, excused=unread)
    deployment.deploy()
    return deployment.stack_of_all()


def rendered_definitions(path: Path, parameters: Mapping[str, object] | None = None) -> dict[str, dict[str, Any]]:
    """The rendered definition of every state machine of the template at `path`, by the machine's name; creates nothing.

    See `machine_name`. Two machines can have one file with other substitutions.
    """
    deployment = _dry(path, parameters)
    return {machine_name(logical_id): definition for logical_id, definition in deployment.definitions()}


def planned(path: Path, parameters: Mapping[str, object] | None = None, elsewhere: Elsewhere | None = None) -> Stack:
    """What the template at `path` would make; creates nothing. Raises TemplateError."""
    deployment = _dry(path, parameters, elsewhere)
    deployment.deploy()
    return deployment.stack_of_all()


def missing_values(path: Path) -> list[Missing]:
    """What the template at `path` and those inside it take from elsewhere, and the file beside it does not have."""
    elsewhere = Elsewhere.of(path, collecting=True)
    with suppress(TemplateError, DefinitionError):  # whoever deploys it is told
        _dry(path, elsewhere=elsewhere).check()
    return list((elsewhere.missing or {}).values())


def _dry(path: Path, parameters: Mapping[str, object] | None = None, elsewhere: Elsewhere | None = None) -> _Deployment:
    return _Deployment(load(path, parameters, elsewhere=elsewhere), _no_call, "", {}, dry=True)


def machine_name(logical_id: str) -> str:
    """A logical id without its end `StateMachine`, in small letters."""
    return logical_id.removesuffix("StateMachine").lower()


def _no_call(service: str, action: str, _: dict[str, Any]) -> object:
    raise AssertionError(f"a dry deployment must not call services, but it called {action} of {service}")


@dataclass
class _Deployment:
    template: Template
    call: Call
    endpoint_url: str
    before: dict[str, Deployed]
    dry: bool = False
    made: dict[str, Deployed] = field(default_factory=dict)
    functions: dict[str, FunctionSpec] = field(default_factory=dict)
    layers: dict[str, Path] = field(default_factory=dict)
    """What is /opt/python of each, by ARN; those of the applications around it, too."""
    resolver: Resolver = field(init=False)
    built: Built = field(init=False)
    _making: list[str] = field(default_factory=list)
    stack: str = STACK
    """The value of AWS::StackName."""
    within: str = ""
    """The logical ids of the applications that this one is inside of, joined."""
    taken: frozenset[str] = frozenset()
    """Logical ids of the applications around it."""
    around: tuple[Path, ...] = ()
    """The templates of the applications around it."""
    cache: Path | None = None
    within_built: Built | None = None
    """What was built of this one, where it is inside of another."""
    inner: dict[str, _Deployment] = field(default_factory=dict)
    sources: set[Path] = field(default_factory=set)
    excused: Container[str] | None = None
    """What may be unread, by logical id; None for everything that is not Once's."""
    unread: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources.update(self.template.folder / name for name in self.template.included)
        if self._is_once:
            self.excused = ()
        for logical_id, (kind, reason) in self.template.not_read.items():
            if logical_id not in self.template.section("Resources"):  # it is an event of one
                if not self._may_be_unread(logical_id):
                    raise TemplateError(f"{logical_id} ({kind}): {reason}")
                self.unread[logical_id] = f"{kind}: {reason}"
        pseudo = {
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": "aws",
            "AWS::Region": REGION,
            "AWS::StackName": self.stack,
            "AWS::StackId": stack_id(self.stack),
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NotificationARNs": "",
        }
        self.built = self.within_built or Built.beside(self.template.folder)
        self.resolver = Resolver(
            {**self.template.values(), **pseudo},
            self.template.section("Mappings"),
            self.template.section("Conditions"),
            lambda logical_id: self._referred_to(logical_id).ref,
            lambda logical_id, name: self._referred_to(logical_id).attributes(name),
            lambda name: self.template.elsewhere.imported(name, self.template.path),
        )

    @property
    def _is_once(self) -> bool:
        """Whether this is Once itself."""
        return is_once(self.template.section("Resources"))

    def deploy(self) -> None:
        """Create everything."""
        if self.template.elsewhere.missing is None:
            self._check_rules()
        for logical_id in self.template.section("Resources"):
            self.deployed(logical_id)
        self.template.elsewhere.exports |= self.exports()

    def _check_rules(self) -> None:
        """Raises NoTemplate where the parameters break a rule; one that asks for more than they say is told.

        https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/rules-section-structure.html
        """
        for name, rule in self.template.section("Rules").items():
            try:
                with readable(f"the rule {name}"):
                    holds = self.resolver.resolve(rule.get("RuleCondition", True))
                    broken = [
                        each for each in rule["Assertions"] if holds and not self.resolver.resolve(each["Assert"])
                    ]
            except NoTemplate:
                raise
            except TemplateError as error:
                self.unread[f"the rule {name}"] = reason_of(error, f"the rule {name}", "")
                continue
            if broken:
                place = f"{self.template.path}:{line_of(self.template.path, 'Rules', name)}"
                why = " ".join(str(each.get("AssertDescription", each["Assert"])) for each in broken)
                raise NoTemplate(f"{place}: the rule {name}: {why}")

    def check(self) -> None:
        """Whether all of it can be read, of a dry one."""
        self.deploy()
        self.of_all(_Deployment.outputs)

    def key(self, logical_id: str) -> str:
        """The logical id, by which a resource is found and named, also from outside of this application."""
        return f"{self.within}{logical_id}" if logical_id in self.taken else logical_id

    def of_all(self, own: Callable[[_Deployment], dict[str, _Value]]) -> dict[str, _Value]:
        """What this application has of its own, and what those inside have where it has none of the name."""
        found: dict[str, _Value] = {}
        for each in self.inner.values():
            found |= each.of_all(own)
        return found | own(self)

    def stack_of_all(self) -> Stack:
        """What was created here and in the applications inside."""
        made, parameters = self.of_all(_Deployment.by_key), self.of_all(lambda each: dict(each.template.parameters))
        outputs = self.of_all(_Deployment.outputs)
        unread = self.of_all(_Deployment.unread_by_key)
        refs = self.of_all(_Deployment.unread_refs)
        return Stack(made, outputs, self.functions, parameters, self.layers, self.application(), unread, refs)

    def application(self) -> Application:
        """What was created, each application for itself."""
        inside = {logical_id: each.application() for logical_id, each in self.inner.items()}
        return Application(self.stack, self.read(), self.outputs(), self.template.parameters, inside)

    def read(self) -> dict[str, Deployed]:
        return {logical_id: made for logical_id, made in self.made.items() if logical_id not in self.unread}

    def by_key(self) -> dict[str, Deployed]:
        return {self.key(logical_id): made for logical_id, made in self.read().items()}

    def unread_by_key(self) -> dict[str, str]:
        return {self.key(logical_id): reason for logical_id, reason in self.unread.items()}

    def unread_refs(self) -> dict[str, str]:
        there = self.made.keys() & self.unread.keys()
        return {self.key(logical_id): self.made[logical_id].ref for logical_id in there}

    def outputs(self) -> dict[str, str]:
        found = {}
        for name, output in self.template.section("Outputs").items():
            try:
                with readable(f"the output {name}"):
                    if "Condition" not in output or self.resolver.holds(output["Condition"]):
                        found[name] = as_text(self.resolver.resolve(output["Value"]))
            except TemplateError as error:
                if self.excused is not None or isinstance(error, NoValue):
                    raise
                self.unread[f"the output {name}"] = reason_of(error, f"the output {name}", "")
        return found

    def exports(self) -> dict[str, str]:
        """What it exports, by the name of the export."""
        declared = self.template.section("Outputs").items()
        exported = {name: each["Export"] for name, each in declared if isinstance(each, Mapping) and "Export" in each}
        outputs, found = self.outputs() if exported else {}, {}
        for name in exported.keys() & outputs.keys():
            with readable(f"the output {name}"):
                found[as_text(self.resolver.resolve(exported[name]["Name"]))] = outputs[name]
        return found

    def definitions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rendered definition of each state machine, by its logical id; those of applications inside come first."""
        for logical_id in self._of_type(NESTED):
            if self.deployed(logical_id).ref and logical_id in self.inner:
                yield from self.inner[logical_id].definitions()
        for logical_id in self._of_type(MACHINE):
            if self.deployed(logical_id).ref and logical_id not in self.unread:
                properties = self.template.section("Resources")[logical_id]["Properties"]
                yield logical_id, self.definition(self.resolver.resolve(properties), logical_id)

    def _of_type(self, kind: str) -> list[str]:
        resources = self.template.section("Resources").items()
        return [name for name, each in resources if isinstance(each, Mapping) and each.get("Type") == kind]

    def deployed(self, logical_id: str) -> Deployed:
        """The resource, created now unless it exists. If its condition is false, it has no name."""
        if logical_id in self.made:
            return self.made[logical_id]
        resource = self.template.section("Resources").get(logical_id)
        if resource is None:
            if self.template.not_read:  # SAM would have made it of what is left out
                return Deployed("", {}, logical_id, _reader("", logical_id, {}, anything=True), is_run=False)
            raise NoTemplate(
                f"{self._making[-1] if self._making else 'an output'} refers to {logical_id}, which does not exist"
            )
        if logical_id in self._making:
            raise NoTemplate(f"resources refer to each other in a circle: {' -> '.join([*self._making, logical_id])}")
        self._making.append(logical_id)
        try:
            with readable(logical_id):
                self.made[logical_id] = made = self._make(logical_id, resource)
            if not self.dry:
                self.before[self.key(logical_id)] = made
        except NoTemplate:
            raise
        except (TemplateError, DefinitionError) as error:
            if not self._may_be_unread(logical_id):
                raise
            kind = self._kind(logical_id)
            self.unread[logical_id] = f"{kind}: {reason_of(error, logical_id, kind)}"
            self.made[logical_id] = self._unread(kind, logical_id)
        finally:
            self._making.pop()
        return self.made[logical_id]

    def _referred_to(self, logical_id: str) -> Deployed:
        """The resource, for what needs it to be there. Raises TemplateError where its condition is false: then "any
        resources that depend on that resource aren't created either, regardless of their own conditions".

        https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-condition.html
        """
        made = self.deployed(logical_id)
        if not made.ref:
            who = self._making[-1] if self._making else "an output"
            condition = self.template.section("Resources")[logical_id]["Condition"]
            raise TemplateError(
                f"{who} refers to {logical_id}, which is not made, as its Condition {condition} is false: give "
                "parameters that make it true"
            )
        return made

    def _kind(self, logical_id: str) -> str:
        """The type of a resource, also of one that cannot be read."""
        if logical_id in self.template.not_read:
            return self.template.not_read[logical_id][0]
        resource = self.template.section("Resources")[logical_id]
        return str(resource.get("Type", "no type")) if isinstance(resource, Mapping) else "no type"

    def _may_be_unread(self, logical_id: str) -> bool:
        is_once = logical_id in (ONCE, MACHINE_OF_ONCE)
        return not is_once and (self.excused is None or self.key(logical_id) in self.excused)

    def _unread(self, kind: str, logical_id: str) -> Deployed:
        """A resource of which others know the name, and nothing else."""
        name = self._name(kind, logical_id, {})
        function = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
        machine = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
        arns = {**dict.fromkeys(FUNCTIONS, function), **dict.fromkeys(_MACHINES, machine)}
        attributes = {"Arn": arns[kind]} if kind in arns else {}
        ref = machine if kind in _MACHINES else name
        return Deployed(kind, {}, ref, _reader(kind, logical_id, attributes, anything=True), is_run=False)

    def _make(self, logical_id: str, resource: Mapping[str, Any]) -> Deployed:
        if logical_id in self.template.not_read:
            raise TemplateError(f"{logical_id}: {self.template.not_read[logical_id][1]}")
        kind: str = resource["Type"]
        known = self._known(logical_id)
        if known is not None and known.type != kind:
            self._take_away(logical_id, known)
            known = None
        if "Condition" in resource and not self.resolver.holds(resource["Condition"]):
            if known is not None:
                self._take_away(logical_id, known)
            return Deployed(kind, {}, "", lambda _name: "")
        for other in _as_list(resource.get("DependsOn")):
            self.deployed(other)
        properties = {
            k: self._referred(v)
            for k, v in self.resolver.resolve(resource.get("Properties") or {}).items()
            if v is not NO_VALUE
        }
        if kind == FUNCTION:
            return self._function(logical_id, properties)
        if kind == NESTED:
            return self._nested(logical_id, properties)
        if kind == MACHINE:
            if not self.dry:
                return self._state_machine(logical_id, properties)
            self.definition(properties, logical_id)
        if kind == "AWS::Lambda::Alias":
            self._alias(str(properties["FunctionName"]), str(properties["Name"]))
        if kind == LAYER:
            named = self._named(kind, logical_id, properties)
            self.layers[named.ref] = self._layer(properties)
            return named
        if kind == MANAGED:
            text_of(logical_id, properties)  # one that cannot be read is told now
        if kind in NAMED or self.dry:
            return self._named(kind, logical_id, properties)
        if known is not None and known.properties == properties:
            return known
        return self._made_by_moto(kind, logical_id, properties, known)

    def _layer(self, properties: Mapping[str, Any]) -> Path:
        """What is /opt/python of a layer, or /opt where it has none."""
        source = self.template.folder / str(properties["Content"]["S3Key"])
        made = self.built.layer(str(properties.get("LayerName")), source)  # SAM names a layer by its logical id
        return made / "python" if (made / "python").is_dir() and made != source else made

    def _referred(self, value: Any) -> Any:
        """With what dynamic references in its texts are replaced by."""
        if isinstance(value, dict):
            return {key: self._referred(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._referred(each) for each in value]
        if not isinstance(value, str) or "{{resolve:" not in value:
            return value
        found = REFERENCE.sub(lambda match: self._value_of(match[1]), value)
        if (unknown := OTHER_REFERENCE.search(found)) is not None:
            raise TemplateError(f"{unknown[0]} refers to none of ssm, ssm-secure and secretsmanager")
        return found

    def _value_of(self, reference: str) -> str:
        """What a dynamic reference is replaced by: what is made here has it, or the file."""
        service, _, rest = reference.partition(":")
        for logical_id, each in self.made.items():
            if each.type == "AWS::SSM::Parameter" and service == "ssm" and each.ref == _VERSION.sub("", rest):
                return str(each.properties["Value"])
            if each.type == MANAGED and each.ref and rest.startswith(each.ref):
                key = rest.removeprefix(each.ref).lstrip(":").partition(":")[2].partition(":")[0]
                return value_of(logical_id, each, key)
        return self.template.elsewhere.resolved(reference, self.template.path)

    def _known(self, logical_id: str) -> Deployed | None:
        """The resource as it was deployed before; None also where its condition did not hold."""
        known = self.before.get(self.key(logical_id))
        return known if known is not None and known.ref else None

    def _nested(self, logical_id: str, properties: Mapping[str, Any]) -> Deployed:
        """An application inside this one: a template on this machine, whose folder its files are in."""
        place = str(properties.get("TemplateURL", ""))
        path = self.template.folder / place.removeprefix(FILE_SCHEME)
        self.sources.add(path)
        if not path.is_file():
            raise TemplateError(f"{logical_id}: its Location is not a file on this machine: {path}")
        way = (*self.around, self.template.path.resolve())
        if path.resolve() in way:
            circle = " -> ".join(each.name for each in (*way[way.index(path.resolve()) :], path))
            raise TemplateError(f"{logical_id}: templates are inside of each other in a circle: {circle}")
        given = {name: _parameter_text(value) for name, value in (properties.get("Parameters") or {}).items()}
        try:
            cache = self.cache or beside(self.template.folder / path.name)
            template = load(path, given, cache, self.template.elsewhere, "set it at the resource")
        except TemplateError as error:
            raise TemplateError(f"{logical_id}: {error}") from error
        around = {*self.template.section("Resources"), *self.of_all(_Deployment.by_key)}
        inner = _Deployment(
            replace(template, path=template.path.resolve()),
            self.call,
            self.endpoint_url,
            self.before,
            self.dry,
            functions=self.functions,
            layers=self.layers,
            stack=f"{self.stack}-{logical_id}",
            within=f"{self.within}{logical_id}",
            taken=self.taken | around,
            around=way,
            cache=self.cache or beside(self.template.folder / path.name),
            sources=self.sources,
            within_built=self.built.inside(logical_id),
            excused=self.excused,
        )
        inner.deploy()
        self.inner[logical_id] = inner
        outputs = {f"Outputs.{name}": value for name, value in inner.outputs().items()}
        reader = _reader(NESTED, logical_id, outputs, anything=self.dry)
        return Deployed(NESTED, properties, stack_id(inner.stack), reader)

    def _named(self, kind: str, logical_id: str, properties: Mapping[str, Any]) -> Deployed:
        """A resource of which only the name and ARN are needed."""
        form = NAMED.get(kind) or Named("{name}", {})
        values = {"name": self._name(kind, logical_id, properties), "account": ACCOUNT, "region": REGION}
        values |= {key: as_text(value) for key, value in properties.items() if isinstance(value, str | int | float)}
        version = str(properties.get("DeploymentPreference", {}).get("StateMachineVersionArn", ""))
        values["machine"] = version.rpartition(":")[0]
        bus = str(properties.get("EventBusName", "default")).rpartition("/")[2]
        values["bus"] = "" if bus == "default" else f"{bus}/"
        ref = form.ref.format_map(values)
        attributes = {key: text.format_map(values) for key, text in form.attributes.items()}
        reader = _reader(kind, logical_id, attributes, anything=self.dry or kind not in NAMED)
        return Deployed(kind, properties, ref, reader, kind in NAMED)

    def _made_by_moto(self, kind: str, logical_id: str, properties: dict[str, Any], known: Deployed | None) -> Deployed:
        model = moto_model(kind)
        if model is None:
            return self._named(kind, logical_id, properties)
        held: Mapping[str, Any] = {}
        if known is not None:  # changed: made again under the same name, so the old one goes first
            held = self._take_away(logical_id, known)
        fitting = held if known and known.properties.get("KeySchema") == properties.get("KeySchema") else {}
        name = self._name(kind, logical_id, properties)
        try:
            made = moto_resources.make(kind, logical_id, name, properties, fitting)
        except TemplateError:
            if kind in MADE_HERE:
                raise
            return self._named(kind, logical_id, properties)
        ref = getattr(made, "physical_resource_id", None)
        if ref is None:  # moto makes it, and does not know what its Ref is
            return self._named(kind, logical_id, properties)
        if kind == "AWS::SQS::Queue":  # some SDKs send a message where the URL of its queue points
            ref = f"{self.endpoint_url}/{ACCOUNT}/{made.name}"
        return Deployed(kind, properties, ref, moto_resources.reader(made, kind, logical_id))

    def _name(self, kind: str, logical_id: str, properties: Mapping[str, Any]) -> str:
        made = physical_name(kind, self.key(logical_id), properties)
        return str(properties.get(NAME_PROPERTY.get(kind, ""), made))

    def _take_away(self, logical_id: str, known: Deployed) -> Mapping[str, Any]:
        """Delete what moto has of a resource, and give what it held."""
        self.before.pop(self.key(logical_id))
        if known.type in NAMED or known.type in _NOT_MOTOS or not known.is_run:
            return {}
        if known.type == MACHINE:
            self.call("stepfunctions", "delete_state_machine", {"stateMachineArn": known.ref})
            return {}
        return {} if moto_model(known.type) is None else moto_resources.delete(logical_id, known)

    def _state_machine(self, logical_id: str, properties: dict[str, Any]) -> Deployed:
        name = properties.get("StateMachineName", f"{self.key(logical_id)}-local")
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
        definition = json.dumps(self.definition(properties, logical_id))
        made_of = {**properties, "DefinitionString": definition}
        known = self._known(logical_id)
        if known is not None and _type_of_machine(known.properties) != _type_of_machine(properties):
            self._take_away(logical_id, known)  # a type cannot be updated
            known = None
        given = {"definition": definition, "roleArn": properties.get("RoleArn", "")}
        try:
            if known is None:
                kind = _type_of_machine(properties)
                self.call("stepfunctions", "create_state_machine", {**given, "name": name, "type": kind})
            elif known.properties != made_of:
                self.call("stepfunctions", "update_state_machine", {**given, "stateMachineArn": arn})
        except ClientError as error:
            raise TemplateError(f"{logical_id} ({MACHINE}): {error.response['Error']['Message']}") from error
        attributes = {"Arn": arn, "Name": name, "StateMachineRevisionId": "local"}
        return Deployed(MACHINE, made_of, arn, _reader(MACHINE, logical_id, attributes))

    def definition(self, properties: Mapping[str, Any], logical_id: str) -> dict[str, Any]:
        """A state machine's definition with its substitutions."""
        location, substitutions = properties.get("DefinitionS3Location"), properties.get("DefinitionSubstitutions", {})
        path = self.template.folder / location["Key"] if location else self.template.path
        if location is not None:
            self.sources.add(path)
            found = render_definition(path, substitutions, self._is_once)
        elif "DefinitionString" in properties:
            found = rendered_text(str(properties["DefinitionString"]), substitutions, path)
        else:
            found = rendered(properties["Definition"], substitutions, path, False)
        try:
            check(found)
        except InvalidDefinition as error:
            raise DefinitionError(f"{path}: AWS would refuse it: {error}") from error
        return found

    def _function(self, logical_id: str, properties: dict[str, Any]) -> Deployed:
        name = properties.get("FunctionName", f"{STACK}-{self.key(logical_id)}")
        attributes = {"Arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"}
        reader = _reader("AWS::Lambda::Function", logical_id, attributes)
        runtime = str(properties.get("Runtime", PYTHON))
        reason = AN_IMAGE if properties.get("PackageType") == "Image" else why_not(runtime)
        if reason is None and (bucket := properties["Code"].get("S3Bucket", HERE)) != HERE:
            reason = f"its code is in the bucket {bucket} on AWS: name a folder on this machine"
        if reason is not None:
            return Deployed(FUNCTION, properties, name, reader, is_run=False, why=reason)
        layers = [self.layers[ref] for ref in properties.get("Layers", []) if ref in self.layers]
        roots = tuple(layer.parent if layer.name == "python" else layer for layer in layers)
        code = self.template.folder / properties["Code"].get("S3Key", "")
        if "S3Key" in properties["Code"]:
            self.sources.add(code)
            metadata = self.template.section("Resources")[logical_id].get("Metadata") or {}
            method = str(metadata.get("BuildMethod", ""))
            source = Source(logical_id, code, runtime, str(properties["Handler"]), method, roots)
            if source.wants_a_build():
                self.sources.add(self.built.file)
            found = source.code(self.built)
            if isinstance(found, str):
                return Deployed(FUNCTION, properties, name, reader, is_run=False, why=found)
            code = found
            self.sources.add(code)
        elif "ZipFile" in properties["Code"]:
            text = str(properties["Code"]["ZipFile"])
            if (response := _RESPONSE.search(text)) is not None:
                why = f"{response[0].strip()}: {_ADDED}"
                return Deployed(FUNCTION, properties, name, reader, is_run=False, why=why)
            code = code if self.dry else self._inline(text, runtime)
        if code.suffix == ARCHIVE and code.is_file():
            code = self._unzipped(code)
        elif code.is_file() and code.suffix in (".py", ".js", ".mjs", ".cjs"):  # packaging makes an archive of it
            code = code.parent
        elif not code.is_dir():
            raise TemplateError(f"{logical_id}: its CodeUri is not a folder: {code}")
        wrapper = (properties.get("Environment") or {}).get("Variables", {}).get(_WRAPPER)
        if wrapper is not None and (code / properties["Handler"]).is_file():
            why = (
                f"its Handler {properties['Handler']} is a program for {wrapper} ({_WRAPPER}), which does not run here"
            )
            return Deployed(FUNCTION, properties, name, reader, is_run=False, why=why)
        self.sources.update(layers)
        packages = f"lib/{properties.get('Runtime')}/site-packages"
        concurrency, role = properties.get("ReservedConcurrentExecutions"), properties.get("Role")
        if not isinstance(role, str | None):
            raise TemplateError(f"{logical_id}: its Role is {what_is(role)}, and must be a text")
        self.functions[name] = FunctionSpec(
            code=code,
            handler=properties["Handler"],
            timeout=float(properties.get("Timeout", 3)),
            environment={
                key: as_text(value) for key, value in properties.get("Environment", {}).get("Variables", {}).items()
            },
            memory=int(float(properties.get("MemorySize", 128))),
            concurrency=None if concurrency is None else int(concurrency),
            runtime=runtime,
            python_path=tuple(folder for layer in layers for folder in (layer, layer / packages)),
            layers=roots,
            role=role,
        )
        return Deployed(FUNCTION, properties, name, reader)

    def _inline(self, text: str, runtime: str) -> Path:
        """The folder of code that is in the template itself: Lambda has it in a file `index`, of CommonJS in Node.js.

        https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-code.html
        """
        folder = self._folder_for(text.encode())
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / ("index.py" if runtime.startswith("python") else "index.js")
        if not file.is_file():
            file.write_text(text)
        return folder

    def _unzipped(self, archive: Path) -> Path:
        """The folder of code that is in an archive."""
        folder = self._folder_for(archive.read_bytes(), "unpacked")
        if not self.dry and not folder.is_dir():
            unpack(archive, folder)
        return folder

    def _folder_for(self, code: bytes, kind: str = "code") -> Path:
        """Where code is kept that is in no folder."""
        cache = self.cache or beside(self.template.folder / "template")
        return cache / kind / hashlib.sha256(code).hexdigest()[:16]

    def _alias(self, function: str, alias: str) -> None:
        name, _ = name_and_qualifier(function)
        if (spec := self.functions.get(name)) is not None:
            self.functions[name] = replace(spec, aliases=spec.aliases | {alias})


def _type_of_machine(properties: Mapping[str, Any]) -> str:
    return str(properties.get("StateMachineType", "STANDARD"))


def _reader(kind: str, logical_id: str, attributes: Mapping[str, str], anything: bool = False) -> Callable[[str], str]:
    def read(name: str) -> str:
        if name in attributes:
            return attributes[name]
        if anything:
            return stand_in(kind, logical_id, name)
        raise TemplateError(f"{logical_id} ({kind}) has no attribute {name} in the local cloud")

    return read


def _parameter_text(value: Any) -> str:
    """The value of a parameter; a list is that of a CommaDelimitedList."""
    return ",".join(map(as_text, value)) if isinstance(value, list) else as_text(value)


def _as_list(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else [] if value is None else [value]
