"""once/operations.yaml: which function runs each operation, the triggers, and the alarms. A user's file, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oncekit.adoption.names import Operation
from oncekit.adoption.problem import Problem
from oncekit.adoption.texts import parts
from oncekit.adoption.yaml_file import YamlFile

_SETTINGS = ("Resources", "Machine", "Properties", "Parameters")
_WATCHED = {
    "Errors": "fails. Its log says why; attempts are repeated or quarantined.",
    "Throttles": "is throttled - its reserved concurrency or the account's is used up. Attempts are repeated.",
}


class OperationsTemplate(YamlFile):
    """The template of a user's operations."""

    def refuse_known(self, operation: Operation) -> None:
        """Raises Problem for an operation that is there."""
        if operation.name in self.known():
            raise Problem(f"{self.path} has the operation {operation.name} already")

    def known(self) -> list[str]:
        """The operations."""
        entries = self.at(*_SETTINGS, "Operations", "Fn::Join", "1") or []
        texts = [each.get("Fn::Sub", "") if isinstance(each, dict) else each for each in entries]
        return [str(each).partition("=")[0].strip() for each in texts]

    def add_parameter(self, name: str, description: str) -> None:
        """A parameter that the application's template gives."""
        if name not in (self.value.get("Parameters") or {}):
            self.append(("Parameters",), [f"{name}:", "  Type: String", f"  Description: {description}"])

    def set_once(self, name: str, value: str) -> None:
        """A parameter of Once itself, unless it is set."""
        if self.at(*_SETTINGS, name) is None:
            self.append(_SETTINGS, [f"{name}: {value}"])

    def add_operation(
        self, operation: Operation, names: tuple[str, str | None], step: bool, payload_only: bool
    ) -> None:
        """Name its function, and let alarms watch it. `names` are the parameters of the function and of its role."""
        function, role = names
        self._enlist("Operations", f'!Sub "{operation.name}=${{{function}}}"')
        if role is not None:
            self._enlist("FunctionRoles", f"!Ref {role}")
        if role is not None and step:
            self._enlist("StepRoles", f"!Ref {role}")
        if payload_only:
            self._enlist("PayloadOnlyOperations", operation.name)
        for metric, what in _WATCHED.items():
            places = {**operation.places, "Metric": metric, "what": what, "function": function}
            self.append_parts(parts("alarm.yaml", **places))

    def _enlist(self, setting: str, entry: str) -> None:
        """Add an entry to a list that Once takes as one text."""
        items = (*_SETTINGS, setting, "Fn::Join", "1")
        if self.at(*_SETTINGS, setting) is None:
            self.append(_SETTINGS, [f"{setting}: !Join", '  - ","', f"  - - {entry}"])
        else:
            self.append(items, [f"- {entry}"])

    def append_parts(self, resources: Sequence[list[str]]) -> None:
        """Add resources. Raises Problem when there is one of a name."""
        there: Mapping[str, Any] = self.value["Resources"]
        for lines in resources:
            name = next(line for line in lines if not line.startswith("#")).rstrip(":")
            if name in there:
                raise Problem(f"{self.path} has a resource {name} already")
            self.append(("Resources",), lines, apart=True)
