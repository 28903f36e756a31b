"""What the gate looks at: the template, as it is written and as it is deployed, and the machines that it names."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncekit.gate.machine import Machine
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.definition import read_definition, render_definition
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
class Project:
    """A template and the files that it names."""

    path: Path
    source: Mapping[str, Any]
    """The template with its short forms written out."""

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

    def rendered(self, logical_id: str, given: Mapping[str, object]) -> dict[str, Any]:
        """A machine's definition under other values of the parameters, without another translation of the template."""
        substitutions = self.resources(MACHINE)[logical_id].get("DefinitionSubstitutions", {})
        path = self.path.parent / self.file(logical_id)
        return render_definition(path, self.resolver(given).resolve(substitutions))

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
        for logical_id, properties in self.resources(MACHINE).items():
            file = self.file(logical_id)
            written = read_definition(self.path.parent / file)
            kind = str(properties.get("StateMachineType", "STANDARD"))
            yield Machine(file, logical_id, self.definitions[machine_name(logical_id)], written, kind)
