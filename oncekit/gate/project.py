"""What the gate looks at: the template, as it is written and as it is deployed, and the machines that it names."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oncekit.gate.machine import Machine
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.definition import read_definition, rendered
from oncekit.local.deploy import machine_name, rendered_definitions
from oncekit.local.intrinsics import Resolver
from oncekit.local.resources import STACK
from oncekit.local.template import Template, load, parameter_values, parse

MACHINE = "AWS::StepFunctions::StateMachine"
FUNCTION = "AWS::Serverless::Function"
ALARM = "AWS::CloudWatch::Alarm"


@functools.lru_cache(maxsize=8)
def _parsed(text: str, name: str) -> Mapping[str, Any]:
    return parse(text, Path(name))


@dataclass(frozen=True)
class _Definition:
    """The same as another one when its text is: comparing texts is quicker than comparing what they say."""

    text: str
    value: Mapping[str, Any] = field(compare=False)


@functools.lru_cache(maxsize=64)
def _machine(file: str, logical_id: str, kind: str, written: _Definition, definition: _Definition) -> Machine:
    """The very same for the same: what is found out about a machine is kept in it."""
    return Machine(file, logical_id, definition.value, written.value, kind)


@functools.lru_cache(maxsize=64)
def _with(machine: Machine, substitutions: str) -> Machine:
    return replace(machine, definition=rendered(machine.written, json.loads(substitutions), Path(machine.file)))


@dataclass(frozen=True)
class Project:
    """A template and the files that it names."""

    path: Path
    source: Mapping[str, Any]
    """The template with its short forms written out."""
    _read: dict[str, tuple[_Definition, Machine]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def at(cls, path: Path) -> Project:
        """Raises TemplateError."""
        return cls(path, _parsed(path.read_text(), path.name))

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        declared: Mapping[str, Mapping[str, Any]] = self.source.get("Parameters", {})
        return declared

    def resources(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """The properties of every resource of a type, by logical id; for a function what Globals add, too."""
        everywhere = self.source.get("Globals", {}).get("Function", {}) if kind == FUNCTION else {}
        found = self.source["Resources"].items()
        return {name: {**everywhere, **each.get("Properties", {})} for name, each in found if each["Type"] == kind}

    def file(self, logical_id: str) -> str:
        """The definition's file of a machine, beside the template."""
        return str(self.resources(MACHINE)[logical_id]["DefinitionS3Location"])

    def resolver(self, given: Mapping[str, object] | None = None) -> Resolver:
        """Resolves values of the template with these parameters; a resource is called by its logical id."""
        pseudo = {"AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::Region": REGION, "AWS::StackName": STACK}
        values = parameter_values(self.parameters, {name: str(value) for name, value in (given or {}).items()})
        return Resolver(
            {**values, **pseudo, "AWS::URLSuffix": "amazonaws.com"},
            self.source.get("Mappings", {}),
            self.source.get("Conditions", {}),
            lambda logical_id: logical_id,
            lambda logical_id, name: f"{logical_id}.{name}",
        )

    def under(self, given: Mapping[str, object], machine: Machine) -> Machine:
        """A machine under other values of the parameters, without another translation of the template."""
        substitutions = self.resources(MACHINE)[machine.logical_id].get("DefinitionSubstitutions", {})
        return _with(machine, json.dumps(self.resolver(given).resolve(substitutions)))

    def written(self, logical_id: str) -> Machine:
        """A machine whose definition is as it is written, placeholders included. Raises DefinitionError."""
        if logical_id not in self._read:
            properties = self.resources(MACHINE)[logical_id]
            file, kind = self.file(logical_id), str(properties.get("StateMachineType", "STANDARD"))
            value = read_definition(self.path.parent / file)
            written = _Definition((self.path.parent / file).read_text(), value)
            self._read[logical_id] = written, _machine(file, logical_id, kind, written, written)
        return self._read[logical_id][1]

    @functools.cached_property
    def translated(self) -> Template:
        return load(self.path)

    @functools.cached_property
    def definitions(self) -> dict[str, dict[str, Any]]:
        """By the machine's name, rendered with the parameters' defaults. Raises DefinitionError or TemplateError."""
        return rendered_definitions(self.path)

    @functools.cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Raises DefinitionError or TemplateError."""
        return tuple(self._machines())

    def _machines(self) -> Iterator[Machine]:
        for logical_id in self.resources(MACHINE):
            machine, value = self.written(logical_id), self.definitions[machine_name(logical_id)]
            written, _ = self._read[logical_id]
            yield _machine(machine.file, logical_id, machine.type, written, _Definition(json.dumps(value), value))
