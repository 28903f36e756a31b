"""Mutants of template.yaml, by rule, from the parsed document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from oncekit.proof.mutants import velocity
from oncekit.proof.mutants.change import other_numbers
from oncekit.proof.mutants.mutant import GONE, Edit, Mutant, Path, told_apart, written

FILE = "template.yaml"
_SECTIONS = ("Globals", "Parameters", "Mappings", "Conditions", "Outputs")
_FOR_PEOPLE = (
    "Description",
    "ConstraintDescription",
    "Comment",
    "AlarmDescription",
    "Sid",
    "Metadata",
    "DashboardBody",
)
"""What people read, and what the dashboard shows."""
_NAMES_BY_THEMSELVES = ("Type", "Version", "PolicyName", "Id", "Name", "Label", "Namespace")
_WORD = re.compile(r"[A-Za-z_*][\w.:*/-]*")


def mutants(document: Mapping[str, Any]) -> Iterator[Mutant]:
    """Every mutant of the template."""
    yield from told_apart(_all(document))


def harmless(document: Mapping[str, Any]) -> Iterator[Mutant]:
    """Changes that mean nothing: every one of them must survive."""
    yield Mutant(FILE, "Description", "another one", "control", (Edit(("Description",), "Something else."),))
    members = dict(reversed(list(document["Resources"].items())))
    yield Mutant(FILE, "Resources", "in the other order", "control", (Edit(("Resources",), members),))
    alarm = next(name for name, each in document["Resources"].items() if each["Type"] == "AWS::CloudWatch::Alarm")
    path: Path = ("Resources", alarm, "Properties", "AlarmDescription")
    yield Mutant(
        FILE,
        alarm,
        "another description",
        "control",
        (Edit(path, "Something else happened, and nobody wrote down what it was."),),
    )


def _all(document: Mapping[str, Any]) -> Iterator[Mutant]:
    for name, resource in document["Resources"].items():
        for mutant in _resource(name, resource):
            member = mutant.where.removeprefix(f"{name}.").split(".")[:2]
            yield replace(mutant, kin=".".join([resource["Type"], *member]))
    for section in _SECTIONS:
        for name, value in document.get(section, {}).items():
            yield from _members((section, name), value, name)


def _resource(name: str, resource: Mapping[str, Any]) -> Iterator[Mutant]:
    path: Path = ("Resources", name)
    for member, value in resource.items():
        if member in ("Type", *_FOR_PEOPLE):
            continue
        if member != "Properties":
            yield _mutant((*path, member), name, "dropped", "attribute dropped", GONE)
        yield from _members((*path, member), value, name)


def _mutant(path: Path, owner: str, what: str, kind: str, value: Any) -> Mutant:
    place = path[path.index(owner) :] if owner in path else path
    return Mutant(FILE, written(place), what, kind, (Edit(path, value),))


def _members(path: Path, value: Any, owner: str) -> Iterator[Mutant]:
    """The mutants of a value: what it is decides."""
    if isinstance(value, bool):
        yield _mutant(path, owner, f"{str(not value).lower()} for {str(value).lower()}", "boolean", not value)
    elif isinstance(value, int | float):
        for new in other_numbers(str(value)):
            yield _mutant(path, owner, f"{new} for {value}", "number", float(new) if "." in new else int(new))
    elif isinstance(value, str):
        yield from _text(path, value, owner)
    elif isinstance(value, Mapping):
        yield from _mapping(path, value, owner)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if _stands_alone(path):
                what = f"without {_told(item)}"
                yield _mutant((*path, number), owner, what, "item dropped", GONE)
            yield from _members((*path, number), item, owner)


def _mapping(path: Path, value: Mapping[str, Any], owner: str) -> Iterator[Mutant]:
    if len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref", "Condition")):
        yield from _intrinsic(path, value, owner)
        return
    for member, inner in value.items():
        if member in _FOR_PEOPLE:
            continue
        if member not in ("Type", "Version"):
            yield _mutant((*path, member), owner, "dropped", "property dropped", GONE)
        if member not in _NAMES_BY_THEMSELVES or not isinstance(inner, str):
            yield from _members((*path, member), inner, owner)


def _intrinsic(path: Path, value: Mapping[str, Any], owner: str) -> Iterator[Mutant]:
    """A choice taken the other way, a comparison with something else, one of several conditions left out."""
    function, given = next(iter(value.items()))
    if function == "Fn::If":
        condition, yes, no = given
        yield _mutant(path, owner, f"the other way than {condition}", "turned", {"Fn::If": [condition, no, yes]})
        yield from _members((*path, function, 1), yes, owner)
        yield from _members((*path, function, 2), no, owner)
    elif function == "Fn::Equals":
        yield _mutant(path, owner, f"not {_told(value)}", "turned", {"Fn::Not": [value]})
    elif function == "Fn::Not":
        yield _mutant(path, owner, f"without not: {_told(given[0])}", "turned", given[0])
    elif function in ("Fn::And", "Fn::Or"):
        for item in given:
            yield _mutant(path, owner, f"only {_told(item)}", "clause dropped", item)
    elif function == "Fn::Sub" and isinstance(given, str):
        yield from _substituted(path, given, owner)


def _substituted(path: Path, text: str, owner: str) -> Iterator[Mutant]:
    """What is written beside the placeholders, spelled wrong."""
    tail = text.rpartition("}")[2]
    if tail.strip("/*"):
        yield _mutant(path, owner, f"{text} spelled wrong", "name", {"Fn::Sub": f"{text}x"})
    elif tail == "/*":
        yield _mutant(path, owner, f"{text} without its end", "name", {"Fn::Sub": text.removesuffix("/*")})


def _text(path: Path, text: str, owner: str) -> Iterator[Mutant]:
    if path[:2] == ("Mappings", "HttpTemplates"):
        for change in velocity.changes(text):
            yield _mutant(path, owner, change.what, change.kind, change.text)
        return
    if text.lower() in ("true", "false"):
        new = "false" if text.lower() == "true" else "true"
        yield _mutant(path, owner, f"{new} for {text}", "boolean", new)
    elif re.fullmatch(r"\d+", text):
        for new in other_numbers(text):
            yield _mutant(path, owner, f"{new} for {text}", "number", new)
    elif text.startswith("^"):
        yield _mutant(path, owner, "anything for the pattern", "pattern", ".*")
    elif _WORD.fullmatch(text):
        new = f"{text[:-1]}" if text.endswith("*") and len(text) > 1 else f"{text}x"
        yield _mutant(path, owner, f"{text} spelled wrong", "name", new)


def _stands_alone(path: Path) -> bool:
    """Whether the items of a list mean something each by itself: not the arguments of a function."""
    return not str(path[-1]).startswith("Fn::")


def _told(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:44]}...{text[-12:]}"
