"""Values that a template takes from elsewhere, and that a file beside it has for this machine.

On AWS they are given at the deployment, or other stacks, Parameter Store and Secrets Manager have them:

    Parameters    of a parameter without a default, by its name
    ImportValue   what another stack exports, by the name of the export
    resolve       what a dynamic reference `{{resolve:...}}` is replaced by, by what stands after `resolve:`; also that
                  of a parameter of the type AWS::SSM::Parameter::Value, as `ssm:` and its name there
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from oncekit.local.account import ACCOUNT, REGION
from oncekit.local.templates.definition import DefinitionError, FastLoader, read_yaml, why_not_read
from oncekit.local.templates.intrinsics import NoTemplate, NoValue, as_text

FILE = "once/values.yaml"
PARAMETERS, IMPORTS, RESOLVED = KINDS = ("Parameters", "ImportValue", "resolve")
REFERENCE = re.compile(r"\{\{resolve:((?:ssm|ssm-secure|secretsmanager):[^{}]+)\}\}")
OTHER_REFERENCE = re.compile(r"\{\{resolve:[^{}]*\}\}")
"""What CloudFormation does with one is unconfirmed; it "supports" three services:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html
"""
_WRITTEN = {PARAMETERS: "parameter {}", IMPORTS: "!ImportValue {}", RESOLVED: "{{{{resolve:{}}}}}"}
_USUAL = (
    *("value", "user@example.com", "https://example.com", "10.0.0.0/16", "example.com", "+15555550100", "Value-123456"),
    *("1", "123456789012", "12345678", "0123456789abcdef0"),
)
"""What patterns of templates most often ask for, some of them behind a beginning."""
_SERVICES = {"queue": "sqs", "topic": "sns"}
"""Of what names a parameter for an ARN."""
_BEGINNING = re.compile(r"\^?([\w:/-]*)")


class _Loader(FastLoader):  # type: ignore[misc]  # a class in C, where there is one
    """Everything but null is the text that is written: on AWS these values are texts, and 012 is no number."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in tags if each[0].rpartition(":")[2] in ("null", "merge")]
    for first, tags in FastLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Missing:
    """A value that the file does not have."""

    kind: str
    name: str
    place: str
    """The file of the template, and the line."""
    placeholder: str

    def __str__(self) -> str:
        return f"{self.place}: {_WRITTEN[self.kind].format(self.name)}"


@dataclass
class Elsewhere:
    """What the file has."""

    file: Path
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    """What the stacks export that are deployed here, which needs no file."""
    missing: dict[tuple[str, str], Missing] | None = None
    """What was asked for in vain, where that is collected; None where it is refused."""

    @classmethod
    def of(cls, template: Path, collecting: bool = False) -> Elsewhere:
        """That of a template. Raises NoTemplate for a file that is not of this form."""
        file = template.parent / FILE
        missing: dict[tuple[str, str], Missing] | None = {} if collecting else None
        if not file.is_file():
            return cls(file, missing=missing)
        try:
            found = read_yaml(file.read_text(encoding="utf-8"), _Loader) or {}
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise NoTemplate(f"{file} is not YAML: {why_not_read(error)}") from error
        except DefinitionError as error:
            raise NoTemplate(f"{file} {error}") from error
        if not isinstance(found, dict):
            raise NoTemplate(f"{file} must have members {', '.join(KINDS)}, each with names and their values")
        for kind, each in found.items():
            if not isinstance(each or {}, dict):
                raise NoTemplate(f"{file}:{line_of(file, str(kind))}: {kind} must have names and their values in it")
        if unknown := sorted(map(str, found.keys() - set(KINDS))):
            raise NoTemplate(f"{file}:{line_of(file, unknown[0])}: {unknown[0]} is none of {', '.join(KINDS)}")
        texts = {
            kind: {name: _text(file, kind, name, value) for name, value in (each or {}).items()}
            for kind, each in found.items()
        }
        return cls(file, texts, missing=missing)

    @property
    def has_parameters(self) -> bool:
        return PARAMETERS in self.known

    def parameters(self, declared: Mapping[str, Any], given: Mapping[str, str], template: Path) -> dict[str, str]:
        """The values of those parameters that are not given. Raises NoTemplate."""
        known = self.known.get(PARAMETERS, {})
        wanted = {name: each for name, each in declared.items() if name not in given and isinstance(each, Mapping)}
        found = {name: known[name] for name in wanted if name in known}
        lacking = [name for name, each in wanted.items() if name not in known and "Default" not in each]
        if lacking and self.missing is None:
            places = ", ".join(f"{name} ({template}:{line_of(template, PARAMETERS, name)})" for name in lacking)
            raise NoValue(
                f"parameter {places} needs a value: write `{lacking[0]}: ...` under {PARAMETERS} in {self.file}, or "
                f"give --parameter {lacking[0]}=..."
            )
        for name in lacking:
            line = line_of(template, PARAMETERS, name)
            found[name] = self._collect(PARAMETERS, name, f"{template}:{line}", _of_parameter(name, declared[name]))
        return found

    def unknown(self, declared: Container[str]) -> list[str]:
        """The parameters in the file that are not declared."""
        return [name for name in self.known.get(PARAMETERS, {}) if name not in declared]

    def place_of(self, parameter: str) -> str | None:
        """Where the value of a parameter is that the file has."""
        if parameter not in self.known.get(PARAMETERS, {}):
            return None
        return f"{self.file}:{line_of(self.file, PARAMETERS, parameter)}"

    def imported(self, name: str, template: Path) -> str:
        """What another stack exports. Raises NoTemplate."""
        if name in self.exports:
            return self.exports[name]
        return self._value(IMPORTS, name, template, _place(template, IMPORTS, name), name)

    def resolved(self, reference: str, template: Path, parameter: str | None = None) -> str:
        """What a dynamic reference, or a parameter that names one, is replaced by. Raises NoTemplate."""
        line = _place(template, RESOLVED, reference) if parameter is None else line_of(template, PARAMETERS, parameter)
        return self._value(RESOLVED, reference, template, line, "placeholder")

    def _value(self, kind: str, name: str, template: Path, line: int | None, placeholder: str) -> str:
        known = self.known.get(kind, {})
        if name in known:
            return known[name]
        place = str(template) if line is None else f"{template}:{line}"
        if self.missing is not None:
            return self._collect(kind, name, place, placeholder)
        raise NoValue(
            f"{place}: {_WRITTEN[kind].format(name)} needs a value: write `{name}: ...` under {kind} in {self.file}"
        )

    def _collect(self, kind: str, name: str, place: str, placeholder: str) -> str:
        assert self.missing is not None
        return self.missing.setdefault((kind, name), Missing(kind, name, place, placeholder)).placeholder


def _text(file: Path, kind: str, name: Any, value: Any) -> str:
    """A value of the file; a list is written as that of a CommaDelimitedList is."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    what = "has no value; an empty text is ''" if value is None else "is neither a text nor a list of texts"
    raise NoTemplate(f"{file}:{line_of(file, kind, str(name))}: {name} {what}")


def _of_parameter(name: str, declared: Mapping[str, Any]) -> str:
    """A placeholder that its declaration takes, as far as that is easy."""
    kind = str(declared.get("Type"))
    if declared.get("AllowedValues"):
        return as_text(declared["AllowedValues"][0])
    if kind == "Number":
        return as_text(declared.get("MinValue", declared.get("MaxValue", 1)))
    service = next((each for word, each in _SERVICES.items() if word in name.lower()), "elsewhere")
    usual = f"arn:aws:{service}:{REGION}:{ACCOUNT}:{name}" if name.lower().endswith("arn") else name
    if "List" in kind:
        usual = f"{name}-1,{name}-2,{name}-3"
    shortest, longest = int(declared.get("MinLength", 0)), int(declared.get("MaxLength", 4096))
    pattern = str(declared.get("AllowedPattern", ".*"))
    begun = _BEGINNING.match(pattern)
    for each in (usual, usual.lower(), *_USUAL, *(f"{begun[1] if begun else ''}{each}" for each in _USUAL)):
        fitting = each.ljust(shortest, "x")[:longest]
        with suppress(re.error):  # CloudFormation's patterns are Java's
            if re.fullmatch(pattern, fitting, re.DOTALL):
                return fitting
    return usual


def line_of(file: Path, *keys: str) -> int:
    """The line of what is at these keys; of the last of them that is there."""
    line, node = 1, yaml.compose(file.read_text(encoding="utf-8"), Loader=FastLoader)
    for key in keys:
        found = next((each for each in _members(node) if each[0].value == key), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _members(node: Any) -> list[Any]:
    return list(node.value) if isinstance(node, yaml.MappingNode) else []


def _place(template: Path, kind: str, name: str) -> int | None:
    """The line where a template names it; placeholders in a text may stand for anything."""
    root = yaml.compose(template.read_text(encoding="utf-8"), Loader=FastLoader)
    found = list(_imports(root) if kind == IMPORTS else _texts(root))
    if kind == RESOLVED:
        found = [(line, text) for line, text in found if "{{resolve:" in text]
    for line, text in found:
        parts = re.split(r"\$\{[^}]*\}", text)
        if re.search(".*".join(map(re.escape, parts)), name if kind == IMPORTS else f"{{{{resolve:{name}}}}}"):
            return line
        if kind == RESOLVED and name in text:
            return line
    return found[0][0] if found else None


def _imports(node: Any) -> Iterator[tuple[int, str]]:
    """The lines of what is imported, and the texts in it."""
    for key, value in _members(node):
        if key.value == "Fn::ImportValue":
            yield key.start_mark.line + 1, "".join(text for _, text in _texts(value)) or "${}"
        yield from _imports(value)
    if getattr(node, "tag", "") == "!ImportValue":
        yield node.start_mark.line + 1, "".join(text for _, text in _texts(node)) or "${}"
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _imports(each)


def _texts(node: Any) -> Iterator[tuple[int, str]]:
    if isinstance(node, yaml.ScalarNode):
        yield node.start_mark.line + 1, str(node.value)
    for _, value in _members(node):
        yield from _texts(value)
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _texts(each)
