"""once/operations.yaml: which function runs each operation, the triggers, and the alarms. A user's file, too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from oncekit.adoption.names import Operation
from oncekit.adoption.texts import names_in, parts
from oncekit.adoption.yaml_file import YamlFile
from oncekit.contract.own_stack import MACHINE
from oncekit.problem import Problem

_SETTINGS = ("Resources", MACHINE, "Properties", "Parameters")
PAYLOAD_ONLY = "PayloadOnlyOperations"
TRIGGERS = ("rule.yaml", "pipe.yaml")
_WATCHED = {
    "Errors": "fails. Its log says why; attempts are repeated or quarantined.",
    "Throttles": "is throttled - its reserved concurrency or the account's is used up. Attempts are repeated.",
}


class OperationsTemplate(YamlFile):
    """The template of a user's operations."""

    def known(self) -> Mapping[str, str]:
        """The operations, each with what it is told its function by, such as `${PayArn}`."""
        texts = [str(each.get("Fn::Sub", "") if isinstance(each, dict) else each) for each in self._list("Operations")]
        parts = (each.partition("=") for each in texts)
        return {name.strip(): function.strip() for name, _, function in parts}

    def add_parameter(self, name: str, description: str) -> None:
        """A parameter that the application's template gives."""
        if name not in (self.value.get("Parameters") or {}):
            self.append(("Parameters",), [f"{name}:", "  Type: String", f"  Description: {description}"])

    def set_once(self, name: str, value: str) -> None:
        """A parameter of Once itself, unless it is set."""
        if self.at(*_SETTINGS, name) is None:
            self.append(_SETTINGS, [f"{name}: {value}"])

    def add_operation(self, operation: Operation, function: str, payload_only: bool) -> None:
        """Name its function, by a parameter, and let alarms watch it."""
        self._enlist("Operations", f'!Sub "{operation.name}=${{{function}}}"')
        if payload_only:
            self.give_payload(operation)
        for metric, what in _WATCHED.items():
            places = {**operation.places, "Metric": metric, "what": what, "function": function}
            self.append_resources(parts("alarm.yaml", **places))

    def allow_effects(self, operation: Operation, role: str) -> None:
        """Let a role, named by a parameter, keep large answers of an operation and note steps in its records."""
        if f"{operation.camel}EffectsPolicy" not in self.value["Resources"]:
            self.append_resources(parts("effects.yaml", **operation.places, role=role))

    def allow_direct_lane(self, operation: Operation, role: str) -> None:
        """Let a role, named by a parameter, take the lock of an operation itself; what steps need it has."""
        if f"{operation.camel}DirectLanePolicy" not in self.value["Resources"]:
            self.append_resources(parts("direct.yaml", **operation.places, role=role))

    def payload_only(self) -> list[Any]:
        """The operations whose functions get the payload alone."""
        given = self.at(*_SETTINGS, PAYLOAD_ONLY)
        return [each.strip() for each in given.split(",")] if isinstance(given, str) else self._list(PAYLOAD_ONLY)

    def give_payload(self, operation: Operation) -> None:
        """Its function gets the payload alone."""
        if operation.name not in self._list(PAYLOAD_ONLY):
            self._enlist(PAYLOAD_ONLY, operation.name)

    def give_request(self, operation: Operation) -> None:
        """Its function gets the request, where it got the payload alone."""
        there = self._list(PAYLOAD_ONLY)
        if self.at(*_SETTINGS, PAYLOAD_ONLY) is not None and not all(isinstance(each, str) for each in there or [None]):
            raise Problem(
                f"{self.path}: take {operation.name} out of {PAYLOAD_ONLY} of Machine by hand, then try again"
            )
        if operation.name in there:
            self.remove((*_SETTINGS, PAYLOAD_ONLY))
            for each in there:
                if each != operation.name:
                    self._enlist(PAYLOAD_ONLY, each)

    def drop_triggers(self, operation: Operation) -> list[str]:
        """Take away what makes requests of an operation. Gives the parameters that it named."""
        names = [
            name for file in TRIGGERS for name in names_in(file, operation.camel) if name in self.value["Resources"]
        ]
        gone = json.dumps([self.value["Resources"][name] for name in names])
        for name in names:
            self.remove(("Resources", name), apart=True)
        return [name for name in self.value["Parameters"] if f'{{"Ref": "{name}"}}' in gone]

    def is_named(self, parameter: str) -> bool:
        return f'{{"Ref": "{parameter}"}}' in json.dumps([self.value["Resources"], self.value.get("Conditions")])

    def not_in(self, machine: Mapping[str, Any]) -> Iterator[str]:
        """The parameters and the outputs of Once that it names, and that this template of Once does not have."""
        given = sorted((self.at(*_SETTINGS) or {}).keys() - machine["Parameters"].keys())
        yield from (f"the parameter {name} of Machine" for name in given)
        used = set(re.findall(rf'"{MACHINE}", "Outputs\.(\w+)"', json.dumps(self.value)))
        yield from (f"Machine.Outputs.{name}" for name in sorted(used - machine["Outputs"].keys()))

    def _list(self, setting: str) -> list[Any]:
        """The entries of a list that Once takes as one text; none where it is not written as `once new` does."""
        entries = self.at(*_SETTINGS, setting, "Fn::Join", "1")
        return entries if isinstance(entries, list) else []

    def _enlist(self, setting: str, entry: str) -> None:
        """Add an entry to a list that Once takes as one text."""
        items = (*_SETTINGS, setting, "Fn::Join", "1")
        if self.at(*_SETTINGS, setting) is None:
            self.append(_SETTINGS, [f"{setting}: !Join", '  - ","', f"  - - {entry}"])
        else:
            self.append(items, [f"- {entry}"])
