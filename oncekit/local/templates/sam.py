"""Translates a template from SAM to CloudFormation, and leaves out what cannot be read here, with the reason."""

from __future__ import annotations

import copy
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.once_inside import ONCE, is_once
from oncekit.local.templates.elsewhere import line_of
from oncekit.local.templates.intrinsics import WHOSE_FAULT, Resolver, TemplateError, what_is

IN_A_BUCKET = "s3://"
HERE = "local"
FILE_SCHEME = f"{IN_A_BUCKET}{HERE}/"
"""Where the translator is told that code is; it insists on S3, and the part behind this is the path in the project."""
_FUNCTION = "AWS::Serverless::Function"
_CODE = "CodeUri"
_CODES = (_CODE, "InlineCode", "ImageUri", "PackageType")
"""What says where the code of a function is; the last one, that it is an image, which `sam build` makes."""
_PATHS = (_CODE, "ContentUri", "DefinitionUri")
_DEFINITION = "DefinitionS3Location"
"""The path of a definition in a machine that is not of SAM's own type."""
_PACKAGED = {"AWS::Lambda::Function": "Code", "AWS::Lambda::LayerVersion": "Content"}
"""Where types that are not of SAM's own have a path: packaging makes a bucket and a key of it.
https://docs.aws.amazon.com/cli/latest/reference/cloudformation/package.html
"""
SAM, EXTENSIONS = "AWS::Serverless-2016-10-31", "AWS::LanguageExtensions"
"""The transforms of a whole template of which this cloud knows what they make."""
_INCLUDE, _TRANSFORM = "AWS::Include", "Fn::Transform"
_STANDS_FOR_IT = "AWS::CloudFormation::WaitConditionHandle"
"""The type of what is in the place of a resource that is left out: it has no properties."""
_INVALID = re.compile(
    r"Resource with id \[(?P<id>\w+)\] is invalid\. (?:Event with id \[(?P<event>\w+)\] is invalid\. )?"
)
_APPLICATION = "AWS::Serverless::Application"
_REPOSITORY = (
    "the local cloud fetches no application from the Serverless Application Repository; name a template file on this "
    "machine as its Location"
)

NotRead = dict[str, tuple[str, str]]
"""By logical id, the type of what is left out, and the reason."""


class _NotHere(Exception):
    """A part of a template that is not on this machine; the message says which."""


# ---- what a template takes from files ----


def with_includes(
    source: dict[str, Any], values: Mapping[str, str], path: Path, read: Callable[[Path], Any]
) -> tuple[list[str], NotRead]:
    """Put what AWS::Include names into the template. Gives the names of the files, and the resources without theirs.

    A file must be an object, without short forms, and must not use AWS::Include itself:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-include.html
    Unconfirmed (V118): a member beside it goes before that of the file.
    """
    files: list[str] = []
    not_read: NotRead = {}

    def put_in(node: Any) -> Any:
        if isinstance(node, list):
            return [put_in(each) for each in node]
        if not isinstance(node, dict):
            return node
        found = {name: put_in(each) for name, each in node.items() if name != _TRANSFORM}
        if _TRANSFORM not in node:
            return found
        return {**content(node[_TRANSFORM]), **found}

    def content(transform: Any) -> dict[str, Any]:
        name = transform.get("Name") if isinstance(transform, dict) else None
        if name != _INCLUDE:
            raise _NotHere(f"{_TRANSFORM}: the macro {name} runs on AWS only")
        given = transform.get("Parameters")
        location = given.get("Location") if isinstance(given, dict) else None
        match location:
            case {"Ref": str() as parameter}:
                location = values.get(parameter)
        if not isinstance(location, str):
            raise _NotHere(f"a part of it, {_INCLUDE}, names no file as its Location")
        if not (path.parent / location).is_file():
            raise _NotHere(f"a part of it, {_INCLUDE} of {location}, is not on this machine")
        files.append(location)
        try:
            found = read(path.parent / location)
        except (TemplateError, UnicodeDecodeError) as error:
            raise _NotHere(f"a part of it, {_INCLUDE} of {location}, cannot be read: {error}") from error
        if not isinstance(found, dict):
            raise _NotHere(f"a part of it, {_INCLUDE} of {location}, is {what_is(found)}, and must be an object")
        if f'"{_TRANSFORM}":' in json.dumps(found, default=str):
            raise _NotHere(f"a part of it, {_INCLUDE} of {location}, has {_TRANSFORM} in it, which AWS does not take")
        return found

    def section_of(members: dict[str, Any]) -> dict[str, Any]:
        if _TRANSFORM not in members:
            return members
        included = content(members[_TRANSFORM])
        return {**included, **{name: each for name, each in members.items() if name != _TRANSFORM}}

    for section, members in source.items():
        if section == "Transform" or not isinstance(members, dict):
            continue
        try:
            source[section] = members = section_of(members)
            for name, each in members.items():
                try:
                    members[name] = put_in(each)
                except _NotHere as error:
                    if section != "Resources":
                        raise
                    _leave_out(source, name, str(error), not_read)
        except _NotHere as error:
            raise TemplateError(f"{path}:{line_of(path, section)}: {section}: {error}") from error
    return files, not_read | _not_run(source.get("Transform"))


def _not_run(transform: Any) -> NotRead:
    """Macros for all of a template."""
    each_one = transform if isinstance(transform, list) else [transform]
    names = [each.get("Name") if isinstance(each, dict) else each for each in each_one]
    told = "a macro", "it runs on AWS only, and what it makes of the template is missing here"
    return {f"Transform {name}": told for name in names if name not in (SAM, EXTENSIONS, None)}


def _leave_out(source: Mapping[str, Any], name: str, reason: str, not_read: NotRead) -> None:
    resource = source["Resources"][name]
    members = resource if isinstance(resource, dict) else {}
    not_read[name] = (str(members.get("Type", "unknown type")), " ".join(reason.split()))
    source["Resources"][name] = {"Type": _STANDS_FOR_IT, **{k: v for k, v in members.items() if k == "Condition"}}


def _misshapen(resource: Any) -> str | None:
    """Why something is no resource, as CloudFormation has it; None for one."""
    if not isinstance(resource, dict):
        return f"it is {what_is(resource)}, and must be an object"
    if not isinstance(resource.get("Type"), str):
        return "it has no Type" if "Type" not in resource else f"its Type is {what_is(resource['Type'])}, and no text"
    for name in ("Properties", "Metadata"):
        if not isinstance(resource.get(name) or {}, dict):
            return f"its {name} are {what_is(resource[name])}, and must be an object"
    return None


# ---- what SAM's translator makes of it ----


def translate(source: dict[str, Any], values: Mapping[str, str], path: Path, not_read: NotRead) -> dict[str, Any]:
    """The template in plain CloudFormation. What cannot be read is added to `not_read`; something stands for it.

    Raises TemplateError where that is Once's own, or cannot be told.
    """
    # Here, since importing it takes longer than everything else that a kept translation needs.
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.translator.transform import transform

    from oncekit.local.isolation import no_other_cloud

    # It warns that the metrics it collects for its makers were not published.
    logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)
    # And of each API that a feature which only AWS can switch on is not.
    logging.getLogger("samtranslator.feature_toggle.feature_toggle").setLevel(logging.ERROR)
    # And it shows its traceback of what it raises besides.
    logging.getLogger("samtranslator.plugins.sam_plugins").setLevel(logging.CRITICAL)

    class NoManagedPolicies:
        """Names of managed policies stay as they are: `permissions/` knows AWS's by their names."""

        def load(self) -> dict[str, str]:
            return {}

    def translated(of: Mapping[str, Any]) -> dict[str, Any]:
        with no_other_cloud():
            body: dict[str, Any] = transform(copy.deepcopy(of), dict(values), NoManagedPolicies())
        return body

    def is_the_reason(name: str) -> bool:
        without = copy.deepcopy(source)
        _leave_out(without, name, "", {})
        try:
            translated(without)
        except InvalidDocumentException:
            return True
        except Exception:
            return False
        return True

    place = reader_of_places(source, values, path.parent.resolve())
    everywhere = _function_globals(source, place)
    for name, resource in list(source["Resources"].items()):
        if (reason := _misshapen(resource)) is not None:
            if _is_once(source, name):
                raise TemplateError(f"{path}:{line_of(path, 'Resources', name)}: {name}: {reason}")
            _leave_out(source, name, reason, not_read)
            continue
        _name_files(resource, everywhere, place)
        location = (resource.get("Properties") or {}).get("Location")
        if resource["Type"] == _APPLICATION and not isinstance(location, str):
            _leave_out(source, name, _REPOSITORY, not_read)
    while True:
        try:
            return translated(source)
        except InvalidDocumentException as error:
            told = [cause.message for cause in error.causes]
            if not any(_without(source, each, not_read) for each in told):
                raise TemplateError(f"{path}: {'; '.join(told)}") from error
        except Exception as error:  # it checks most of what it reads; what it does not, it fails on with anything
            why = f"SAM's translator fails on it: {type(error).__name__}: {error}"
            found = next((name for name in source["Resources"] if _is_left(source, name) and is_the_reason(name)), None)
            if found is None:
                raise TemplateError(f"{path}: {why}{WHOSE_FAULT}") from error
            _leave_out(source, found, why, not_read)


def _without(source: Mapping[str, Any], told: str, not_read: NotRead) -> bool:
    """Leave out the resource, or the event of a function, that the translator says is invalid; whether there is one."""
    said = _INVALID.match(told)
    if said is None:
        return False
    found = next(_events_of(source, said["id"], said["event"]), None)
    if found is not None:
        name, event = found
        left = source["Resources"][name]["Properties"]["Events"].pop(event)
        kind = f"the event {left['Type']}" if isinstance(left, dict) and "Type" in left else "an event without a Type"
        not_read[f"{name}.{event}"] = (kind, " ".join(told[said.end() :].split()))
    elif said["id"] in source["Resources"] and _is_left(source, said["id"]):
        _leave_out(source, said["id"], told[said.end() :], not_read)
    else:
        return False
    return True


def _events_of(source: Mapping[str, Any], logical_id: str, event: str | None) -> Iterator[tuple[str, str]]:
    """The function and the name of an event in it, which the translator calls by its name, or by both in one."""
    for name, resource in source["Resources"].items():
        properties = resource.get("Properties")
        events = properties.get("Events") if isinstance(properties, dict) and _is_left(source, name) else None
        for each in events if isinstance(events, dict) else ():
            if (name == logical_id and event in (each, f"{name}{each}")) or f"{name}{each}" == logical_id:
                yield name, each


def _is_left(source: Mapping[str, Any], name: str) -> bool:
    """Whether the translator reads a resource, and it may be left out."""
    return not _is_once(source, name) and str(source["Resources"][name].get("Type")).startswith("AWS::Serverless::")


def _is_once(source: Mapping[str, Any], name: str) -> bool:
    return is_once(source["Resources"]) or name == ONCE


def reader_of_places(source: Mapping[str, Any], values: Mapping[str, str], folder: Path) -> Callable[[Any], Any]:
    """Gives a place as a path from the folder of the template, as far as it is known before anything is made."""

    def not_made(name: str, _: str = "") -> str:
        raise TemplateError(name)

    pseudo = {"AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::Region": REGION}
    mappings, conditions = source.get("Mappings") or {}, source.get("Conditions") or {}
    resolver = Resolver({**values, **pseudo}, mappings, conditions, not_made, not_made)

    def place(written: Any) -> Any:
        found = written
        with suppress(TemplateError):  # it stays as it is, and the translator says what it is not
            found = resolver.resolve(written)
        if not isinstance(found, str):
            return written
        return os.path.relpath(found, folder) if Path(found).is_absolute() else found

    return place


def _function_globals(source: Mapping[str, Any], place: Callable[[Any], Any]) -> Mapping[str, Any]:
    """What Globals has for functions, with the place of their code as the translator takes it."""
    everywhere = source.get("Globals")
    functions = everywhere.get("Function") if isinstance(everywhere, dict) else None
    if not isinstance(functions, dict):
        return {}
    if _CODE in functions:
        functions[_CODE] = place(functions[_CODE])
    if isinstance(functions.get(_CODE), str) and not functions[_CODE].startswith(IN_A_BUCKET):
        functions[_CODE] = FILE_SCHEME + functions[_CODE]
    return functions


def _name_files(resource: dict[str, Any], everywhere: Mapping[str, Any], place: Callable[[Any], Any]) -> None:
    """Give the translator the places of code, definitions and applications as it takes them.

    The place of a layer is what is /opt/python on Lambda. A function that says nothing of its code has it in the folder
    of the template, as `sam build` takes it; the image of one is made by `sam build`, too.
    """
    properties = resource.get("Properties") or {}
    if resource["Type"] == _FUNCTION and not {*_CODES} & {*properties, *everywhere}:
        properties = resource["Properties"] = {_CODE: "./", **properties}
    if resource["Type"] == _FUNCTION and {**everywhere, **properties}.get("PackageType") == "Image":
        properties.setdefault("ImageUri", "built-by-sam")
    packaged = _PACKAGED.get(resource["Type"], "")
    for path in {*_PATHS, packaged, _DEFINITION} & properties.keys():
        properties[path] = place(properties[path])
    for path in _PATHS:
        if isinstance(properties.get(path), str) and not (path == _CODE and properties[path].startswith(IN_A_BUCKET)):
            properties[path] = FILE_SCHEME + properties[path]
            if resource["Type"] == "AWS::Serverless::LayerVersion" and not _is_built(resource):
                properties[path] += "/python"
    if isinstance(properties.get(packaged), str):
        inside = "/python" if packaged == "Content" else ""
        properties[packaged] = {"S3Bucket": HERE, "S3Key": properties[packaged] + inside}
    if isinstance(properties.get(_DEFINITION), str):  # packaging makes this of it
        properties[_DEFINITION] = {"Bucket": HERE, "Key": properties[_DEFINITION]}


def _is_built(layer: Mapping[str, Any]) -> bool:
    """Whether `sam build` makes a layer: what is in ContentUri gets under `python/`. Else it is unzipped as it is.

    https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/building-layers.html
    """
    return "BuildMethod" in (layer.get("Metadata") or {})
