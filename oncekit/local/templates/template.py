"""Reads template.yaml with its parameters and translates it from SAM to CloudFormation, as AWS would on deployment."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from oncekit.local.kept_files import KeptFiles, beside, makers
from oncekit.local.once_inside import noted_in
from oncekit.local.templates.definition import DefinitionError, FastLoader, read_yaml, why_not_read
from oncekit.local.templates.elsewhere import Elsewhere
from oncekit.local.templates.form import SECTIONS, check_form
from oncekit.local.templates.intrinsics import NoTemplate, TemplateError, as_list, as_text, readable
from oncekit.local.templates.sam import translate, with_includes

MOST_KEPT = 500
"""Translations, of 40 KB each: one run of the tests makes some hundred."""

__all__ = ["Template", "TemplateError", "load", "parameter_values", "parse"]

_KEPT = ("parameters", "body", "included", "not_read")
_OF_PARAMETER_STORE = "AWS::SSM::Parameter::Value"
"""How the type of a parameter begins whose value is the name of a parameter there."""


@dataclass(frozen=True)
class Template:
    """A template in plain CloudFormation, and the values of its parameters."""

    path: Path
    parameters: Mapping[str, str]
    body: Mapping[str, Any]
    elsewhere: Elsewhere
    included: Mapping[str, str | None] = field(default_factory=dict)
    """The files beside it that it takes parts of itself from, each with its digest."""
    not_read: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By logical id: the type of what SAM's translator or this cloud cannot read, and the reason. In `body` something
    stands for a resource; what an event of a function stands for has the id of both."""

    @property
    def folder(self) -> Path:
        """Code and definitions are named relative to it."""
        return self.path.parent

    def values(self) -> Mapping[str, str | list[str]]:
        """What Ref gives for each parameter: for one whose type is a list, a list; what Parameter Store has for one
        that names a value there. Raises TemplateError.
        """
        return {name: self._value(name, value) for name, value in self.parameters.items()}

    def _value(self, name: str, value: str) -> str | list[str]:
        kind = str(self.section("Parameters")[name].get("Type"))
        if kind.startswith(_OF_PARAMETER_STORE):
            value = self.elsewhere.resolved(f"ssm:{value}", self.path, name)
        return as_list(value) if "List" in kind else value

    def section(self, name: str) -> Mapping[str, Any]:
        section: Mapping[str, Any] = self.body.get(name) or {}
        return section


def load(
    path: Path,
    parameters: Mapping[str, object] | None = None,
    cache: Path | None = None,
    elsewhere: Elsewhere | None = None,
    how: str = "",
) -> Template:
    """The template at `path`, translated. A translation is kept in `cache` (default `build/local` beside the template),
    because the translator alone takes half a second to import.

    A parameter that is not given is taken from `elsewhere`, by default the file beside the template; of an application
    in another one it is not, and `how` it is given is said.
    Raises TemplateError for a parameter that is unknown, missing or out of bounds, and for what the translator refuses.
    """
    text = path.read_bytes()
    given = {name: as_text(value) for name, value in (parameters or {}).items()}
    elsewhere = elsewhere or Elsewhere.of(path)
    if not how and (elsewhere.has_parameters or elsewhere.missing is not None):
        declared = _parameters(_checked(text, path))
        given = {**elsewhere.parameters(declared, given, path), **given}
        _check_names(elsewhere, declared, path)
    kept = KeptFiles(cache or beside(path), "template", MOST_KEPT)
    key = json.dumps([makers("aws-sam-translator"), hashlib.sha256(text).hexdigest(), given], sort_keys=True)
    if (known := kept.get(key)) is not None:
        found = Template(path, **json.loads(known), elsewhere=elsewhere)
        if all(digest == _digest(path.parent / name) for name, digest in found.included.items()):
            return found
    source = _checked(text, path)
    for name in sorted(set(given) - _parameters(source).keys()):
        if place := _place_inside(source, path, name, path.parent):
            there = f"write `{name}: {given[name]}` in the Parameters of {place}"
            raise TemplateError(f"the template has no parameter {name}, but an application in it has: {there}")
    if not how:
        given = {**elsewhere.parameters(_parameters(source), given, path), **given}
    values = parameter_values(source.get("Parameters") or {}, given, str(path), how, elsewhere.place_of)
    files, not_read = with_includes(source, values, path, lambda file: _read(file.read_text(), file, _IncludedLoader))
    included = {name: _digest(path.parent / name) for name in files}
    body = translate(source, values, path, not_read)
    made = Template(path, values, body, elsewhere, included, not_read)
    kept.keep(key, json.dumps({name: getattr(made, name) for name in _KEPT}).encode())
    return made


def _digest(file: Path) -> str | None:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def parse(text: str, path: Path) -> dict[str, Any]:
    """The YAML of a template as plain values, short forms (`!Ref x`) written out (`{"Ref": "x"}`)."""
    template = _read(text, path)
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise TemplateError(f"{path} has no Resources")
    return template


def _checked(text: bytes, path: Path) -> dict[str, Any]:
    """The YAML of a template whose sections have the form that CloudFormation takes."""
    source = parse(text.decode(), path)
    check_form(path, source, SECTIONS)
    return source


def _read(text: str, path: Path, loader: Any = None) -> Any:
    try:
        return read_yaml(text, loader or _Loader)
    except yaml.YAMLError as error:
        raise TemplateError(f"{path} is not YAML: {why_not_read(error)}") from error
    except DefinitionError as error:
        raise TemplateError(f"{path} {error}") from error


def _parameters(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its parameters, as they are declared."""
    declared = source.get("Parameters")
    return declared if isinstance(declared, Mapping) else {}


def _check_names(elsewhere: Elsewhere, declared: Mapping[str, Any], path: Path) -> None:
    """Raises TemplateError for a parameter in the file that neither the template has nor another one beside it that
    Once is in, where that is not only asked for what is missing.
    """
    unknown = elsewhere.unknown(declared) if elsewhere.missing is None else []
    beside_it = [path.with_name(name) for name in noted_in(path.parent)] if unknown else []
    others = [_parameters(parse(each.read_text(), each)) for each in beside_it if each.is_file()]
    for name in unknown:
        if not any(name in each for each in others):
            has = f"it has {', '.join(sorted(declared))}" if declared else "it has none"
            raise NoTemplate(f"{elsewhere.place_of(name)}: {name} is no parameter of {path}; {has}")


def _place_inside(
    source: Mapping[str, Any], path: Path, name: str, folder: Path, around: tuple[Path, ...] = ()
) -> str | None:
    """The resource, and its file, whose application has a parameter of this name; None where none has."""
    for logical_id, each in source["Resources"].items():
        if not isinstance(each, Mapping) or each.get("Type") != "AWS::Serverless::Application":
            continue
        inner = path.parent / str((each.get("Properties") or {}).get("Location"))
        way = (*around, path.resolve())
        if inner.is_file() and inner.resolve() not in way:
            application = parse(inner.read_text(), inner)
            if name in _parameters(application):
                return f"the resource {logical_id} in {os.path.relpath(path, folder)}"
            if found := _place_inside(application, inner, name, folder, way):
                return found
    return None


OF_AN_APPLICATION = "the parameters of an application in it are set at its resource"


def parameter_values(
    declared: Mapping[str, Mapping[str, Any]],
    given: Mapping[str, str],
    template: str = "the template",
    how: str = "",
    place_of: Callable[[str], str | None] = lambda _name: None,
) -> dict[str, str]:
    """The value of every declared parameter, checked as CloudFormation does. `how` one is given is said, and where one
    is that the template has not.
    """
    if not isinstance(declared, Mapping):
        raise TemplateError(f"Parameters is {declared!r}, but must be an object")
    if unknown := sorted(set(given) - set(declared)):
        there = f"; it has {', '.join(sorted(declared))}" if declared else f", nor any other; {OF_AN_APPLICATION}"
        raise TemplateError(f"{template} has no parameter {', '.join(unknown)}{there}")
    of = {name: each for name, each in declared.items() if isinstance(each, Mapping)}
    if missing := [name for name, each in of.items() if name not in given and "Default" not in each]:
        raise TemplateError(f"parameter {', '.join(missing)} needs a value: {how}")
    values = {}
    for name, declaration in declared.items():
        with readable(f"parameter {name}"):
            values[name] = given.get(name, as_text(declaration.get("Default")))
            if problem := _out_of_bounds(values[name], declaration):
                place = place_of(name)
                raise TemplateError(
                    f"{f'{place}: ' if place else ''}parameter {name} is {values[name]!r}, but {problem}"
                )
    return values


def _out_of_bounds(value: str, declaration: Mapping[str, Any]) -> str | None:
    parts = [part.strip() for part in value.split(",")] if declaration.get("Type") == "CommaDelimitedList" else [value]
    allowed = [as_text(each) for each in declaration.get("AllowedValues", [])]
    if allowed and not set(parts) <= set(allowed):
        return f"must be one of {', '.join(allowed)}"
    pattern = str(declaration.get("AllowedPattern", ".*"))
    with suppress(re.error):  # CloudFormation's patterns are Java's, which has classes and groups that Python has not
        if any(re.fullmatch(pattern, part, re.DOTALL) is None for part in parts):
            return f"must be {declaration.get('ConstraintDescription', 'as ' + declaration['AllowedPattern'])}"
    if declaration.get("Type") == "Number":
        try:
            number = float(value)
        except ValueError:
            return "must be a number"
        if number < float(declaration.get("MinValue", number)):
            return f"must be at least {declaration['MinValue']}"
        if number > float(declaration.get("MaxValue", number)):
            return f"must be at most {declaration['MaxValue']}"
    return None


class _Loader(FastLoader):  # type: ignore[misc]  # a class in C, where there is one
    """YAML with CloudFormation's short forms."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        value = value.split(".", 1) if suffix == "GetAtt" else value
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]  # the third kind of node there is
    return {name: value}


class _IncludedLoader(FastLoader):  # type: ignore[misc]
    """YAML of a file of AWS::Include."""


def _no_short_form(_: yaml.SafeLoader, suffix: str, node: yaml.Node) -> None:
    line = node.start_mark.line + 1
    raise DefinitionError(f"has !{suffix} in line {line}: AWS takes no short forms in such a file, so write it out")


_Loader.add_multi_constructor("!", _short_form)
_IncludedLoader.add_multi_constructor("!", _no_short_form)
# A policy's `Version: 2012-10-17` is a text, as CloudFormation reads it, and no date.
for each in (_Loader, _IncludedLoader):
    each.add_constructor("tag:yaml.org,2002:timestamp", each.construct_scalar)
