"""Reads template.yaml with its parameters and translates it from SAM to CloudFormation, as AWS would on deployment."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from oncekit.local.definition import DefinitionError, FastLoader, read_yaml
from oncekit.local.elsewhere import Elsewhere
from oncekit.local.intrinsics import TemplateError, as_list, as_text, readable
from oncekit.local.kept_files import KeptFiles, beside, makers

FILE_SCHEME = "s3://local/"
"""Where the translator is told that code is; it insists on S3, and the part behind this is the path in the project."""

MOST_KEPT = 500
"""Translations, of 40 KB each: one run of the tests makes some hundred."""

__all__ = ["FILE_SCHEME", "Template", "TemplateError", "load", "parameter_values", "parse"]

_CODE = "CodeUri"
_CODES = (_CODE, "InlineCode", "ImageUri", "PackageType")
"""What says where the code of a function is; the last one, that it is an image, which `sam build` makes."""
_OF_PARAMETER_STORE = "AWS::SSM::Parameter::Value"
"""How the type of a parameter begins whose value is the name of a parameter there."""
_PATHS = (_CODE, "ContentUri", "DefinitionUri")
_DEFINITION = "DefinitionS3Location"
"""The path of a definition in a machine that is not of SAM's own type."""


@dataclass(frozen=True)
class Template:
    """A template in plain CloudFormation, and the values of its parameters."""

    path: Path
    parameters: Mapping[str, str]
    body: Mapping[str, Any]
    elsewhere: Elsewhere

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
    if not how and elsewhere.has_parameters:
        given = {**elsewhere.parameters(_parameters(parse(text.decode(), path)), given, path), **given}
    kept = KeptFiles(cache or beside(path), "template", MOST_KEPT)
    key = json.dumps([makers("aws-sam-translator"), hashlib.sha256(text).hexdigest(), given], sort_keys=True)
    if (known := kept.get(key)) is not None:
        return Template(path, **json.loads(known), elsewhere=elsewhere)
    source = parse(text.decode(), path)
    for name in sorted(set(given) - _parameters(source).keys()):
        if place := _place_inside(source, path, name, path.parent):
            there = f"write `{name}: {given[name]}` in the Parameters of {place}"
            raise TemplateError(f"the template has no parameter {name}, but an application in it has: {there}")
    if not how:
        given = {**elsewhere.parameters(_parameters(source), given, path), **given}
    values = parameter_values(source.get("Parameters") or {}, given, str(path), how, elsewhere.place_of)
    body = _translate(source, values, path)
    kept.keep(key, json.dumps({"parameters": values, "body": body}).encode())
    return Template(path, values, body, elsewhere)


def parse(text: str, path: Path) -> dict[str, Any]:
    """The YAML of a template as plain values, short forms (`!Ref x`) written out (`{"Ref": "x"}`)."""
    try:
        template = read_yaml(text, _Loader)
    except yaml.YAMLError as error:
        raise TemplateError(f"{path} is not YAML: {error}") from error
    except DefinitionError as error:
        raise TemplateError(f"{path} {error}") from error
    if not isinstance(template, dict) or not isinstance(template.get("Resources"), dict):
        raise TemplateError(f"{path} has no Resources")
    return template


def _parameters(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its parameters, as they are declared."""
    declared = source.get("Parameters")
    return declared if isinstance(declared, Mapping) else {}


def _place_inside(source: Mapping[str, Any], path: Path, name: str, folder: Path) -> str | None:
    """The resource, and its file, whose application has a parameter of this name; None where none has."""
    for logical_id, each in source["Resources"].items():
        if not isinstance(each, Mapping) or each.get("Type") != "AWS::Serverless::Application":
            continue
        inner = path.parent / str((each.get("Properties") or {}).get("Location"))
        if inner.is_file():
            application = parse(inner.read_text(), inner)
            if name in _parameters(application):
                return f"the resource {logical_id} in {os.path.relpath(path, folder)}"
            if found := _place_inside(application, inner, name, folder):
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
    is_judged = r"\p" not in pattern  # CloudFormation's patterns are Java's, which has classes that Python has not
    if is_judged and any(re.fullmatch(pattern, part, re.DOTALL) is None for part in parts):
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


def _translate(source: dict[str, Any], values: Mapping[str, str], path: Path) -> dict[str, Any]:
    # Here, since importing it takes longer than everything else that a kept translation needs.
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.translator.transform import transform

    from oncekit.local.isolation import no_other_cloud

    # It warns that the metrics it collects for its makers were not published.
    logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)
    # And of each API that a feature which only AWS can switch on is not.
    logging.getLogger("samtranslator.feature_toggle.feature_toggle").setLevel(logging.ERROR)

    class NoManagedPolicies:
        """Names of managed policies stay as they are: `permissions/` knows AWS's by their names."""

        def load(self) -> dict[str, str]:
            return {}

    everywhere = _function_globals(source)
    for name, resource in source["Resources"].items():
        with readable(f"{path}: {name}"):
            _name_files(name, resource, everywhere)

    try:
        with no_other_cloud():
            body: dict[str, Any] = transform(source, dict(values), NoManagedPolicies())
    except InvalidDocumentException as error:
        raise TemplateError(f"{path}: {'; '.join(cause.message for cause in error.causes)}") from error
    except Exception as error:  # it checks most of what it reads; what it does not, it fails on with anything
        told = f"{type(error).__name__}: {error}"
        advice = "`sam validate --lint` says what is wrong with it"
        raise TemplateError(f"{path}: SAM's translator cannot read it ({told}); {advice}") from error
    return body


def _function_globals(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """What Globals has for functions, with the place of their code as the translator takes it."""
    everywhere = source.get("Globals")
    functions = everywhere.get("Function") if isinstance(everywhere, dict) else None
    if not isinstance(functions, dict):
        return {}
    if isinstance(functions.get(_CODE), str):
        functions[_CODE] = FILE_SCHEME + functions[_CODE]
    return functions


def _name_files(name: str, resource: dict[str, Any], everywhere: Mapping[str, Any]) -> None:
    """Give the translator the places of code, definitions and applications as it takes them.

    The place of a layer is what is /opt/python on Lambda. A function that says nothing of its code has it in the folder
    of the template, as `sam build` takes it.
    """
    properties = resource.get("Properties") or {}
    if resource["Type"] == "AWS::Serverless::Function" and not {*_CODES} & {*properties, *everywhere}:
        properties = resource["Properties"] = {_CODE: "./", **properties}
    for path in _PATHS:
        if isinstance(properties.get(path), str):
            properties[path] = FILE_SCHEME + properties[path]
            if resource["Type"] == "AWS::Serverless::LayerVersion" and not _is_built(resource):
                properties[path] += "/python"
    if isinstance(properties.get(_DEFINITION), str):  # packaging makes this of it
        properties[_DEFINITION] = {"Bucket": "local", "Key": properties[_DEFINITION]}
    if resource["Type"] == "AWS::Serverless::Application" and not isinstance(properties["Location"], str):
        raise TemplateError(
            f"{name}: the local cloud fetches no application from the Serverless Application Repository; name a "
            "template file on this machine as its Location"
        )


def _is_built(layer: Mapping[str, Any]) -> bool:
    """Whether `sam build` makes a layer: what is in ContentUri gets under `python/`. Else it is unzipped as it is.

    https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/building-layers.html
    """
    return "BuildMethod" in (layer.get("Metadata") or {})


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


_Loader.add_multi_constructor("!", _short_form)
# A policy's `Version: 2012-10-17` is a text, as CloudFormation reads it, and no date.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_scalar)
