"""CloudFormation's intrinsic functions, resolved with parameters, mappings, conditions and existing resources."""

from __future__ import annotations

import base64
import functools
import ipaddress
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from oncekit.local.templates.definition import DefinitionError

_VARIABLE = re.compile(r"\$\{(!?[^}]+)\}")
_MOST = 200
"""Characters of what is told of a value."""
NO_VALUE = object()
"""What `AWS::NoValue` resolves to; a member or an element that resolves to it is left out."""


class TemplateError(ValueError):
    """The template contains something that cannot be resolved; the message names it."""


class NoTemplate(TemplateError):
    """CloudFormation would refuse all of the template: no resource of it can be left out instead."""


class NoValue(NoTemplate):
    """A value that comes from elsewhere is missing: whoever has it is told where to write it."""


class _NotResolved(TemplateError):
    """What a function of a template gives is not known here; whose value it is, the caller knows."""


WHOSE_FAULT = "; if `sam validate --lint` finds nothing wrong there, that is a fault of the local cloud"


@contextmanager
def readable(what: str) -> Iterator[None]:
    """A part of a template that has another form than CloudFormation's, as while it is edited, is said by its name."""
    try:
        yield
    except _NotResolved as error:
        raise TemplateError(f"{what}: {error}{WHOSE_FAULT}") from error
    except (TemplateError, DefinitionError):
        raise
    except KeyError as error:
        raise TemplateError(f"{what} has no {error.args[0]}, which the local cloud looks for{WHOSE_FAULT}") from error
    except (AttributeError, IndexError, TypeError, ValueError, RecursionError, re.error) as error:
        why = f"{type(error).__name__}: {error}"
        raise TemplateError(f"{what} has a form that the local cloud does not read ({why}){WHOSE_FAULT}") from error


def what_is(value: Any) -> str:
    """What a value of a template is, as its writer calls it."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "empty"}
    return names.get(type(value), "a number")


def reason_of(error: Exception, logical_id: str, kind: str) -> str:
    """What was wrong with a resource, without its name, which is told with it."""
    text = " ".join(str(error).split()).removeprefix(f"{logical_id} ({kind}): ").removeprefix(f"{logical_id}: ")
    return text.removeprefix(f"{logical_id} ").removesuffix(WHOSE_FAULT)


def _not_imported(name: str) -> str:
    raise NoTemplate(f"Fn::ImportValue: nothing is exported as {name}")


@dataclass(frozen=True)
class Resolver:
    """Resolves values of a template. `resource` gives the Ref of a logical id, `attribute` its GetAtt."""

    parameters: Mapping[str, str | list[str]]
    """Template parameters and pseudo parameters (`AWS::Region`...)."""
    mappings: Mapping[str, Mapping[str, Mapping[str, Any]]]
    conditions: Mapping[str, Any]
    resource: Callable[[str], str]
    attribute: Callable[[str, str], str]
    imported: Callable[[str], str] = _not_imported
    """Gives what another stack exports by this name."""
    _known: dict[str, bool] = field(default_factory=dict)

    def resolve(self, node: Any) -> Any:
        if isinstance(node, list):
            return [value for item in node if (value := self.resolve(item)) is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            name, argument = next(iter(node.items()))
            if function := self._function(name):
                return _resolved(name, argument, function)
        resolved = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in resolved.items() if value is not NO_VALUE}

    def holds(self, condition: str) -> bool:
        """Whether a named condition of the template is true."""
        if condition not in self._known:
            if condition not in self.conditions:
                raise NoTemplate(f"the template has no condition {condition}")
            self._known[condition] = bool(self.resolve(self.conditions[condition]))
        return self._known[condition]

    def _function(self, name: str) -> Callable[[Any], Any] | None:
        if name.startswith("Fn::") and name not in _FUNCTIONS:
            raise _NotResolved(f"the local cloud does not support {name}")
        return functools.partial(_FUNCTIONS[name], self) if name in _FUNCTIONS else None

    def _condition(self, name: Any) -> Any:
        # `Condition` is also the name of a member of a policy statement, whose value is an object.
        return self.holds(name) if isinstance(name, str) else {"Condition": self.resolve(name)}

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        return self.parameters[name] if name in self.parameters else self.resource(name)

    def _get_att(self, argument: Any) -> str:
        logical_id, name = argument.split(".", 1) if isinstance(argument, str) else argument
        return self.attribute(logical_id, self.resolve(name))

    def _sub(self, argument: Any) -> str:
        text, own = (argument, {}) if isinstance(argument, str) else argument

        def value_of(match: re.Match[str]) -> str:
            name = match[1].strip()
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in own:
                return as_text(self.resolve(own[name]))
            return as_text(self._get_att(name) if "." in name else self._ref(name))

        return _VARIABLE.sub(value_of, text)

    def _find_in_map(self, argument: list[Any]) -> Any:
        name, first, second = (as_text(self.resolve(part)) for part in argument[:3])
        found = self.mappings.get(name, {}).get(first, {})
        if second not in found and len(argument) > 3:
            return self.resolve(argument[3]["DefaultValue"])
        return self.resolve(self.mappings[name][first][second])

    def are_all_in(self, some: Any, others: Any) -> bool:
        """Whether all values of one list are in another, as rules of a template ask."""
        there = set(map(as_text, as_list(self.resolve(others))))
        return there.issuperset(map(as_text, as_list(self.resolve(some))))

    def _cidr(self, argument: list[Any]) -> list[str]:
        block, count, *bits = (self.resolve(part) for part in argument)
        network = ipaddress.ip_network(block, strict=False)
        length = network.max_prefixlen - int(bits[0] if bits else 8)
        return [str(each) for each in itertools.islice(network.subnets(new_prefix=length), int(count))]


_FUNCTIONS: Mapping[str, Callable[[Resolver, Any], Any]] = {
    "Ref": Resolver._ref,
    "Condition": Resolver._condition,
    "Fn::GetAtt": Resolver._get_att,
    "Fn::Sub": Resolver._sub,
    "Fn::FindInMap": Resolver._find_in_map,
    "Fn::If": lambda resolver, a: resolver.resolve(a[1] if resolver.holds(a[0]) else a[2]),
    "Fn::Equals": lambda resolver, a: as_text(resolver.resolve(a[0])) == as_text(resolver.resolve(a[1])),
    "Fn::Not": lambda resolver, a: not resolver.resolve(a[0]),
    "Fn::And": lambda resolver, a: all(resolver.resolve(each) for each in a),
    "Fn::Or": lambda resolver, a: any(resolver.resolve(each) for each in a),
    "Fn::Contains": lambda resolver, a: resolver.are_all_in([a[1]], a[0]),
    "Fn::EachMemberEquals": lambda resolver, a: resolver.are_all_in(a[0], [a[1]]),
    "Fn::EachMemberIn": lambda resolver, a: resolver.are_all_in(a[0], a[1]),
    "Fn::Join": lambda resolver, a: str(a[0]).join(map(as_text, as_list(resolver.resolve(a[1])))),
    "Fn::Select": lambda resolver, a: as_list(resolver.resolve(a[1]))[int(resolver.resolve(a[0]))],
    "Fn::Split": lambda resolver, a: str(resolver.resolve(a[1])).split(a[0]),
    "Fn::GetAZs": lambda resolver, a: [
        f"{resolver.resolve(a) or resolver.parameters['AWS::Region']}{z}" for z in "abc"
    ],
    "Fn::Cidr": Resolver._cidr,
    "Fn::Length": lambda resolver, a: len(as_list(resolver.resolve(a))),
    "Fn::ToJsonString": lambda resolver, a: json.dumps(resolver.resolve(a)),
    "Fn::ImportValue": lambda resolver, a: resolver.imported(str(resolver.resolve(a))),
    "Fn::Base64": lambda resolver, a: base64.b64encode(str(resolver.resolve(a)).encode()).decode(),
}


def _resolved(name: str, argument: Any, function: Callable[[Any], Any]) -> Any:
    try:
        return function(argument)
    except (TemplateError, DefinitionError):
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"there is no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        written = json.dumps(argument, default=str)[:_MOST]
        raise _NotResolved(f"{name} of {written} cannot be resolved here ({why})") from error


def as_text(value: Any) -> str:
    """The value as CloudFormation writes it where a text is needed: a boolean of YAML in small letters, as tried in
    https://github.com/ASFHyP3/hyp3/pull/2061 and https://github.com/medmunds/aws-cfn-ses-domain/issues/10.
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_list(value: Any) -> Any:
    """A list; where a list is needed, a text is that of a parameter of the type CommaDelimitedList."""
    return [each.strip() for each in value.split(",")] if isinstance(value, str) else value
