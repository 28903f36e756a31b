"""Mapping templates in Velocity, run by airspeed; where airspeed is laxer than Velocity, this is as strict."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from airspeed import operators

from oncekit.local.gateway import java


class TemplateFault(ValueError):
    """A mapping template cannot be read, or refers to what is not there."""


@functools.lru_cache(maxsize=100)
def _compiled(text: str) -> Any:
    template = operators.Template(text)
    template.ensure_compiled()
    return template


def render(text: str, variables: Mapping[str, object]) -> str:
    """The output of a template. Raises TemplateFault."""
    try:
        rendered: str = _compiled(text).merge(dict(variables))
    except operators.TemplateError as error:
        raise TemplateFault(str(error)) from error
    return rendered


def _value_of(self: Any, of: Any, loader: Any, namespace: Any) -> Any:
    """In place of NameOrCall.calculate, which takes a member of a map for the method of this name."""
    if of is namespace:
        try:
            value = of[self.name]
        except KeyError:
            raise TemplateFault(f"${self.name} is not set") from None
    elif self.parameters is not None:
        return java.call(of, self.name, self.parameters.calculate(namespace, loader))
    else:
        value = java.member(of, self.name)
    return value if self.index is None else java.member(value, self.index.calculate(namespace, loader))


def _is_true(value: object) -> bool:
    """Only what is a Boolean in Velocity, too: what counts as true beside that is not the same in all its versions."""
    if not isinstance(value, bool):
        raise TemplateFault(f"a condition is a {type(value).__name__}: compare it with something")
    return value


def _holds(self: Any, namespace: Any, loader: Any) -> bool:
    return _is_true(self.expression.calculate(namespace, loader))


# Nothing else in this process uses airspeed, so it stays like that.
operators.NameOrCall.calculate = _value_of
operators.Condition.calculate = _holds
operators.boolean_value = _is_true
