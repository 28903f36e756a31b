"""Adds an operation: a function, new or there already, what makes requests of events, and what tells how it gets on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

from oncekit.adoption import direct_lane, fixture, folder
from oncekit.adoption.application_template import ARCHITECTURE, ApplicationTemplate
from oncekit.adoption.code import may_run_here
from oncekit.adoption.inside import check_inside
from oncekit.adoption.names import Operation
from oncekit.adoption.operations_template import OperationsTemplate
from oncekit.adoption.texts import parts, text
from oncekit.adoption.trigger import QUEUE, Trigger
from oncekit.contract.own_stack import ONCE
from oncekit.problem import Problem

EXAMPLE = {"item": "tea", "quantity": 2}
"""The payload of an operation when nobody has given an example."""
WIDTH = 116
"""Characters in a line of a warning that a test repeats."""


@dataclass(frozen=True)
class Wanted:
    """An operation as it was asked for."""

    operation: Operation
    function: str | None = None
    """The logical id of one that is there."""
    step: bool = False
    trigger: Trigger | None = None
    example: Any = None
    """What is sent to the trigger; without one, the payload."""
    payload_only: bool = False
    """Whether its function gets the payload alone as its event."""
    replace: bool = False
    """Whether it is there, and all but its function is written anew."""
    direct: bool = False
    """Whether its function takes the lock itself, and keeps its own event."""

    @property
    def lacks_payload(self) -> bool:
        """Whether only somebody who knows the function can say what it takes."""
        return self.function is not None and self.example is None

    def request(self) -> Mapping[str, Any]:
        """A request to try it with. Raises Problem for an example that has no key or no payload."""
        key: Any = f"{self.operation.name}-1"
        payload: Any = EXAMPLE if self.function is None else {}
        if self.example is not None:
            key, payload = self.trigger.request(self.example) if self.trigger else (key, self.example)
        if not isinstance(payload, dict):
            raise Problem("--example: the payload must be an object")
        if not isinstance(key, str | int) or isinstance(key, bool) or not 0 < len(str(key)) <= 256:
            raise Problem("--example: the key must be a text of 1 to 256 characters, or a whole number")
        from once.canonical import fault

        if (told := fault(self.operation.name, "default", str(key), payload)) is not None:
            raise Problem(f"--example: {told}")
        request = {"operation": self.operation.name, "idempotencyKey": str(key), "payload": payload}
        on_crash = self.trigger.on_crash if self.trigger else None
        return request | ({"onCrash": on_crash} if on_crash else {})


@dataclass
class Additions:
    """What will be written, all of it or nothing."""

    root: Path
    template: ApplicationTemplate
    operations: OperationsTemplate
    files: dict[str, str] = field(default_factory=dict)
    warn: Callable[[ApplicationTemplate, Wanted], Iterable[str]] = lambda _template, _wanted: ()
    """What keeps a function from running well as it is: its test repeats that."""

    @classmethod
    def to(cls, template: Path) -> Additions:
        """Raises Problem where Once is not beside the application."""
        there = template.parent / folder.NAME / folder.OPERATIONS
        check_inside(template.parent, template, there)
        application = ApplicationTemplate(template)
        application.check()
        if not application.has_once or not there.is_file():
            raise Problem(f"{template} has no Once yet: run `once init` first")
        return cls(template.parent, application, OperationsTemplate(there))

    def add(self, wanted: Wanted) -> None:
        """Raises Problem for what is there already, and for what the template does not have.

        An operation that is there is brought what its function needs since it imports the library.
        """
        self._check(wanted)
        if wanted.replace:
            self._replace(wanted)
        elif wanted.operation.name in self.operations.known():
            self._renew(wanted)
        else:
            self._add(wanted)
        if wanted.direct and wanted.function is not None:
            direct_lane.equip(self.template, self.operations, wanted.operation, wanted.function)
            self._add_direct_test(wanted, wanted.function)
        if self.files and fixture.is_lacking(self.template.path) and not (self.root / fixture.CONFTEST).exists():
            self._file(fixture.CONFTEST, fixture.conftest(self.template.path), wanted)

    def _add(self, wanted: Wanted) -> None:
        function = self._new_function(wanted) if wanted.function is None else self._known_function(wanted.function)
        self.operations.add_operation(wanted.operation, function, wanted.payload_only)
        if not wanted.payload_only:
            self._allow_effects(wanted.operation, wanted.function or f"{wanted.operation.camel}Function")
        if wanted.trigger is not None:
            self._add_trigger(wanted.operation, wanted.trigger)
        self._add_tests(wanted)

    def function_of(self, operation: Operation, given: str | None) -> str:
        """The function of an operation that is there. Raises Problem where there is none, or another one is given."""
        named = self.operations.known().get(operation.name)
        if named is None:
            raise Problem(f"{self.operations.path} has no operation {operation.name}: leave --replace out")
        logical_id = named.removeprefix("${").removesuffix("Arn}")
        if logical_id not in self.template.resources or given not in (None, logical_id):
            raise Problem(f"{operation.name} is run by {named}, and --replace keeps its function: change it by hand")
        return logical_id

    def _replace(self, wanted: Wanted) -> None:
        former = self.operations.drop_triggers(wanted.operation)
        if wanted.payload_only:
            self.operations.give_payload(wanted.operation)
        elif wanted.function is not None:
            self.operations.give_request(wanted.operation)
            self._allow_effects(wanted.operation, wanted.function)
        if wanted.trigger is not None:
            self._add_trigger(wanted.operation, wanted.trigger)
        for each in former:
            if not self.operations.is_named(each):
                self.operations.remove(("Parameters", each))
                self.template.remove(("Resources", ONCE, "Properties", "Parameters", each))
        self._add_tests(wanted)

    def _check(self, wanted: Wanted) -> None:
        if wanted.trigger is not None and (source := wanted.trigger.source) is not None:
            option = "--from-queue" if source.type == QUEUE else "--from-rule"
            if wanted.trigger.elsewhere is None:
                self.template.resource(option, source.logical_id, source.type)
        if wanted.function is not None:
            self.template.function(wanted.function)
            if wanted.direct:
                direct_lane.check(self.template, self.operations, wanted.operation, wanted.function)

    def _renew(self, wanted: Wanted) -> None:
        """Raises Problem where more, or something else, is asked for an operation that is there."""
        there = f"{self.operations.path} has the operation {wanted.operation.name} already"
        named = self.operations.known()[wanted.operation.name]
        if wanted.function is None or named != f"${{{wanted.function}Arn}}":
            by = f"is run by {named.removeprefix('${').removesuffix('Arn}')}" if named else "has no function"
            raise Problem(f"{there}, which {by}: choose another name for this one")
        if wanted.trigger is not None or (wanted.example is not None and not wanted.direct):
            raise Problem(
                f"{there}: give --replace to write it anew, or --function only, to bring it what its function needs now"
            )
        if wanted.payload_only:
            raise Problem(f"{there}, and {wanted.function}, which gets the payload alone, needs no more")
        self.operations.give_request(wanted.operation)
        self._allow_effects(wanted.operation, wanted.function)

    def _new_function(self, wanted: Wanted) -> str:
        """Its parameter."""
        operation, places = wanted.operation, wanted.operation.places
        function = text("function.yaml", **places) + (text("function_table.yaml", **places) if wanted.step else "")
        resources = [function.rstrip("\n").split("\n"), *parts("log_group.yaml", **places)]
        self.template.add_library()
        self._tell(ARCHITECTURE, f"!Ref {ARCHITECTURE}", "Processor of Once's own functions, arm64 or x86_64.")
        self.operations.set_once(ARCHITECTURE, f"!Ref {ARCHITECTURE}")
        self.template.append_resources(resources + (parts("table.yaml", **places) if wanted.step else []))
        logical_id = f"{operation.camel}Function"
        self._tell(f"{logical_id}Arn", f"!Ref {logical_id}.Alias", f"ARN of the function of {operation.name}.")
        code = f"functions/{operation.folder}"
        self._file(f"{code}/app.py", text("step_app.py.txt" if wanted.step else "app.py.txt", **places), wanted)
        self._file(f"{code}/schema.json", _json(schema_of(operation.name, wanted.request()["payload"])), wanted)
        return f"{logical_id}Arn"

    def _known_function(self, logical_id: str) -> str:
        """Its parameter."""
        properties = self.template.function(logical_id)
        value = f"!Ref {logical_id}.Alias" if properties.get("AutoPublishAlias") else f"!GetAtt {logical_id}.Arn"
        self._tell(f"{logical_id}Arn", value, f"ARN of {logical_id}.")
        return f"{logical_id}Arn"

    def _allow_effects(self, operation: Operation, logical_id: str) -> None:
        """Let the function keep large answers of its operation and note steps in its records."""
        if (role := self.template.role_of(logical_id)) is not None:
            self._tell(role, f"!Ref {role}", f"Name of the role of {logical_id}.")
            self.operations.allow_effects(operation, role)

    def _add_trigger(self, operation: Operation, trigger: Trigger) -> None:
        if (source := trigger.source) is not None:
            self._tell(source.parameter, source.value, f"{source.suffix.replace('Arn', 'ARN')} of {source.logical_id}.")
        self.operations.append_resources(trigger.resources(operation))

    def _tell(self, name: str, value: str, description: str) -> None:
        self.template.tell_once(name, value)
        self.operations.add_parameter(name, description)

    def _add_direct_test(self, wanted: Wanted, function: str) -> None:
        """One that sends the function's own event, and lets the owner die."""
        warned = _warned(self.warn(self.template, wanted))
        imports, unless = "", ""
        if wanted.lacks_payload:
            imports, unless = "import pytest\n", text("test_skip_own_event.txt")
        places = {**wanted.operation.places, "function": function, "imports": imports, "unless": unless}
        places |= {"warned": warned, "told": 'f"{told}\\n{__doc__}"' if warned else "told"}
        event = f"events/{wanted.operation.name}-own-event.json"
        if wanted.example is not None or not (self.root / event).exists():
            self._file(event, _json({} if wanted.example is None else wanted.example), wanted)
        self._file(f"tests/test_{wanted.operation.folder}_direct.py", text("test_direct.py.txt", **places), wanted)

    def _add_tests(self, wanted: Wanted) -> None:
        if wanted.direct:
            return
        operation, places = wanted.operation, wanted.operation.places
        warned = _warned(self.warn(self.template, wanted))
        is_run = wanted.function is None or may_run_here(self.template, wanted.function)
        unless = text("test_skip.txt") if wanted.lacks_payload and is_run else ""
        skip = "" if is_run else text("test_skip_not_here.txt")
        imports = text("test_skip_imports.txt") if unless or skip else ""
        why = 'f"{first.why}\\n{__doc__}"' if warned else "first.why"
        test = text("test.py.txt", **places, imports=imports, skip=skip, why=why, warned=warned, unless=unless)
        if wanted.trigger is not None and wanted.example is not None:
            self._file(f"events/{operation.name}-{wanted.trigger.example_name}.json", _json(wanted.example), wanted)
            test += wanted.trigger.test(operation, "\\n{__doc__}" if warned else "")
        if wanted.step or wanted.function is not None:
            test += text("test_matrix.py.txt", unless=unless)
        request = f"events/{operation.name}.json"
        if wanted.example is not None or not wanted.replace or not (self.root / request).exists():
            self._file(request, _json(wanted.request()), wanted)
        self._file(f"tests/test_{operation.folder}.py", test, wanted)

    def _file(self, name: str, content: str, wanted: Wanted) -> None:
        check_inside(self.root, self.root / name)
        if (self.root / name).exists() and not wanted.replace:
            raise Problem(f"{self.root / name} is there already: rename it, or choose another name for the operation")
        self.files[name] = content

    def save(self) -> list[str]:
        """Write everything. Gives the names of the files, those that were changed first."""
        changed = [each for each in (self.template, self.operations) if each.save()]
        for name, content in self.files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return [*(each.path.relative_to(self.root).as_posix() for each in changed), *self.files]


def _warned(told: Iterable[str]) -> str:
    """What is added to a test's text: the warnings, one a paragraph."""
    lines = [line for each in told for line in wrap(f"- {each}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "...")
    return f"\n\n`once new` warned, when it wrote this:\n\n{text}\n" if lines else ""


def _json(value: Any) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def schema_of(operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema for payloads like this one. Further members are allowed: events get new ones."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Payload of {operation}",
        **_of(payload),
    }


def _of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        required = {"required": sorted(value)} if value else {}
        return {"type": "object", **required, "properties": {name: _of(each) for name, each in value.items()}}
    if isinstance(value, list):
        return {"type": "array"}
    if value is None:
        return {}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds[type(value)]}
