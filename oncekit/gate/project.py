"""What the gate looks at: the template, and the machines that it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oncekit.gate.machine import Machine
from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.deployment.resources import STACK
from oncekit.local.templates.definition import read_definition, rendered
from oncekit.local.templates.intrinsics import Resolver
from oncekit.local.templates.template import parameter_values, parse

MACHINE = "AWS::StepFunctions::StateMachine"
FUNCTION = "AWS::Serverless::Function"


class Project:
    """A template and the definitions that it names. Raises TemplateError and DefinitionError as they are read."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._source = parse(path.read_text(), path)
        self.parameters: Mapping[str, Mapping[str, Any]] = self._source.get("Parameters", {})

    def resources(self, kind: str) -> dict[str, Mapping[str, Any]]:
        """The properties of every resource of a type, by logical id."""
        found = self._source["Resources"].items()
        return {name: each.get("Properties", {}) for name, each in found if each["Type"] == kind}

    def resolver(self, given: Mapping[str, object]) -> Resolver:
        """Resolves values of the template with these parameters; a resource is called by its logical id."""
        pseudo = {"AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::Region": REGION, "AWS::StackName": STACK}
        values = parameter_values(self.parameters, {name: str(value) for name, value in given.items()})
        return Resolver(
            {**values, **pseudo, "AWS::URLSuffix": "amazonaws.com"},
            self._source.get("Mappings", {}),
            self._source.get("Conditions", {}),
            lambda logical_id: logical_id,
            lambda logical_id, name: f"{logical_id}.{name}",
        )

    def machines_under(self, given: Mapping[str, object]) -> list[Machine]:
        """Rendered with these values of the parameters."""
        resolver = self.resolver(given)
        return [self._machine(properties, resolver) for properties in self.resources(MACHINE).values()]

    def _machine(self, properties: Mapping[str, Any], resolver: Resolver) -> Machine:
        file = str(properties["DefinitionS3Location"])
        substitutions = resolver.resolve(properties.get("DefinitionSubstitutions", {}))
        definition = rendered(read_definition(self._folder / file), substitutions, self._folder / file)
        return Machine(file, definition, str(properties.get("StateMachineType", "STANDARD")))
