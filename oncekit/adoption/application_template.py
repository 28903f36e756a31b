"""The application's own template: the resource Once in it, and what of it Once is told by parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oncekit.adoption import folder
from oncekit.adoption.texts import parts, text
from oncekit.adoption.yaml_file import Keys, YamlFile
from oncekit.contract.own_stack import ONCE
from oncekit.local.templates.form import RESOURCES, SECTIONS, check_form, forms_of_functions
from oncekit.local.templates.sam import EXTENSIONS, SAM
from oncekit.own_template import template_of
from oncekit.problem import Problem

LIBRARY = "OnceLibrary"
ARCHITECTURE = "Architecture"
USUAL = "x86_64"
"""Of a function, and of a layer that SAM builds, that names no processor."""
APPLICATION = "AWS::Serverless::Application"
STACK = "AWS::CloudFormation::Stack"
FUNCTIONS = ("AWS::Serverless::Function", "AWS::Lambda::Function")
WHY_PROD = "prod keeps records and answers when the stack is deleted"
LOCATION = f"{folder.NAME}/{folder.OPERATIONS}"


class ApplicationTemplate(YamlFile):
    """The template of the user's application."""

    @property
    def resources(self) -> Mapping[str, Mapping[str, Any]]:
        """Those that are written in it: a function such as Fn::Transform gives others."""
        there = self.value["Resources"].items()
        return {name: each for name, each in there if isinstance(each, dict) and "Type" in each}

    @property
    def has_once(self) -> bool:
        """Whether it has the resource. Raises Problem when another resource has its name."""
        there = self.resources.get(ONCE)
        if there is None:
            return False
        if there.get("Type") != APPLICATION or self.at("Resources", ONCE, "Properties", "Location") != LOCATION:
            raise Problem(f"{self.path} has a resource {ONCE} of its own: rename that one")
        return True

    def check(self) -> None:
        """Raises Problem for a template that SAM does not transform, or not first; TemplateError for a form that AWS
        would refuse.

        LanguageExtensions follows references before SAM makes its aliases and roles, and finds none of them:
        https://github.com/aws/serverless-application-model/issues/2778
        """
        transform = self.value.get("Transform")
        transforms = transform if isinstance(transform, list) else [transform]
        if SAM not in transforms:
            raise Problem(f"{self.path} is not a template of SAM: it needs Transform: {SAM}")
        if EXTENSIONS in transforms:
            raise Problem(
                f"{self.path} has Transform: {EXTENSIONS}, which does not find the roles and the aliases that SAM "
                "makes: move the functions for Once to a template without it"
            )
        check_form(self.path, self.value, SECTIONS, RESOURCES, forms_of_functions(self.value, FUNCTIONS))

    def add_once(self) -> None:
        """For the stage dev."""
        self.append(("Resources",), text("once.yaml", stage=f"dev # {WHY_PROD}").splitlines(), apart=True)

    def add_library(self) -> None:
        """What every new function needs: the library, and the processor of both."""
        lines, parameters = text("architecture.yaml").splitlines(), self.value.get("Parameters")
        if not parameters:
            self.append((), ["Parameters:", *(f"  {line}" for line in lines)], apart=True)
        elif ARCHITECTURE not in parameters:  # one that is there is taken as it is
            self.append(("Parameters",), lines)
        self._add_layer("python3.13", f"!Ref {ARCHITECTURE}")

    def give_library(self, logical_id: str) -> None:
        """A layer with the library for a function that has none, made for its Runtime and its processor."""
        function = self.function(logical_id)
        processors = function.get("Architectures") or [USUAL]
        processor = processors[0] if isinstance(processors, list) else processors
        self._add_layer(_written(function.get("Runtime", "python3.13")), _written(processor))
        own = ("Resources", logical_id, "Properties")
        if self.at(*own, "Layers") is None:
            self.append(own, [f"Layers: [!Ref {LIBRARY}]"])
        else:
            self.append((*own, "Layers"), [f"- !Ref {LIBRARY}"])

    def _add_layer(self, runtime: str, architecture: str) -> None:
        if LIBRARY not in self.resources:
            self.append_resources(parts("library.yaml", runtime=runtime, architecture=architecture))

    def give_variable(self, logical_id: str, name: str, value: str) -> None:
        """A variable of the environment of a function, unless it has it."""
        everywhere = self.at("Globals", "Function", "Environment", "Variables") or {}
        place: Keys = ("Resources", logical_id, "Properties")
        line, within = f"{name}: {value}", ["Environment", "Variables"]
        if name in everywhere or self.at(*place, *within, name) is not None:
            return
        while within and self.at(*place, within[0]) is not None:
            place = (*place, within.pop(0))
        for each in reversed(within):
            line = f"{each}: {{ {line} }}"
        self.append(place, [line])

    def tell_once(self, name: str, value: str) -> None:
        """Give Once a parameter."""
        properties = ("Resources", ONCE, "Properties")
        if self.at(*properties, "Parameters") is None:
            self.append(properties, ["Parameters:", f"  {name}: {value}"])
        elif self.at(*properties, "Parameters", name) is None:
            self.append((*properties, "Parameters"), [f"{name}: {value}"])

    def function(self, logical_id: str) -> Mapping[str, Any]:
        """The properties of a function, with those of Globals. Raises Problem."""
        self.resource("--function", logical_id, *FUNCTIONS)
        everywhere = self.at("Globals", "Function") or {}
        return {**everywhere, **(self.resources[logical_id].get("Properties") or {})}

    def role_of(self, logical_id: str) -> str | None:
        """The logical id of the role of a function, its own or the one that SAM makes; None where none can be named."""
        match self.function(logical_id).get("Role"):
            case None:
                return f"{logical_id}Role"
            case {"Fn::GetAtt": [str() as role, "Arn"]}:
                return role
        return None

    def layers(self, logical_id: str) -> list[Any]:
        """The layers of a function: those of Globals are added to its own."""
        own = self.resources[logical_id].get("Properties") or {}
        return [*(self.at("Globals", "Function", "Layers") or []), *(own.get("Layers") or [])]

    def layer_folders(self, logical_id: str) -> list[Path]:
        """The folders that the template makes its layers of."""
        named = [str(each["Ref"]) for each in self.layers(logical_id) if isinstance(each, dict) and "Ref" in each]
        places = [(self.resources.get(each, {}).get("Properties") or {}).get("ContentUri") for each in named]
        return [self.path.parent / each for each in places if isinstance(each, str)]

    def from_elsewhere(self, name: str) -> str | None:
        """What stands in the template for a bus or a queue that it takes from elsewhere; None where it takes none.

        That is a reference to a parameter, to what another stack exports, or the name itself.
        """
        if name in self.resources:
            return None
        if name in (self.value.get("Parameters") or {}):
            return f"!Ref {name}"
        there = list(_inside(self.value))
        return f"!ImportValue {name}" if {"Fn::ImportValue": name} in there else name if name in there else None

    def resource(self, option: str, logical_id: str, *types: str) -> None:
        """Raises Problem unless there is such a resource of one of these types."""
        of_type = sorted(name for name, each in self.resources.items() if each.get("Type") in types)
        if logical_id not in of_type:
            kind = types[0].rpartition("::")[2].lower()
            has = f"it has {', '.join(of_type)}" if of_type else "it has none"
            what = f"{logical_id} is a {self.resources[logical_id]['Type']}" if logical_id in self.resources else ""
            if not what and (inside := self._inside(logical_id)) is not None:
                raise Problem(
                    f"{option} {logical_id}: it is in {inside}, an application inside of {self.path}: put Once into "
                    f"that one, by `once init --template {inside}`, and give this --template here, too"
                )
            raise Problem(f"{option} {logical_id}: {what or f'{self.path} has no {kind} of this name'}; {has}")

    def _inside(self, logical_id: str, around: tuple[Path, ...] = ()) -> Path | None:
        """The template inside of this one, on this machine, that has a resource."""
        way = (*around, self.path.resolve())
        for name, each in self.resources.items():
            place = _location(each) if name != ONCE else None
            if place is None or not (path := self.path.parent / place).is_file() or path.resolve() in way:
                continue
            inner = type(self)(path)
            if logical_id in inner.resources:
                return path
            if (found := inner._inside(logical_id, way)) is not None:
                return found
        return None


def _location(resource: Mapping[str, Any]) -> str | None:
    """The template of an application, as far as it is a file."""
    properties = resource.get("Properties")
    place = properties.get("Location", properties.get("TemplateURL")) if isinstance(properties, dict) else None
    return place if resource.get("Type") in (APPLICATION, STACK) and isinstance(place, str) else None


def _inside(node: Any) -> Iterator[Any]:
    """All values in a value."""
    yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _inside(each)


def _written(value: Any) -> str:
    return f"!Ref {value['Ref']}" if isinstance(value, dict) and "Ref" in value else str(value)


def find_template(root: Path, given: Path | None) -> Path | None:
    """The template of the application in a folder; None where there is none. Raises Problem if `given` is missing."""
    if given is not None:
        if not given.is_file():
            raise Problem(f"there is no template at {given}")
        return given
    return template_of(root)
